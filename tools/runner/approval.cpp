#include "tools/runner/approval.h"

#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace tools {
namespace {

using agent::Code;

constexpr std::size_t k_shown_arguments = 500;  // bytes

// What to write so that the call runs without a question.
std::string how_to_allow(const agent::ApprovalRequest& request) {
  const std::string in_file =
      fmt::format("in the agent file: permissions: {{allow: [{}]}}",
                  agent::printable_json(agent::dump(agent::Json(request.rule))));
  if (request.rule.empty() || !can_be_typed(request.rule)) {
    return request.may_always ? in_file
                              : "no rule can be written down for this call alone: answer it with "
                                "`errand resume RUN --approve CALL`";
  }
  const std::string option = fmt::format("--allow {}", agent::shell_word(request.rule));
  return request.may_always ? fmt::format("{}, or {}", option, in_file)
                            : fmt::format("{} says yes for this run", option);
}

}  // namespace

bool can_be_typed(std::string_view rule) {
  return agent::one_line(rule, rule.size()) == rule;
}

Output denied(std::string reason) {
  return failure(Code::tool_policy_blocked, "not allowed: " + std::move(reason));
}

agent::Error nobody_there(std::span<const agent::ApprovalRequest> requests) {
  const agent::ApprovalRequest& first = requests.front();
  const std::size_t more = requests.size() - 1;
  return {.code = Code::tool_confirmation_required,
          .message = fmt::format("`{}` needs approval, and nobody is there to give it: {}; {}{}",
                                 first.call.name,
                                 agent::excerpt(first.call.arguments, k_shown_arguments),
                                 first.reason,
                                 more == 0   ? ""
                                 : more == 1 ? " (and 1 more call)"
                                             : fmt::format(" (and {} more calls)", more)),
          .help = how_to_allow(first)};
}

}  // namespace tools

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
  const std::string option = fmt::format("--allow {}", agent::shell_word(request.rule));
  return request.may_always ? fmt::format("{}, or in the agent file: permissions: {{allow: [{}]}}",
                                          option,
                                          agent::dump(agent::Json(request.rule)))
                            : fmt::format("{} says yes for this run", option);
}

}  // namespace

Output denied(std::string reason) {
  return failure(Code::tool_policy_blocked, "not allowed: " + std::move(reason));
}

agent::Error nobody_there(std::span<const agent::ApprovalRequest> requests) {
  const agent::ApprovalRequest& first = requests.front();
  const std::size_t more = requests.size() - 1;
  return {.code = Code::tool_confirmation_required,
          .message = fmt::format("`{}` needs approval, and nobody is there to give it: {}; {}{}",
                                 first.call.name,
                                 agent::prefix(first.call.arguments, k_shown_arguments),
                                 first.reason,
                                 more == 0   ? ""
                                 : more == 1 ? " (and 1 more call)"
                                             : fmt::format(" (and {} more calls)", more)),
          .help = how_to_allow(first)};
}

}  // namespace tools

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

Output nobody_there(const agent::ApprovalRequest& request) {
  Output output = failure(Code::tool_confirmation_required,
                          fmt::format("`{}` needs approval, and nobody is there to give it: {}; {}",
                                      request.call.name,
                                      agent::prefix(request.call.arguments, k_shown_arguments),
                                      request.reason));
  output.help = how_to_allow(request);
  return output;
}

}  // namespace tools

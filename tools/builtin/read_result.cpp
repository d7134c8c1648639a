// Results that the model no longer sees, because the conversation had to be made shorter.
#include "agent/text.h"
#include "tools/builtin/builtins.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tools {
namespace {

constexpr const char* k_read_result_parameters = R"({
  "type": "object",
  "properties": {
    "result": {"type": "integer", "minimum": 1, "description": "The number that stands where the result was cleared."},
    "from": {"type": "integer", "minimum": 0, "description": "The byte to start at. Left out, the beginning."}
  },
  "required": ["result"],
  "additionalProperties": false
})";

Output call_read_result(const agent::Json& arguments, const CallContext& context) {
  const std::int64_t number = agent::integer_at(arguments, "result");
  const auto kept =
      context.earlier_result ? context.earlier_result(number) : std::optional<std::string>();
  if (!kept) {
    return failure(agent::Code::tool_failed,
                   fmt::format("there is no result {}", number),
                   "Use a number that stands in place of a cleared result.");
  }
  const std::string_view whole = *kept;
  auto from = static_cast<std::size_t>(std::clamp<std::int64_t>(
      agent::integer_at(arguments, "from"), 0, static_cast<std::int64_t>(whole.size())));
  while (from > 0 && from < whole.size() && agent::is_continuation(whole[from])) {
    --from;
  }
  const std::string_view page = agent::prefix(whole.substr(from), context.result_page);
  const std::size_t end = from + page.size();
  std::string text(page);
  if (from > 0 || end < whole.size()) {
    text += fmt::format("\n[bytes {} to {} of {}{}]",
                        from,
                        end,
                        whole.size(),
                        end < whole.size() ? fmt::format("; from: {} shows more", end) : "");
  }
  return {.text = std::move(text)};
}

}  // namespace

std::unique_ptr<Tool> make_read_result(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "read_result",
                      .description = "Shows an earlier tool result again that was cleared to save "
                                     "room: as it was then, without running anything.",
                      .parameters = k_read_result_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.idempotent = true},
      call_read_result);
}

}  // namespace tools

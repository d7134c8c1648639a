// The agent's own word that its task failed: the only way to exit code 1.
#include "tools/builtin/builtins.h"

#include <nlohmann/json.hpp>

namespace tools {
namespace {

constexpr const char* k_task_failed_parameters = R"({
  "type": "object",
  "properties": {
    "reason": {"type": "string", "minLength": 1,
               "description": "Why the task cannot be done, in one or two sentences for a person."}
  },
  "required": ["reason"],
  "additionalProperties": false
})";

Output call_task_failed(const agent::Json& arguments, const CallContext&) {
  return {.text = "Noted: the task failed. The run ends here.",
          .message = std::string(agent::text_at(arguments, "reason")),
          .task_failed = true};
}

}  // namespace

std::unique_ptr<Tool> make_task_failed(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "task_failed",
                      .description = "Ends the run and reports that the task failed. Call it only "
                                     "when you are sure that you cannot do the task.",
                      .parameters = k_task_failed_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{},
      call_task_failed);
}

}  // namespace tools

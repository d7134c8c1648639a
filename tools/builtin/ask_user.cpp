// A question to the person at the terminal.
#include "tools/builtin/builtins.h"
#include "tools/questioner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace tools {
namespace {

constexpr const char* k_ask_user_parameters = R"({
  "type": "object",
  "properties": {
    "question": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "One question, short and complete."},
    "options": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 500}, "minItems": 1, "maxItems": 20, "description": "Answers to choose from; the person may also answer in other words."}
  },
  "required": ["question"],
  "additionalProperties": false
})";

Output nobody_there(std::string_view why) {
  return failure(agent::Code::tool_failed,
                 fmt::format("nobody is there to answer: {}", why),
                 "Decide by yourself, and say in your answer what you have assumed.");
}

Output call_ask_user(const agent::Json& arguments, const CallContext& context) {
  if (context.questioner == nullptr) {
    return nobody_there("the run has no terminal");
  }
  Question question{.text = std::string(agent::text_at(arguments, "question")), .options = {}};
  if (const agent::Json* options = agent::find(arguments, "options")) {
    for (const agent::Json& option : *options) {
      question.options.push_back(option.get<std::string>());
    }
  }
  const auto answer = context.questioner->begin(context.stop)->ask(question, context.stop);
  if (!answer) {
    return context.stop.stop_requested()
               ? failure(agent::Code::tool_cancelled, "stopped before an answer came")
               : nobody_there("the terminal was closed");
  }
  if (answer->empty()) {
    return {.text = "The person gave no answer. Decide by yourself.\n"};
  }
  return {.text = fmt::format("The person answers: {}\n", *answer)};
}

}  // namespace

std::unique_ptr<Tool> make_ask_user(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "ask_user",
                      .description =
                          "Asks the person at the terminal and waits for the answer. For "
                          "what only they can decide; where nobody is there, decide by "
                          "yourself.",
                      .parameters = k_ask_user_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{},
      call_ask_user);
}

}  // namespace tools

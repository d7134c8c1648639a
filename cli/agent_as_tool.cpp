#include "cli/agent_as_tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::string_view k_prompt_argument = "prompt";

// As the type has it; what is no such value stays text, and the run says what is wrong with it.
Json value_of(const agent::ParameterSpec& parameter, const std::string& text) {
  return parameter.type == "string" ? Json(text) : agent::parse_json(text).value_or(Json(text));
}

Json schema_of(const agent::ParameterSpec& parameter) {
  Json schema = {{"type", parameter.type}};
  if (!parameter.description.empty()) {
    schema["description"] = parameter.description;
  }
  if (!parameter.options.empty()) {
    schema["enum"] = Json::array();
    for (const std::string& option : parameter.options) {
      schema["enum"].push_back(value_of(parameter, option));
    }
  }
  if (parameter.fallback) {
    schema["default"] = value_of(parameter, *parameter.fallback);
  }
  return schema;
}

Json schema_of_prompt(const agent::AgentSpec& agent) {
  return {{"type", "string"},
          {"minLength", 1},
          {"description",
           agent.prompt.empty() ? "What the agent is to do."
                                : "What the agent is to do, in place of what it does otherwise."}};
}

}  // namespace

bool has_parameter(const agent::AgentSpec& agent, std::string_view name) {
  return std::ranges::find(agent.parameters, name, &agent::ParameterSpec::name) !=
         agent.parameters.end();
}

std::string description_as_tool(const agent::AgentSpec& agent) {
  return agent.description.empty() ? "Runs the agent " + agent.name + "." : agent.description;
}

Json schema_of_parameters(const agent::AgentSpec& agent,
                          const std::map<std::string, std::string>& given,
                          Json properties) {
  Json required = Json::array();
  for (const agent::ParameterSpec& parameter : agent.parameters) {
    if (given.contains(parameter.name)) {
      continue;
    }
    properties[parameter.name] = schema_of(parameter);
    if (parameter.required) {
      required.push_back(parameter.name);
    }
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

Json input_schema_of(const agent::AgentSpec& agent,
                     const std::map<std::string, std::string>& given) {
  if (has_parameter(agent, k_prompt_argument)) {
    return schema_of_parameters(agent, given, Json::object());
  }
  const std::string prompt(k_prompt_argument);
  Json schema = schema_of_parameters(agent, given, {{prompt, schema_of_prompt(agent)}});
  if (agent.prompt.empty()) {
    schema["required"].insert(schema["required"].begin(), prompt);
  }
  return schema;
}

agent::ToolInfo sub_agent_as_tool(const std::string& name, const agent::AgentSpec& agent) {
  return {.name = name,
          .description = description_as_tool(agent),
          .parameters = agent::dump(input_schema_of(agent, {}))};
}

agent::Result<void> check_can_be_told(const agent::AgentSpec& agent) {
  if (!agent.prompt.empty() || !has_parameter(agent, k_prompt_argument)) {
    return {};
  }
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("nobody could tell the agent {} what to do: it has no prompt, "
                                 "and `prompt` is a parameter",
                                 agent.name),
                     "call the parameter something else, or give the agent a prompt");
}

OutsideInput input_of(const Json& arguments, const agent::AgentSpec& agent) {
  OutsideInput input;
  for (const auto& [name, value] : arguments.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : agent::dump(value);
    if (has_parameter(agent, name)) {
      input.parameters.emplace(name, std::move(text));
    } else {
      input.prompt = std::move(text);
    }
  }
  return input;
}

}  // namespace cli

#include "cli/outside_input.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

namespace cli {
namespace {

std::map<std::string, std::string> with_common(const OutsideInput& input,
                                               const std::map<std::string, std::string>& common) {
  auto parameters = input.parameters;
  parameters.insert(common.begin(), common.end());
  return parameters;
}

}  // namespace

agent::Result<config::Rendered> texts_of(const OutsideInput& input,
                                         const std::map<std::string, std::string>& common,
                                         const Plan& plan,
                                         const config::ReadingPolicy& reading) {
  if (input.prompt ? agent::is_blank(*input.prompt) : plan.agent.prompt.empty()) {
    return agent::fail(agent::Code::cli_no_input,
                       input.prompt ? "the prompt of this input is empty"
                                    : "this input has no prompt, and neither has the agent",
                       "say in `prompt` what the agent is to do");
  }
  std::set<std::string> out_of_a_file;
  for (const auto& [name, value] : input.parameters) {
    out_of_a_file.insert(name);
  }
  return config::render(
      plan.agent, with_common(input, common), input.prompt, reading, out_of_a_file);
}

Parsed command_line_of(const OutsideInput& input,
                       const std::map<std::string, std::string>& common,
                       Parsed parsed) {
  std::vector<std::string> parameters;
  for (const auto& [name, value] : with_common(input, common)) {
    parameters.push_back(fmt::format("{}={}", name, value));
  }
  parsed.values["--param"] = std::move(parameters);
  return parsed;
}

}  // namespace cli

#include "tools/process/program_environment.h"

#include "tools/process/harmless_variables.h"
#include "tools/process/program_runner.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>

namespace tools {
namespace {

struct Default {
  std::string_view name;
  std::string_view value;
};
constexpr std::array k_defaults = {
    Default{"CI", "1"},
    Default{"DEBIAN_FRONTEND", "noninteractive"},
    Default{"GIT_OPTIONAL_LOCKS", "0"},
    Default{"GIT_PAGER", "cat"},
    Default{"GIT_TERMINAL_PROMPT", "0"},
    Default{"NO_COLOR", "1"},
    Default{"PAGER", "cat"},
    Default{"TERM", "dumb"},
    Default{"npm_config_yes", "true"},
};

void override_with(agent::Environment& environment, const agent::Environment& own) {
  for (const auto& [name, value] : own) {
    environment.insert_or_assign(name, value);
  }
}

}  // namespace

agent::Environment quiet_environment(agent::Environment environment,
                                     const std::filesystem::path& cwd) {
  for (const auto& [name, value] : k_defaults) {
    environment.emplace(name, value);
  }
  std::error_code error;
  if (const std::filesystem::path folder = std::filesystem::absolute(cwd, error); !error) {
    environment.insert_or_assign("PWD", folder.string());
  }
  return environment;
}

agent::Environment tool_environment(const CallContext& context, const agent::Environment& own) {
  agent::Environment environment =
      quiet_environment(harmless_variables(context.environment), context.cwd);
  if (context.program_runner != nullptr) {
    override_with(environment, context.program_runner->environment());
  }
  override_with(environment, own);
  return environment;
}

}  // namespace tools

#include "tools/hooks/user_command.h"

#include "tools/process/closed_places.h"
#include "tools/process/harmless_variables.h"
#include "tools/process/program_environment.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tools {

agent::Environment user_environment(const UserPrograms& programs, const agent::Environment& own) {
  agent::Environment environment =
      quiet_environment(harmless_variables(programs.environment), programs.folder);
  const agent::Environment place = programs.program_runner != nullptr
                                       ? programs.program_runner->environment()
                                       : agent::Environment();
  for (const agent::Environment* more : {&place, &own}) {
    for (const auto& [name, value] : *more) {
      environment.insert_or_assign(name, value);
    }
  }
  return environment;
}

std::expected<UserCommand::Done, std::string> UserCommand::run(
    const UserPrograms& programs,
    const agent::Environment& environment,
    std::string input,
    agent::Milliseconds timeout,
    std::stop_token stop) const {
  if (programs.program_runner == nullptr) {
    return std::unexpected("programs cannot be started here");
  }
  if (const auto file = scripts_.changed(); !file.empty()) {
    return std::unexpected(fmt::format("`{}` has changed since the run began", file.string()));
  }
  const ProgramRequest request{.argv = {"/bin/sh", "-c", line_},
                               .environment = environment,
                               .cwd = programs.folder,
                               .temporary = programs.temporary,
                               .input = std::move(input),
                               .timeout = timeout,
                               .idle_timeout = std::nullopt,
                               .merge_stderr = false,
                               .limits = {.memory = k_most_output, .file = 0}};
  ProgramResult result = programs.program_runner->run(request, {.stop = std::move(stop)});
  if (result.end != ProgramResult::End::exited) {
    return std::unexpected(failed_end(result, request).message);
  }
  if (result.has_violations()) {
    return std::unexpected(failed_end(result, request).message);
  }
  if (result.exit_status != 0 && programs.policy != nullptr) {
    append_closed_places(result.errors.text, *programs.policy, environment);
  }
  return Done{.exit_status = result.exit_status,
              .output = std::move(result.output.text),
              .is_whole = result.output.is_whole,
              .errors = std::move(result.errors.text)};
}

}  // namespace tools

#include "tools/hooks/user_command.h"

#include "tools/process/program_result.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace tools {
namespace {

constexpr std::size_t k_most_output = 1u << 20;  // of each stream; the rest is lost

}  // namespace

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
  return Done{.exit_status = result.exit_status,
              .output = std::move(result.output.text),
              .is_whole = result.output.is_whole,
              .errors = std::move(result.errors.text)};
}

}  // namespace tools

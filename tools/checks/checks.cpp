#include "tools/checks/checks.h"

#include "agent/text.h"
#include "tools/hooks/kept_modules.h"
#include "tools/process/closed_places.h"
#include "tools/process/program_result.h"
#include "tools/runner/fence.h"
#include "tools/sandbox/policy.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ranges>
#include <string>
#include <utility>

namespace tools {
namespace {

using agent::CheckRan;

constexpr std::size_t k_most_captured = 64u << 10;   // half of it for the end
constexpr std::uint64_t k_first_fence = 1ull << 32;  // behind those of all calls

bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const std::filesystem::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// The last lines that are whole, where one begins there.
std::string_view tail_of(std::string_view text) {
  if (text.size() <= k_most_check_output) {
    return text;
  }
  text.remove_prefix(text.size() - k_most_check_output);
  const std::size_t line = text.find('\n');
  return line == std::string_view::npos || line + 1 == text.size() ? text : text.substr(line + 1);
}

std::string how_failed(const CheckRan& check) {
  return !check.reason.empty() ? check.reason
                               : fmt::format("exit status {}", check.exit_status.value_or(0));
}

}  // namespace

Checks::Checks(agent::ChecksSpec spec, CheckWorld world, const CheckedBefore& before)
    : spec_(std::move(spec)),
      world_(std::move(world)),
      environment_(user_environment(world_.programs, {})),
      files_(checked_files(spec_, place(), before)) {}

CheckPlace Checks::place() const {
  const UserPrograms& programs = world_.programs;
  CheckPlace place{.command = {.directory = programs.folder,
                               .home = agent::value_of(programs.environment, "HOME"),
                               .environment = environment_}};
  for (const auto part : std::views::split(agent::value_of(environment_, "PATH"), ':')) {
    place.command.search_path.push_back(programs.folder / std::string(part.begin(), part.end()));
  }
  place.tools_write = [&programs](const std::filesystem::path& path) {
    return programs.policy != nullptr ? programs.policy->writing(path) == sandbox::Verdict::allowed
                                      : is_below(path, programs.folder);
  };
  return place;
}

CheckRan Checks::run(std::size_t index, std::stop_token stop, std::stop_token kill) {
  const agent::CheckSpec& check = spec_.commands.at(index);
  CheckRan ran{.check = check.name, .command = check.run};
  const auto start = world_.clock->now();
  ran.reason = why_changed(files_, spec_, place());
  if (ran.reason.empty()) {
    judge(check, ran, std::move(stop), std::move(kill));
  }
  ran.duration_ms =
      std::chrono::duration_cast<agent::Milliseconds>(world_.clock->now() - start).count();
  return ran;
}

void Checks::judge(const agent::CheckSpec& check,
                   CheckRan& ran,
                   std::stop_token stop,
                   std::stop_token kill) const {
  const UserPrograms& programs = world_.programs;
  if (programs.program_runner == nullptr) {
    ran.reason = "programs cannot be started here";
    return;
  }
  ProgramRequest request{.argv = {"/bin/sh", "-c", check.run},
                         .environment = environment_,
                         .cwd = programs.folder,
                         .temporary = programs.temporary,
                         .timeout = check.timeout,
                         .limits = {.memory = k_most_captured, .file = 0}};
  keep_no_modules(request);
  ProgramResult result =
      programs.program_runner->run(request, {.stop = std::move(stop), .kill = std::move(kill)});
  using End = ProgramResult::End;
  ran.timed_out = result.end == End::timed_out;
  if (result.end == End::exited) {
    ran.exit_status = result.exit_status;
  }
  ran.passed = result.has_exited_cleanly() && result.exit_status == 0;
  if (!ran.passed && (result.end != End::exited || result.exit_status == 0)) {
    ran.reason = cleaned(failed_end(result, request).message);
  }
  if (!ran.passed && programs.policy != nullptr) {
    append_closed_places(
        result.output.text, *programs.policy, {.folder = programs.folder, .own = environment_});
  }
  const std::string whole = cleaned(result.output.text);
  ran.output = agent::to_valid_utf8(tail_of(whole));
  ran.truncated = !result.output.is_whole || ran.output.size() < whole.size();
}

std::string Checks::cleaned(std::string_view text) const {
  return agent::to_valid_utf8(world_.redactor.apply(agent::to_valid_utf8(text)));
}

std::string Checks::told(std::span<const CheckRan> failed) {
  std::string text =
      "Your work does not pass the checks. Mend it, then give your final answer again.";
  for (const CheckRan& check : failed) {
    const Fence fence(
        world_.seed, k_first_fence + ++told_, "the check " + agent::one_line(check.check, 100));
    text += fmt::format("\n\nThe check `{}` failed: {}.",
                        fence.defused(agent::one_line(check.check, 200)),
                        how_failed(check));
    if (!check.output.empty()) {
      text += fmt::format(" {}:\n{}{}{}",
                          check.truncated ? "The end of its output" : "Its output",
                          fence.head(),
                          fence.defused(check.output),
                          fence.foot());
    }
  }
  return text;
}

}  // namespace tools

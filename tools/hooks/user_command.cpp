#include "tools/hooks/user_command.h"

#include "agent/text.h"
#include "tools/hooks/kept_modules.h"
#include "tools/hooks/named_programs.h"
#include "tools/hooks/outside_words.h"
#include "tools/process/closed_places.h"
#include "tools/process/harmless_variables.h"
#include "tools/process/program_environment.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_ends_of_paths = ":;,= \t\n\"'";

// Whether others may write anything on the way to it, the links and what they lead to included: who
// can, says what is there. Nobody knows what is below /proc (`/proc/1/root/x` is `/x`), but for the
// streams in /dev that it writes.
bool is_in_reach(const UserPrograms& programs, const fs::path& path) {
  const bool is_device = path == "/dev/stdout" || path == "/dev/stderr";
  return std::ranges::any_of(sandbox::way_to(path), [&](const sandbox::WayPoint& point) {
    return programs.others_write(point.path) ||
           (!is_device && point.path.native().starts_with("/proc/"));
  });
}

// In a folder that holds such, what is looked for may be found below; a home mostly does.
bool leads_to_others(const UserPrograms& programs, std::string_view name, const fs::path& path) {
  return is_in_reach(programs, path) || (name != "HOME" && programs.others_write_below &&
                                         programs.others_write_below(path.lexically_normal()));
}

// A program may make any path of it: `~/x`, `$PWD/x`; a shell of whatever its own file's name
// holds.
bool is_to_be_expanded(std::string_view name, std::string_view part) {
  const bool is_shells = name == "BASH_ENV" || name == "ENV";
  return part.starts_with('~') || (part.starts_with('$') && part.contains('/')) ||
         (is_shells && part.find_first_of("$`") != std::string_view::npos);
}

// `file://localhost/a%20b` as `file:/a b`
std::string without_encoding(std::string_view value) {
  static const RE2 host("(?i)(file:)//[^/]+/");
  std::string decoded = agent::percent_decoded(value);
  RE2::GlobalReplace(&decoded, host, "\\1/");
  return decoded;
}

// What is meant from where the program starts, and others write there. In an empty folder nothing
// is, and what plainly means something in it means another one.
bool leads_from_start(const UserPrograms& programs, std::string_view name, std::string_view part) {
  if (programs.is_folder_empty) {
    return part == "." || !name_from_start(part).empty();
  }
  return std::ranges::any_of(ends_of_word(part), [&](std::string_view end) {
    return leads_to_others(programs, name, programs.folder / end);
  });
}

bool names_what_others_write(const UserPrograms& programs,
                             std::string_view name,
                             std::string_view value) {
  const std::string decoded = without_encoding(value);
  if (decoded != value && names_what_others_write(programs, name, decoded)) {
    return true;
  }
  while (!value.empty()) {
    const std::string_view part = value.substr(0, value.find_first_of(k_ends_of_paths));
    const std::size_t slash = part.find('/');
    if (is_to_be_expanded(name, part) || leads_from_start(programs, name, part)) {
      return true;
    }
    if (slash != std::string_view::npos &&  // `-I/folder`, `@/file`
        leads_to_others(programs, name, part.substr(slash))) {
      return true;
    }
    value.remove_prefix(std::min(part.size() + 1, value.size()));
  }
  return false;
}

std::string path_out_of_reach(const UserPrograms& programs, std::string_view value) {
  std::string kept;
  for (const auto part : std::views::split(value, ':')) {
    const std::string_view folder(part.begin(), part.end());
    if (folder.starts_with('/') && !is_in_reach(programs, folder)) {
      kept += (kept.empty() ? "" : ":") + std::string(folder);
    }
  }
  return kept.empty() ? "/usr/local/bin:/usr/bin:/bin" : kept;
}

agent::Environment out_of_reach(const UserPrograms& programs, agent::Environment environment) {
  std::erase_if(environment, [&](const auto& one) {
    return one.first != "PATH" && names_what_others_write(programs, one.first, one.second);
  });
  if (const auto path = environment.find("PATH"); path != environment.end()) {
    path->second = path_out_of_reach(programs, path->second);
  }
  return environment;
}

CommandPlace place_of(const UserPrograms& programs, const agent::Environment& environment) {
  return {.directory = programs.directory,
          .home = agent::value_of(programs.environment, "HOME"),
          .environment = environment};
}

FileWatch watch_named(const Scripts& named,
                      std::string_view line,
                      const UserPrograms& programs,
                      const agent::Environment& environment) {
  std::vector<fs::path> files = named.files;
  std::ranges::copy(named.modules, std::back_inserter(files));
  if (programs.may_more) {
    std::ranges::copy(named.to_run, std::back_inserter(files));
  }
  if (programs.others_write) {
    CommandPlace place = place_of(programs, environment);
    place.search_path = search_path_of(environment);
    std::ranges::copy_if(named_programs(line, place),
                         std::back_inserter(files),
                         [](const fs::path& file) { return !file.native().starts_with("/usr/"); });
  }
  return FileWatch(std::move(files));
}

}  // namespace

std::vector<fs::path> search_path_of(const agent::Environment& environment) {
  std::vector<fs::path> folders;
  for (const auto part : std::views::split(agent::value_of(environment, "PATH"), ':')) {
    folders.emplace_back(part.begin(), part.end());
  }
  return folders;
}

FileWatch watch_of(std::string_view line,
                   const UserPrograms& programs,
                   const agent::Environment& environment) {
  return watch_named(
      read_scripts(line, place_of(programs, environment)), line, programs, environment);
}

UserCommand::UserCommand(std::string line,
                         std::string_view as_read,
                         const UserPrograms& programs,
                         const agent::Environment& environment)
    : line_(std::move(line)),
      named_(read_scripts(as_read, place_of(programs, environment))),
      scripts_(watch_named(named_, as_read, programs, environment)) {}

std::vector<std::string> names_left_out(const UserPrograms& programs,
                                        const agent::Environment& own) {
  std::vector<std::string> names;
  if (programs.others_write) {
    const agent::Environment kept = out_of_reach(programs, own);
    for (const auto& [name, value] : own) {
      if (const auto found = kept.find(name); found == kept.end() || found->second != value) {
        names.push_back(name);
      }
    }
  }
  return names;
}

agent::Environment user_environment(const UserPrograms& programs, const agent::Environment& own) {
  if (programs.others_write) {
    agent::Environment environment = variables_outside(programs.environment);
    for (const auto& [name, value] : own) {
      environment.insert_or_assign(name, value);
    }
    return quiet_environment(out_of_reach(programs, std::move(environment)), programs.folder);
  }
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
  const ProgramTurns::Turn turn =
      scripts_.is_empty() ? ProgramTurns::Turn() : programs.program_runner->begin_turn(stop);
  const auto marks = scripts_.marks();
  if (const auto file = scripts_.changed(); !file.empty()) {
    return std::unexpected(fmt::format("`{}` has changed since the run began", file.string()));
  }
  ProgramRequest request{.argv = {"/bin/sh", "-c", line_},
                         .environment = environment,
                         .cwd = programs.folder,
                         .temporary = programs.temporary,
                         .input = std::move(input),
                         .timeout = timeout,
                         .idle_timeout = std::nullopt,
                         .merge_stderr = false,
                         .limits = {.memory = k_most_output, .file = 0},
                         .is_the_users = true};
  keep_no_modules(named_, request);
  ProgramResult result = programs.program_runner->run(request, {.stop = std::move(stop)});
  if (const auto file = scripts_.changed_since(marks); !file.empty()) {
    return std::unexpected(fmt::format("`{}` was changed while it ran", file.string()));
  }
  if (result.end != ProgramResult::End::exited || result.has_violations() || result.unseen) {
    return std::unexpected(failed_end(result, request).message);
  }
  if (result.exit_status != 0 && programs.policy != nullptr) {
    append_closed_places(
        result.errors.text, *programs.policy, {.folder = programs.folder, .own = environment});
  }
  return Done{.exit_status = result.exit_status,
              .output = std::move(result.output.text),
              .is_whole = result.output.is_whole,
              .errors = std::move(result.errors.text)};
}

}  // namespace tools

#include "cli/outside_commands.h"

#include "agent/text.h"
#include "cli/outside_stores.h"
#include "tools/hooks/named_programs.h"
#include "tools/hooks/outside_programs.h"
#include "tools/hooks/outside_words.h"
#include "tools/hooks/script_files.h"
#include "tools/hooks/user_command.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/sandbox/places.h"
#include "tools/sandbox/policy.h"
#include "tools/sandbox/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>
#include <vector>

namespace cli {
namespace {

using agent::Result;
namespace fs = std::filesystem;

// The first of the programs and modules that it leads to, or of the links on the way there, which
// tools can write; empty: none.
fs::path written_to_run(const std::string& line,
                        const tools::CommandPlace& place,
                        const tools::Sandbox& rules) {
  std::vector<fs::path> files = tools::named_programs(line, place);
  std::ranges::copy_if(tools::read_scripts(line, place).modules,
                       std::back_inserter(files),
                       &fs::path::is_absolute);  // in an empty folder nothing is found
  for (const fs::path& file : files) {
    const auto names = tools::sandbox::deciding_on(tools::sandbox::way_to(file));
    const auto found =
        std::ranges::find_if(names, [&](const fs::path& path) { return can_write(&rules, path); });
    if (found != names.end()) {
      return *found;
    }
  }
  return {};
}

// Why it is not known what it names and runs; empty: it is.
std::string why_not_told(const std::string& line,
                         const tools::FedPrograms& fed,
                         const tools::CommandPlace& place) {
  std::string why = tools::why_not_plain(line);
  if (why.empty()) {
    why = fed.why;
  }
  const std::string kept = why.empty() ? tools::written_and_run(line, place) : "";
  return kept.empty() ? why
                      : fmt::format("it writes `{}`, which another program of it may run",
                                    agent::one_line(kept, 200));
}

// What the line plainly means from where it starts: a path with a dot in front, the program, the
// script of an interpreter. Empty: nothing.
std::string relative_name(const std::string& line) {
  const tools::ShellScript top = tools::read_shell(line);
  for (const tools::ShellCommand& one : top.commands) {
    std::string program = one.words.empty() ? "" : one.words.front();
    if (program.contains('/') && !program.starts_with('/')) {
      return program;
    }
  }
  const tools::CommandLine read(line, {});  // what wrappers start, too, which may be no file's name
  for (const tools::ShellCommand* one : read.commands()) {
    const auto& words = one->words;
    for (const std::string& word : words) {
      for (const std::string& text : {word, agent::percent_decoded(word)}) {
        if (const std::string_view name = tools::name_from_start(text); !name.empty()) {
          return std::string(name);
        }
      }
    }
    const tools::Started started = tools::started_by(*one);
    if (started.is_wrapper || started.starts.empty() || words.empty() ||
        !tools::runs_its_first_word(tools::base_name(words.front())) ||
        std::ranges::find(words, "-m") != words.end()) {
      continue;
    }
    const std::string& script = started.starts.front().command.words.front();
    if (!script.starts_with('/')) {
      return script;
    }
  }
  return {};
}

// Of a word that may mean a file in another folder of the line, and none is there: that folder.
fs::path shown_of(const fs::path& named,
                  const std::vector<fs::path>& folders,
                  const fs::path& directory) {
  std::error_code ignored;
  const fs::path folder = named.parent_path();
  const bool is_there = fs::exists(fs::symlink_status(named, ignored));
  const bool is_other = folder != directory && std::ranges::find(folders, folder) != folders.end();
  return !is_there && is_other ? folder : named;
}

}  // namespace

bool can_write(const tools::Sandbox* sandbox, const fs::path& path) {
  if (sandbox == nullptr) {
    return false;  // nobody is kept from anything
  }
  const auto devices = tools::sandbox::harmless_devices();
  if (std::ranges::find(devices, path.native()) != devices.end()) {
    return false;  // nothing of what is written there comes back
  }
  const tools::sandbox::Verdict verdict = sandbox->policy().writing(path);
  return verdict == tools::sandbox::Verdict::allowed || verdict == tools::sandbox::Verdict::locked;
}

bool starts_elsewhere(const fs::path& directory, const tools::Sandbox& rules) {
  return can_write(&rules, directory) || rules.policy().writes_below(directory);
}

std::string reader_of_its_folder(const std::string& line) {
  constexpr auto k_readers = std::to_array<std::string_view>(
      {"bundle", "cargo",  "composer",   "docker-compose", "git",  "gmake",
       "go",     "gradle", "just",       "make",           "mvn",  "npm",
       "pnpm",   "poetry", "pre-commit", "rake",           "task", "terraform",
       "tox",    "uv",     "yarn"});
  const tools::CommandLine read(line, {});
  for (const tools::ShellCommand* one : read.commands()) {
    const std::string program =
        one->words.empty() ? "" : fs::path(one->words.front()).filename().string();
    const bool is_told = std::ranges::any_of(
        one->words, [](const std::string& word) { return fs::path(word).is_absolute(); });
    if (!is_told && std::ranges::find(k_readers, program) != k_readers.end()) {
      return program;
    }
  }
  return {};
}

tools::UserPrograms programs_outside(const agent::AgentSpec& agent,
                                     const Context& context,
                                     const tools::Sandbox* rules) {
  return {.folder = agent.directory,
          .is_folder_empty = rules != nullptr && starts_elsewhere(agent.directory, *rules),
          .directory = agent.directory,
          .environment = context.environment,
          .others_write = [rules](const fs::path& path) { return can_write(rules, path); },
          .others_write_below =
              [rules](const fs::path& path) {
                return rules != nullptr && rules->policy().writes_below(path);
              }};
}

tools::CommandPlace place_outside(const agent::AgentSpec& agent,
                                  const agent::Environment& own,
                                  const Context& context,
                                  const tools::Sandbox* rules) {
  const agent::Environment told =
      tools::user_environment(programs_outside(agent, context, rules), own);
  return {.directory = agent.directory,
          .home = agent::value_of(own.contains("HOME") ? own : context.environment, "HOME"),
          .search_path = tools::search_path_of(told),
          .environment = told};
}

namespace {

// `directory`: the agent file's, where the place has none since the command starts elsewhere.
Result<void> check_line(const std::string& line,
                        const tools::CommandPlace& place,
                        const fs::path& directory,
                        const tools::Sandbox& rules,
                        BareNames names,
                        std::string_view way_in) {
  const bool is_elsewhere = place.directory.empty();
  const tools::FedPrograms fed = tools::fed_programs(line, place);
  if (const std::string why = why_not_told(line, fed, place); !why.empty()) {
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format(
            "the command `{}` runs outside of the sandbox, and not all that it names can be "
            "told: {}",
            agent::one_line(line),
            why),
        "put the line into a script where tools cannot write, and name the script by its path");
  }
  const std::string name = is_elsewhere ? relative_name(line) : "";
  if (!name.empty()) {
    const fs::path meant = (directory / name).lexically_normal();
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format(
            "the command `{}` runs outside of the sandbox and names `{}`, {}",
            agent::one_line(line),
            agent::one_line(meant.string(), 200),
            can_write(&rules, meant)
                ? "which tools can write"
                : "and starts in another folder, for tools can write below the agent file's"),
        fmt::format("name the file by its whole path, and put it where tools cannot write, or {}",
                    way_in));
  }
  const auto folders = tools::folders_named(line, place.directory);
  if (!folders) {
    return agent::fail(agent::Code::config_invalid,
                       fmt::format("the command `{}` runs outside of the sandbox, and names more "
                                   "folders than are looked at",
                                   agent::one_line(line)),
                       "put the line into a script where tools cannot write");
  }
  const fs::path named = tools::named_in(
      line,
      *folders,
      {.is = [&](const fs::path& path) { return can_write(&rules, path); },
       .is_above = [&](const fs::path& path) { return rules.policy().writes_below(path); }});
  const fs::path run = named.empty() ? written_to_run(line, place, rules) : fs::path();
  if (!named.empty() || !run.empty()) {
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format(
            "the command `{}` runs outside of the sandbox and {} `{}`, which tools can write",
            agent::one_line(line),
            run.empty() ? "names" : "runs",
            run.empty() ? shown_of(named, *folders, place.directory).string() : run.string()),
        fmt::format("put the file where tools cannot write, or {}", way_in));
  }
  if (const fs::path store = written_store(line, place, rules); !store.empty()) {
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format("the command `{}` runs outside of the sandbox what lies in `{}`, "
                    "which tools can write",
                    agent::one_line(line),
                    store.string()),
        fmt::format("take the folder out of `sandbox.write`, and links to what tools can write out "
                    "of the folder, or {}",
                    way_in));
  }
  if (names == BareNames::are_known && !fed.unknown.empty()) {
    return agent::fail(
        agent::Code::config_invalid,
        fmt::format("the command `{}` runs outside of the sandbox, and nobody knows whether {} "
                    "runs what it reads",
                    agent::one_line(line),
                    fed.unknown),
        fmt::format("name the program by its whole path, which says that it does not, or {}",
                    way_in));
  }
  return {};
}

}  // namespace

Result<void> check_outside(const std::string& line,
                           tools::CommandPlace place,
                           const tools::Sandbox& rules,
                           BareNames names,
                           std::string_view way_in) {
  const fs::path directory = place.directory;
  if (starts_elsewhere(directory, rules)) {
    place.directory.clear();  // in a folder of the run's own nothing is found
  }
  TRY(check_line(line, place, directory, rules, names, way_in));
  for (const auto& [script, made] : tools::lines_made(line, place)) {
    if (auto done = check_line(made, place, directory, rules, names, way_in); !done) {
      return agent::fail(std::move(done).error().while_(
          fmt::format("looking at the `#!` of `{}`", agent::one_line(script.string(), 200))));
    }
  }
  return {};
}

std::optional<agent::Warning> unasked_for(std::string_view what,
                                          const std::string& line,
                                          const fs::path& directory,
                                          const tools::Sandbox* rules) {
  const tools::CommandLine read(line, {.cwd = directory});
  for (const tools::ShellCommand* one : read.commands()) {
    const std::string program =
        one->words.empty() ? "" : fs::path(one->words.front()).filename().string();
    const auto has = [&](std::string_view option) {
      return std::ranges::find(one->words, option) != one->words.end();
    };
    if (program.starts_with("python") && !has("-I") && !has("-P")) {
      for (const std::string& word : one->words) {
        const fs::path script = directory / word;
        const bool is_module = word == "-m";
        if ((word.ends_with(".py") || is_module) &&
            can_write(rules, script.parent_path() / "json.py")) {
          return agent::Warning{
              .message =
                  fmt::format("{} says what tools may do, and Python loads modules from {}, where "
                              "they can write",
                              what,
                              is_module ? "the folder where it starts"
                                        : fmt::format("beside `{}`", agent::one_line(word, 200))),
              .help = is_module
                          ? "`python3 -I SCRIPT`, with the script's path, loads none from there"
                          : fmt::format("`{} -I` loads none from there", program)};
        }
      }
    }
    if ((program == "make" || program == "gmake") && can_write(rules, directory / "Makefile")) {
      return agent::Warning{.message = fmt::format(
                                "{} says what tools may do, or has a right that they have not, and "
                                "they can write what `{}` reads",
                                what,
                                program),
                            .help = "name a script in its place: tools cannot write that"};
    }
  }
  return std::nullopt;
}

}  // namespace cli

#include "tools/builtin/registry.h"

#include "tools/builtin/builtins.h"
#include "tools/builtin/deadline.h"
#include "tools/builtin/shell.h"
#include "tools/builtin/shown_call.h"
#include "tools/files/atomic_file_write.h"
#include "tools/files/regular_file.h"

#include <algorithm>
#include <array>

namespace tools {
namespace {

template <const char* k_name>
std::string shown_argument(const agent::Json& arguments) {
  return std::string(agent::text_at(arguments, k_name));
}
constexpr char k_command[] = "command";
constexpr char k_path[] = "path";
constexpr char k_question[] = "question";
constexpr char k_reason[] = "reason";
constexpr char k_url[] = "url";

constexpr std::array k_builtins = {
    Builtin{.name = "apply_patch",
            .help = "change several files at once, by a unified diff",
            .make = make_apply_patch,
            .shown = shown_patch,
            .writes_files = true},
    Builtin{.name = "ask_user",
            .help = "ask the person at the terminal",
            .make = make_ask_user,
            .shown = shown_argument<k_question>,
            .is_of_a_run = true},
    Builtin{.name = "edit_file",
            .help = "replace one exact text in a file by another",
            .make = make_edit_file,
            .shown = shown_argument<k_path>,
            .writes_files = true},
    Builtin{.name = "git_commit",
            .help = "commit files of the working folder, without hooks",
            .make = make_git_commit,
            .shown = shown_commit,
            .writes_files = true,
            .uses_repository = true,
            .timeout = agent::Milliseconds(120'000)},
    Builtin{.name = "git_switch",
            .help = "switch to another branch, or make one",
            .make = make_git_switch,
            .shown = shown_switch,
            .writes_files = true,
            .uses_repository = true,
            .timeout = agent::Milliseconds(120'000)},
    Builtin{"glob", "find files by name: **/*.cpp", make_glob, shown_search},
    Builtin{"grep", "find lines that match a regular expression (RE2)", make_grep, shown_search},
    Builtin{"list_directory", "list one folder", make_list_directory, shown_argument<k_path>},
    Builtin{"read_file", "read a text file, page by page", make_read_file, shown_lines},
    Builtin{.name = k_result_reader,
            .help = "read a cleared tool result again",
            .make = make_read_result,
            .shown = shown_result,
            .is_of_a_run = true},
    Builtin{.name = "shell",
            .help = "run a command line with /bin/sh",
            .make = make_shell,
            .shown = shown_argument<k_command>,
            .runs_programs = true},
    Builtin{.name = "task_failed",
            .help = "let the agent say that it failed (exit code 1)",
            .make = make_task_failed,
            .shown = shown_argument<k_reason>,
            .is_of_a_run = true},
    Builtin{"todo", "keep a list of the steps of the work", make_todo, shown_todo},
    Builtin{.name = "web_fetch",
            .help = "fetch a page or a file from the web, as text",
            .make = make_web_fetch,
            .shown = shown_argument<k_url>,
            .is_from_outside = true,
            .timeout = agent::Milliseconds(30'000)},
    Builtin{.name = "write_file",
            .help = "write a whole file",
            .make = make_write_file,
            .shown = shown_argument<k_path>,
            .writes_files = true},
};

std::vector<std::string> names_where(bool Builtin::* is_so) {
  std::vector<std::string> names;
  for (const Builtin& row : k_builtins) {
    if (row.*is_so) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

// nullptr: a command as a tool, or a name that nothing has.
const Builtin* builtin_of(const agent::ToolSpec& tool) {
  const auto row = std::ranges::find(k_builtins, tool.name, &Builtin::name);
  return tool.kind == agent::ToolSpec::Kind::command || row == k_builtins.end() ? nullptr : &*row;
}

}  // namespace

std::span<const Builtin> builtins() {
  return k_builtins;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const Builtin& row : k_builtins) {
    names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> program_tools() {
  return names_where(&Builtin::runs_programs);
}

std::vector<std::string> web_tools() {
  return names_where(&Builtin::is_from_outside);
}

bool writes_files(std::string_view tool) {
  const auto row = std::ranges::find(k_builtins, tool, &Builtin::name);
  return row != k_builtins.end() && row->writes_files;
}

bool runs_programs(const agent::ToolSpec& tool) {
  const Builtin* builtin = builtin_of(tool);
  return builtin == nullptr || builtin->runs_programs;
}

bool runs_programs(const agent::AgentSpec& agent) {
  return std::ranges::any_of(agent.tools,
                             [](const agent::ToolSpec& tool) { return runs_programs(tool); }) ||
         std::ranges::any_of(agent.steps, &agent::StepSpec::is_command);
}

bool is_of_a_run(const agent::ToolSpec& tool) {
  const Builtin* builtin = builtin_of(tool);
  return builtin != nullptr && builtin->is_of_a_run;
}

bool writes(const agent::ToolSpec& tool) {
  const Builtin* builtin = builtin_of(tool);
  return builtin == nullptr || builtin->runs_programs || builtin->writes_files;
}

agent::Result<void> check_access(const Access& access, const CallContext& context) {
  const auto check_one = [&](std::string_view path) -> agent::Result<void> {
    TRY_ASSIGN(const NamedPath name, resolve(path, context));
    switch (access.kind) {
      case Access::Kind::names:
        return check_listing(name);
      case Access::Kind::reads:
        return check_reading(name);
      case Access::Kind::writes:
        return check_place_to_write(name);
      case Access::Kind::nothing:
      case Access::Kind::commands:
      case Access::Kind::fetches:
      case Access::Kind::program:
      case Access::Kind::server:
        break;
    }
    return {};
  };
  TRY(check_one(access.target.empty() ? "." : access.target));
  for (const std::string& path : access.further) {
    TRY(check_one(path));
  }
  return {};
}

bool uses_repository(const agent::ToolSpec& tool) {
  const Builtin* builtin = builtin_of(tool);
  return builtin != nullptr && builtin->uses_repository;
}

std::unique_ptr<Tool> make_builtin(const agent::ToolSpec& spec) {
  const auto row = std::ranges::find(k_builtins, spec.name, &Builtin::name);
  if (row == k_builtins.end()) {
    return nullptr;
  }
  auto tool = row->make(spec);
  const agent::Milliseconds timeout = spec.timeout.value_or(row->timeout);
  if (timeout.count() > 0 && !row->runs_programs) {
    tool = with_deadline(std::move(tool), timeout);
  }
  return tool;
}

}  // namespace tools

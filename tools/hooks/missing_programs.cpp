#include "tools/hooks/missing_programs.h"

#include "agent/text.h"
#include "tools/hooks/hooks.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/process/module_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

// What the shell does itself.
constexpr auto k_shell_words = std::to_array<std::string_view>(
    {"!",        ".",       ":",       "[",        "[[",      "alias",  "bg",    "break",
     "case",     "cd",      "command", "continue", "declare", "echo",   "elif",  "else",
     "eval",     "exec",    "exit",    "export",   "false",   "fc",     "fg",    "for",
     "function", "getopts", "hash",    "if",       "jobs",    "kill",   "let",   "local",
     "printf",   "pwd",     "read",    "readonly", "return",  "select", "set",   "shift",
     "source",   "test",    "time",    "times",    "trap",    "true",   "type",  "typeset",
     "ulimit",   "umask",   "unalias", "unset",    "until",   "wait",   "while", "{",
     "("});
constexpr std::string_view k_standard_path = "/usr/local/bin:/usr/bin:/bin";

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Who starts it, and what holds for that.
struct Starter {
  std::string name;  // for messages: "the hook `./policy.sh`"
  fs::path folder;
  const agent::Environment& own;
  bool is_confined = true;
};

class Finder {
 public:
  explicit Finder(const ProgramPlaces& places) : places_(places) {}

  void look_for(const std::string& program, const Starter& starter) {
    if (program.contains('/')) {
      if (const std::string why = why_not(starter.folder / program, starter, X_OK); !why.empty()) {
        say(starter, program, why);
      }
    } else if (const std::string why = why_not_in_path(program, starter); !why.empty()) {
      say(starter, program, why);
    }
  }

  // A program with its arguments: as it is started, or as a shell would read it.
  void look_at(std::span<const std::string> words, const Starter& starter) {
    if (fs::path(words.front()).filename() == "env") {
      look_for(words.front(), starter);
      words = words.subspan(1);
      while (!words.empty() && words.front().contains('=')) {
        if (words.front().starts_with("PATH=")) {
          return;
        }
        words = words.subspan(1);
      }
      if (words.empty() || words.front().empty() || words.front().front() == '-') {
        return;
      }
    }
    if (has_unknown(words.front())) {
      return;
    }
    look_for(words.front(), starter);
    const bool runs_file = words.size() > 1 && !words[1].empty() && words[1].front() != '-' &&
                           !has_unknown(words[1]) && runs_its_first_word(base_name(words.front()));
    const auto modules =
        runs_file ? module_files(words, starter.folder, starter.own) : std::vector<fs::path>();
    const bool is_by_name = std::ranges::any_of(modules, [](const fs::path& file) {
      std::error_code error;
      return fs::is_regular_file(file, error);
    });
    if (runs_file && !is_by_name) {
      if (const auto why = why_not(starter.folder / words[1], starter, R_OK); !why.empty()) {
        say(starter, words[1], why);
      }
    }
  }

  void look_into(const std::string& line, const Starter& starter) {
    const ShellScript script = read_shell(line);
    if (script.commands.empty()) {
      return;
    }
    ShellCommand first = script.commands.front();
    for (std::string& word : first.words) {
      word.insert(0, word.starts_with('~') ? 1 : 0, k_unknown);
    }
    const bool sets_path = std::ranges::any_of(first.assignments, [](const std::string& one) {
      return one.starts_with("PATH=") || one.starts_with("PATH+=");
    });
    if (!first.words.empty() && !sets_path && !is_among(k_shell_words, first.words.front())) {
      look_at(first.words, starter);
    }
  }

  std::vector<MissingProgram> take() { return std::move(missing_); }

 private:
  // Why the file cannot be used so, in words that follow its name; empty: it can.
  std::string why_not(const fs::path& file, const Starter& starter, int mode) const {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error) {
      return "is not there";
    }
    if (fs::is_directory(real, error)) {
      return "is a folder";
    }
    if (::access(real.c_str(), mode) != 0) {
      return mode == X_OK ? "is not executable" : "cannot be read";
    }
    return starter.is_confined && !places_.is_open(real)
               ? fmt::format("is closed to what runs in the sandbox ({})", real.string())
               : "";
  }

  std::string why_not_in_path(const std::string& program, const Starter& starter) const {
    const auto own = starter.own.find("PATH");
    std::string_view path = own != starter.own.end() ? std::string_view(own->second)
                                                     : agent::value_of(places_.environment, "PATH");
    path = path.empty() ? k_standard_path : path;
    std::string closed;
    for (const auto part : std::views::split(path, ':')) {
      const fs::path folder = part.empty() ? "." : std::string(part.begin(), part.end());
      const std::string why = why_not(starter.folder / folder / program, starter, X_OK);
      if (why.empty()) {
        return why;
      }
      closed = why.starts_with("is closed") && closed.empty() ? why : closed;
    }
    return closed.empty() ? "is in no folder of PATH" : closed;
  }

  void say(const Starter& starter, const std::string& program, std::string_view why) {
    MissingProgram missing{
        .message = fmt::format("{}: `{}` {}", starter.name, agent::one_line(program), why),
        .help = why.starts_with("is closed") ? "name the folder in `sandbox.read`"
                                             : "unless the run makes it, what starts it fails"};
    if (std::ranges::find(missing_, missing.message, &MissingProgram::message) == missing_.end()) {
      missing_.push_back(std::move(missing));
    }
  }

  const ProgramPlaces& places_;
  std::vector<MissingProgram> missing_;
};

}  // namespace

std::vector<MissingProgram> missing_programs(const agent::AgentSpec& agent,
                                             const ProgramPlaces& places) {
  const bool has_sandbox = agent.sandbox.mode != agent::SandboxSpec::Mode::off;
  Finder finder(places);
  for (const agent::ToolSpec& tool : agent.tools) {
    if (tool.kind == agent::ToolSpec::Kind::command && !tool.command.empty()) {
      finder.look_at(tool.command,
                     {.name = fmt::format("the tool `{}`", tool.name),
                      .folder = places.cwd,
                      .own = tool.env,
                      .is_confined = has_sandbox});
    }
  }
  const auto starter = [&](std::string_view kind,
                           const std::string& command,
                           const agent::Environment& own,
                           const agent::CommandSandbox& sandbox) {
    return Starter{.name = fmt::format("the {} `{}`", kind, agent::one_line(command, 100)),
                   .folder = agent.directory,
                   .own = own,
                   .is_confined = has_sandbox && !sandbox.is_off && sandbox.read.empty()};
  };
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    finder.look_into(hook_command(agent.hooks, hook, places.cwd),
                     starter("hook", hook.command, hook.env, hook.sandbox));
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      finder.look_into(check.what, starter("guardrail", check.what, check.env, check.sandbox));
    }
  }
  for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
    Starter started = starter("MCP server", server.name, server.env, server.sandbox);
    started.folder = server.sandbox.is_off ? started.folder : places.cwd;
    finder.look_at(server.command, started);
  }
  return finder.take();
}

}  // namespace tools

#include "tools/hooks/outside_programs.h"

#include "agent/text.h"
#include "tools/hooks/interpreter_line.h"
#include "tools/hooks/named_programs.h"
#include "tools/hooks/outside_words.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/known_programs.h"
#include "tools/permissions/program_options.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/sandbox/way.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

// In the place of a script's own name, which may be that of an interpreter (`python3` of pyenv).
constexpr std::string_view k_a_script = "/own-script";
constexpr int k_most_scripts = 8;  // whose interpreters are scripts; the kernel follows five

// Beside those that only show or arrange data (is_plain_program): what does not run what it reads.
struct KnownProgram {
  enum class Words : std::uint8_t {
    are_data,
    may_be_written,  // some of them are files that it writes
    may_be_run,      // or read as a program, or as the folder of one
  };
  std::string_view name;
  Words words = Words::are_data;
};
using Words = KnownProgram::Words;
constexpr auto k_known = std::to_array<KnownProgram>({
    {"["},
    {"aplay"},
    {"awk", Words::may_be_run},
    {"base64"},
    {"bunx", Words::may_be_run},
    {"cargo", Words::may_be_run},
    {"chmod"},
    {"column"},
    {"corepack", Words::may_be_run},
    {"cp", Words::may_be_written},
    {"curl", Words::may_be_written},
    {"date"},
    {"exit"},
    {"expr"},
    {"file"},
    {"find", Words::may_be_written},
    {"gawk", Words::may_be_run},
    {"git", Words::may_be_run},
    {"gmake", Words::may_be_run},
    {"go", Words::may_be_run},
    {"hostname"},
    {"iconv", Words::may_be_written},
    {"ln", Words::may_be_written},
    {"logger"},
    {"make", Words::may_be_run},
    {"mawk", Words::may_be_run},
    {"mkdir"},
    {"mv", Words::may_be_written},
    {"notify-send"},
    {"npm", Words::may_be_run},
    {"npx", Words::may_be_run},
    {"paplay"},
    {"pipx", Words::may_be_run},
    {"pnpm", Words::may_be_run},
    {"pnpx", Words::may_be_run},
    {"printenv"},
    {"printf"},
    {"pw-play"},
    {"rg"},
    {"rm"},
    {"rmdir"},
    {"sed", Words::may_be_written},
    {"sort", Words::may_be_written},
    {"spd-say"},
    {"tee", Words::may_be_written},
    {"test"},
    {"touch"},
    {"uname"},
    {"uniq", Words::may_be_written},
    {"uv", Words::may_be_run},
    {"uvx", Words::may_be_run},
    {"wget", Words::may_be_written},
    {"yarn", Words::may_be_run},
    {"yq", Words::may_be_written},
});

// Programs, or commands of theirs, that start a shell or ask for commands where they are told no
// program: those are read from their input.
struct ShellStarter {
  std::string_view name;
  std::size_t operands = 0;  // in front of the program
};
constexpr std::size_t k_always = 1'000'000;
constexpr auto k_shell_starters = std::to_array<ShellStarter>({
    {"bpython"},
    {"bun repl", k_always},
    {"bundle console", k_always},
    {"capsh", k_always},
    {"chroot"},
    {"dbus-run-session"},
    {"deno repl", k_always},
    {"devbox shell", k_always},
    {"doas"},
    {"fakechroot"},
    {"fakeroot"},
    {"firejail"},
    {"ghci"},
    {"guix shell", k_always},
    {"hatch shell", k_always},
    {"i386"},
    {"iex"},
    {"irb"},
    {"jruby"},
    {"jshell"},
    {"linux32"},
    {"linux64"},
    {"login", k_always},
    {"mruby"},
    {"newgrp", k_always},
    {"nix develop", k_always},
    {"nix shell", k_always},
    {"nix-shell", k_always},
    {"npm exec"},
    {"npm x"},
    {"npx"},
    {"nsenter"},
    {"pipenv shell", k_always},
    {"pixi shell", k_always},
    {"pkexec"},
    {"poetry shell", k_always},
    {"proot"},
    {"pry", k_always},
    {"ptpython"},
    {"rails c", k_always},
    {"rails console", k_always},
    {"run0"},
    {"runuser", k_always},
    {"script", k_always},
    {"setarch", 1},
    {"sg", 1},
    {"ssh"},
    {"su", k_always},
    {"sudo"},
    {"uname26"},
    {"unshare"},
    {"x86_64"},
});

const KnownProgram* known_program(std::string_view name) {
  const auto found = std::ranges::find(k_known, name, &KnownProgram::name);
  return found == k_known.end() ? nullptr : &*found;
}

bool runs_no_word(std::string_view program) {
  const KnownProgram* row = known_program(base_name(program));
  return is_plain_program(program) || (row != nullptr && row->words != Words::may_be_run);
}

// By this name, and by that of what a link leads to.
std::vector<std::string> names_of(const std::string& word, const CommandPlace& place) {
  std::vector<std::string> names{std::string(base_name(word))};
  for (const fs::path& file : files_for(word, place)) {
    std::error_code error;
    if (fs::is_symlink(file, error)) {
      names.push_back(fs::weakly_canonical(file, error).filename());
    }
  }
  return names;
}

bool is_below_either(const fs::path& path, std::string_view one, std::string_view other) {
  return path.native().starts_with(one) || path.native().starts_with(other);
}

// What only a running process is, behind whatever link: its program, its input.
bool is_of_a_process(std::string_view word, const CommandPlace& place) {
  const fs::path path = place.directory / word;
  return path.is_absolute() && !word.starts_with('-') &&
         std::ranges::any_of(sandbox::way_to(path), [](const sandbox::WayPoint& point) {
           return point.path.native().starts_with("/proc/");
         });
}

// That, a pipe, a terminal.
bool is_stream(const std::string& word, const CommandPlace& place) {
  const fs::path path = place.directory / word;
  std::error_code error;
  if (path.is_relative() || word.starts_with('-')) {
    return false;
  }
  const fs::file_type type = fs::status(path, error).type();
  return type == fs::file_type::fifo || is_of_a_process(word, place) ||
         (type == fs::file_type::character && sandbox::way_to(path).back().path != "/dev/null");
}

// A stream, a folder of such, or a text that names one, in a word or behind a `=` or an option.
bool tells_of_a_stream(const std::string& word, const CommandPlace& place) {
  static const RE2 text(R"((^|[^\w./-])/+(dev/+(stdin|fd|tty|pts)([^\w-]|$)|proc/))");
  const auto is_one = [&](std::string_view end) {
    std::error_code error;
    const fs::path path = fs::path(end).lexically_normal();
    const bool is_of_devices = path == "/dev" || path == "/dev/" || path == "/proc" ||
                               is_below_either(path, "/dev/", "/proc/");
    return is_stream(std::string(end), place) || (is_of_devices && fs::is_directory(path, error));
  };
  return RE2::PartialMatch(word, text) || std::ranges::any_of(ends_of_word(word), is_one);
}

std::size_t operands_in(const std::vector<std::string>& words, std::size_t from) {
  return static_cast<std::size_t>(
      std::count_if(words.begin() + static_cast<std::ptrdiff_t>(std::min(from, words.size())),
                    words.end(),
                    [](const std::string& word) { return !word.starts_with('-'); }));
}

// Whether the words behind the name, or behind that of its command, hold a program.
bool is_told_a_program(const ShellStarter& row, const ShellCommand& command, std::size_t from) {
  if (row.operands != k_always && starts_the_rest(row.name)) {
    return std::ranges::any_of(started_by(command).starts,
                               [](const Start& one) { return one.how == Start::How::runs; });
  }
  return operands_in(command.words, from) > row.operands;
}

// Of a program by this name, or of the command that it is told; null: none.
const ShellStarter* shell_starter(std::string_view name) {
  const auto found = std::ranges::find(k_shell_starters, name, &ShellStarter::name);
  return found == k_shell_starters.end() ? nullptr : &*found;
}

// The program, or the program and its command, that starts a shell; empty: it starts none.
std::string starts_a_shell(ShellCommand one, const CommandPlace& place) {
  const std::vector<std::string> names = names_of(one.words.front(), place);
  std::size_t first = 1;
  while (first < one.words.size() && one.words[first].starts_with('-')) {
    ++first;
  }
  for (const std::string& name : names) {
    one.words.front() = name;
    const std::string told = first < one.words.size() ? one.words[first] : "";
    const ShellStarter* command = shell_starter(fmt::format("{} {}", name, told));
    if (const ShellStarter* row = command != nullptr ? command : shell_starter(name)) {
      return is_told_a_program(*row, one, command != nullptr ? first + 1 : 1)
                 ? std::string()
                 : std::string(row->name);
    }
  }
  return {};
}

class FedReader {
 public:
  explicit FedReader(const CommandPlace& place) : place_(place) {}

  // `behind`: the script that the line stands for; empty: none.
  void read(const std::string& text, const std::string& behind = {}, int depth = 0) {
    const CommandLine line{text, {}};
    for (const ShellCommand* one : line.commands()) {
      look_at_words(*one);
    }
    const ShellScript top = read_shell(text);
    for (const ShellCommand& one : top.commands) {
      read_command(one, behind, depth);
    }
  }

  FedPrograms take() { return std::move(found_); }

 private:
  void fed(std::string why) {
    if (found_.why.empty()) {
      found_.why = std::move(why);
    }
  }

  // An interpreter counts wherever it stands: what is in front may run it.
  void look_at_words(const ShellCommand& one) {
    const auto& words = one.words;
    if (words.empty() || coverage_of(words).is_data || runs_no_word(words.front())) {
      return;
    }
    for (auto word = words.begin(); word != words.end(); ++word) {
      for (const std::string_view end : ends_of_word(*word)) {
        if (!end.starts_with("/dev/") && is_of_a_process(end, place_)) {
          fed(fmt::format("what `{}` is, only a running program knows", agent::one_line(end, 200)));
        }
      }
      const auto names = names_of(*word, place_);
      const auto name = std::ranges::find_if(names, is_interpreter);
      if (name != names.end()) {
        look_at_interpreter(*name, {word + 1, words.end()});
      }
      const auto runner = std::ranges::find_if(names, runs_what_it_is_told);
      if (runner != names.end()) {
        look_for_a_stream(*runner, words);
      }
    }
  }

  static bool runs_what_it_is_told(const std::string& name) {
    const KnownProgram* row = known_program(name);
    return is_interpreter(name) || (row != nullptr && row->words == Words::may_be_run);
  }

  void look_for_a_stream(const std::string& name, const std::vector<std::string>& words) {
    const auto stream = std::ranges::find_if(
        words, [&](const auto& word) { return tells_of_a_stream(word, place_); });
    if (stream != words.end()) {
      fed(fmt::format("{} may run what `{}` brings", name, agent::one_line(*stream, 200)));
    }
  }

  void look_at_interpreter(const std::string& name, const std::vector<std::string>& told) {
    ShellCommand run{.words = {name}};
    run.words.insert(run.words.end(), told.begin(), told.end());
    const Started started = started_by(run);
    if (!started.unclear.empty()) {
      fed(started.unclear.front());
    }
  }

  void read_command(const ShellCommand& one, const std::string& behind, int depth) {
    if (one.words.empty()) {
      return;
    }
    const std::string& program = one.words.front();
    const std::string_view name = base_name(program);
    if (is_below_either(fs::path(program).lexically_normal(), "/proc/", "/dev/")) {
      fed(fmt::format("`{}` is no program's file", agent::one_line(program, 200)));
    }
    if (const std::string shell = starts_a_shell(one, place_); !shell.empty()) {
      fed(fmt::format("{} runs what it reads, where it is told no program", shell));
    }
    look_behind(program, depth);
    const KnownProgram* row = known_program(name);
    const Started started = started_by(one);
    const bool is_packages = row != nullptr && row->words == Words::may_be_run;  // `npx x`
    if (is_shell(name) ? started.is_wrapper : !is_interpreter(name) && !is_packages) {
      for (const Start& inner : started.starts) {
        if (inner.how == Start::How::runs) {
          read_command(inner.command, behind, depth);
        }
      }
    }
    if (row == nullptr && !is_plain_program(name) && !is_interpreter(name) &&
        !starts_the_rest(name)) {
      read_unknown(one, behind, depth);
    }
  }

  // What it does with its words is not known, either.
  void read_unknown(const ShellCommand& one, const std::string& behind, int depth) {
    const std::string& program = one.words.front();
    if (!program.contains('/') && found_.unknown.empty()) {
      found_.unknown = agent::one_line(program, 100);
      found_.unknown = behind.empty() ? fmt::format("`{}`", found_.unknown)
                                      : fmt::format("`{}`, behind the `#!` of `{}`,",
                                                    found_.unknown,
                                                    agent::one_line(behind, 200));
    }
    for (std::size_t at = 1; at < one.words.size(); ++at) {
      look_behind(one.words[at], depth);
    }
  }

  void look_behind(const std::string& word, int depth) {
    for (const fs::path& file : files_for(word, place_)) {
      InterpreterLine line = depth < k_most_scripts ? interpreter_line(file) : InterpreterLine();
      if (!line.is_plain) {
        fed(
            fmt::format("the `#!` of `{}` has more than `/path/program WORD`, `env NAME` or "
                        "`env -S` with plain words",
                        agent::one_line(file.string(), 200)));
      } else if (!line.runs.empty()) {
        line.runs.emplace_back(k_a_script);
        read(line_of(line.runs), file, depth + 1);
      }
    }
  }

  const CommandPlace& place_;
  FedPrograms found_;
};

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

fs::path resolved(std::string_view word, const CommandPlace& place) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(place.directory / word, error);
  return path.has_filename() ? path : path.parent_path();
}

// The files that its words may name.
std::vector<fs::path> files_of(const ShellCommand& one,
                               std::size_t from,
                               const CommandPlace& place) {
  std::vector<fs::path> files;
  for (std::size_t at = from; at < one.words.size(); ++at) {
    for (const std::string_view end : ends_of_word(one.words[at])) {
      if (!end.empty() && !end.starts_with('-')) {
        files.push_back(resolved(end, place));
      }
    }
  }
  return files;
}

std::vector<fs::path> written_by_command(const ShellCommand& one, const CommandPlace& place) {
  const KnownProgram* row =
      one.words.empty() ? nullptr : known_program(base_name(one.words.front()));
  std::vector<fs::path> files = row != nullptr && row->words == Words::may_be_written
                                    ? files_of(one, 1, place)
                                    : std::vector<fs::path>();
  for (const ShellFile& file : one.files) {
    if (file.writes && !file.path.starts_with("/dev/")) {
      files.push_back(resolved(file.path, place));
    }
  }
  return files;
}

std::vector<fs::path> run_by_command(const ShellCommand& one, const CommandPlace& place) {
  if (one.words.empty() || runs_no_word(one.words.front())) {
    return {};
  }
  const std::string_view name = base_name(one.words.front());
  const bool only_starts =  // a command that stands beside it here
      started_by(one).is_wrapper || (starts_the_rest(name) && known_program(name) == nullptr);
  return only_starts ? std::vector<fs::path>() : files_of(one, 0, place);
}

}  // namespace

FedPrograms fed_programs(std::string_view command, const CommandPlace& place) {
  FedReader reader(place);
  reader.read(std::string(command));
  return reader.take();
}

std::string written_and_run(std::string_view command, const CommandPlace& place) {
  const CommandLine line{std::string(command), {}};
  const std::vector<const ShellCommand*> commands = line.commands();
  for (const ShellCommand* writer : commands) {
    const std::vector<fs::path> written = written_by_command(*writer, place);
    for (const ShellCommand* other : commands) {
      if (other == writer || written.empty()) {
        continue;
      }
      for (const fs::path& run : run_by_command(*other, place)) {
        const auto found = std::ranges::find_if(written, [&](const fs::path& file) {
          return is_within(file, run) || is_within(run, file);
        });
        if (found != written.end()) {
          return found->string();
        }
      }
    }
  }
  return {};
}

std::vector<std::string_view> known_outside() {
  const auto plain = plain_programs();
  std::vector<std::string_view> names(plain.begin(), plain.end());
  std::ranges::transform(k_known, std::back_inserter(names), &KnownProgram::name);
  std::erase(names, "cd");  // it changes the folder
  std::ranges::sort(names);
  return names;
}

}  // namespace tools

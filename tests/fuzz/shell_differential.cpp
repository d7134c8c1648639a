// Holds the grammar of plain command lines (tools/permissions/plain_command.h) against shells: what
// dash and bash run of a line, as the programs that they start see it, and the files that they make
// are never more than what was read from it. Lines are made by a generator that knows what shells
// treat specially; only those that the grammar takes are run, in a folder of their own, with a
// recorder in the place of every program.
//
//   shell_differential RECORDER [--seconds N] [--seed N] [--line TEXT]
#include "tools/permissions/plain_command.h"
#include "tools/permissions/text_pattern.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <poll.h>
#include <random>
#include <span>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using tools::PlainCommand;
using Line = std::vector<PlainCommand>;

constexpr int k_patience_ms = 10'000;  // of one shell
constexpr int k_most_finds = 20;

struct Shell {
  const char* program;
  std::vector<std::string> words;  // in front of the line
};
const std::array<Shell, 3> k_shells{{{"/bin/dash", {"sh", "-c"}},
                                     {"/bin/bash", {"bash", "-c"}},
                                     {"/bin/bash", {"bash", "--posix", "-c"}}}};

// One program that ran.
struct Execution {
  std::string folder;
  std::vector<std::string> words;
  std::vector<std::string> variables;
};

// ---- lines ----

constexpr auto k_pieces = std::to_array<std::string_view>({
    // programs and words
    "git",
    "make",
    "ls",
    "wc",
    "git diff",
    "make test",
    "./run",
    "src/run",
    "run",
    "echo",
    "printf",
    "test",
    "[",
    "]",
    "[ -f a.c ]",
    "true",
    "false",
    ":",
    "x",
    "-rf",
    "--",
    "-x=y",
    "a.c",
    "src",
    "HEAD~1",
    "HEAD^",
    "a@b",
    "{}",
    "!",
    "a=b",
    "x:y",
    "+x",
    "50%",
    "1",
    "2",
    "0",
    "'a b'",
    "\"a b\"",
    "a\\ b",
    "''",
    "\"\"",
    "größe",
    "漢",
    "\\é",
    "é",
    "\u00a0",
    "\u2028",
    "\u3000",
    "\u0085",
    "--opt='x y'",
    "%s",
    "\\n",
    "\\\\",
    "\\'",
    "\\\"",
    "'\\'",
    "\"\\\\\"",
    "\"\\$x\"",
    "\"'\"",
    "'\"'",
    "\"\\\n\"",
    "'\n'",
    "\"\n\"",
    "\\*",
    "'*'",
    "\"*\"",
    "\\?",
    "git\\\n diff",
    // wrappers and what shells know themselves
    "time",
    "nice",
    "nohup",
    "env",
    "timeout 5",
    "timeout",
    "command",
    "command -v",
    "cd src",
    "cd",
    "cd ./src",
    "exec",
    "eval",
    ".",
    "source",
    "builtin",
    "export",
    "set",
    "alias",
    "alias git=ls",
    "if",
    "then",
    "fi",
    "for",
    "do",
    "done",
    "while",
    "case",
    "in",
    "esac",
    "function",
    "coproc",
    "select",
    "until",
    "else",
    "elif",
    "[[",
    "]]",
    "((",
    "))",
    "type",
    "hash",
    "read x",
    "unset",
    "trap",
    "wait",
    "let",
    "local",
    "declare",
    "shift",
    // assignments
    "LC_ALL=C",
    "TZ=UTC",
    "NO_COLOR=1",
    "LC_ALL=",
    "PATH=.",
    "A=b",
    "IFS=i",
    "A+=b",
    "a[1]=x",
    "LC_ALL='C'",
    "'LC_ALL'=C",
    "TZ=é",
    "LANG=C.UTF-8",
    // operators
    ";",
    "&&",
    "||",
    "|",
    "\n",
    " ; ",
    " && ",
    " || ",
    " | ",
    "&",
    "|&",
    ";;",
    ";&",
    "(",
    ")",
    "{",
    "}",
    "#",
    " #",
    "\n#",
    "# x\n",
    "#!",
    "&>",
    "!",
    // redirections
    ">out",
    ">>out",
    "> out",
    "<a.c",
    "< a.c",
    "2>&1",
    "1>&2",
    ">&2",
    "2>err",
    "1>out",
    "0<a.c",
    ">/dev/null",
    "</dev/null",
    "> 'o u'",
    ">\"out\"",
    ">o\\ t",
    ">1",
    "> 2",
    ">",
    ">>",
    "<",
    "<<",
    "<<<",
    "<>",
    ">|",
    ">&",
    "<&",
    ">&-",
    "3>",
    "12>",
    "{x}>",
    "<<E\n",
    "\nE\n",
    ">(",
    "<(",
    "> src/new",
    "2>>err",
    ">out2",
    "2 >out",
    "a>out",
    // expansions and patterns
    "$x",
    "${x}",
    "$(git)",
    "`git`",
    "$((1))",
    "$'x'",
    "$\"x\"",
    "$",
    "$?",
    "$@",
    "~",
    "~/x",
    "~+",
    "a=~",
    "a:~",
    "~root",
    "*",
    "?",
    "./*",
    "src/*",
    "src/?.c",
    "a*",
    "[a]*",
    "./[a-z]*",
    "{a,b}",
    "{1..3}",
    "x{",
    "}x",
    "^",
    "^a^b",
    "!!",
    "!x",
    "!$",
    "@(a)",
    "+(a)",
    "a!(b)",
    "**",
    "src/**",
    "./-*",
    "o*t",
    // odd characters
    " ",
    "  ",
    "\t",
    "\\",
    "\\\n",
    " \\\n ",
    "\\\n\\\n",
    "'",
    "\"",
    "\r",
    "\x01",
    "\x02",
    "\x7f",
    "\x0b",
    "\x0c",
    "\x1b[0m",
    "\xc3",
    "\xff",
    "\xe2\x80",
    "é\\",
    "é|",
    "\xc2\x81",
    "\xc2\x82",
    "\xc2\x83",
    "\xc2\x84",
    "\xc2\x85",
    "\xc2\x86",
    "\xc2\x87",
    "\xc2\x88",
    "\xc2\x89",
    "ā",
    "Ă",
    "ȁ",
    "𐂁",
    "éa",
    "'é'",
    "\"é\"",
    "-",
    "=",
    ",",
    "/",
    "%",
    "@",
    "+",
    ":",
    "~x",
    "x~",
    "#x",
    "x#",
});
// What a line in the grammar is mostly made of, so that enough of them are.
constexpr auto k_plain_pieces = std::to_array<std::string_view>(
    {"git",  "make",  "ls",        "wc",    "./run",   "src/run", "echo",     "x",
     "-rf",  "--",    "a.c",       "'a b'", "\"a b\"", "a\\ b",   "''",       "\"\\$x\"",
     "'*'",  "src/*", "./*",       "a*",    "src/?.c", "./-*",    "größe",    "漢字",
     "'é'",  "\"ā\"", "{}",        "a=b",   "HEAD~1",  "x#y",     "LC_ALL=C", "TZ=UTC",
     "time", "nice",  "timeout 5", "env",   "nohup",   "command", "\\\n",     "\"a\\\nb\"",
     "'\n'", "[",     "]",         "!",     "2",       "é\\ a",   "\\é",      "cd src"});
constexpr auto k_plain_joints = std::to_array<std::string_view>({"; ",
                                                                 " && ",
                                                                 " || ",
                                                                 " | ",
                                                                 "\n",
                                                                 " ;\n",
                                                                 "\n\n",
                                                                 " # x\n",
                                                                 "&&",
                                                                 "||",
                                                                 "|",
                                                                 ";",
                                                                 " >out ; ",
                                                                 " 2>&1 | ",
                                                                 " >>out 2>err && ",
                                                                 " <a.c;",
                                                                 " >/dev/null\n",
                                                                 " &&\n# y\n ",
                                                                 "| \\\n"});

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string line() {
    std::string line = chance(3) ? free_line() : plain_line();
    for (std::size_t times = chance(2) ? below(3) : 0; times > 0; --times) {
      mutate(line);
    }
    return line;
  }

 private:
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  bool chance(std::size_t in) { return below(in) == 0; }
  std::string_view one_of(std::span<const std::string_view> pieces) {
    return pieces[below(pieces.size())];
  }

  std::string free_line() {
    std::string line;
    for (std::size_t left = 1 + below(9); left > 0; --left) {
      line += one_of(k_pieces);
      line += chance(3) ? "" : " ";
    }
    return line;
  }

  std::string plain_line() {
    std::string line;
    for (std::size_t commands = 1 + below(4); commands > 0; --commands) {
      for (std::size_t words = 1 + below(5); words > 0; --words) {
        line += one_of(k_plain_pieces);
        line += chance(8) ? "" : " ";
      }
      line += commands > 1 ? one_of(k_plain_joints) : "";
    }
    return line;
  }

  void mutate(std::string& line) {
    const std::size_t at = below(line.size() + 1);
    switch (below(6)) {
      case 0:
      case 1:
        line.insert(at, one_of(k_pieces));
        break;
      case 2:
        line.erase(at, 1 + below(3));
        break;
      case 3:
        line.insert(at, 1, static_cast<char>(chance(4) ? below(255) + 1 : below(95) + 32));
        break;
      case 4:
        line.insert(at, line.substr(below(line.size() + 1), below(12)));
        break;
      default:
        if (at < line.size()) {
          line[at] = static_cast<char>(below(95) + 32);
        }
    }
  }

  std::mt19937_64 random_;
};

// ---- what runs ----

class Scratch {
 public:
  explicit Scratch(const fs::path& recorder) {
    std::string name = (fs::temp_directory_path() / "errand-shell-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no folder can be made");
    }
    root_ = fs::canonical(name);
    work_ = root_ / "a" / "b" / "work";
    fs::create_directories(work_ / "src");
    fs::create_directories(root_ / "bin");
    fs::create_directories(root_ / "a" / "home");
    fs::copy_file(recorder, root_ / "recorder");
    for (const char* program : {"git",
                                "make",
                                "ls",
                                "wc",
                                "x",
                                "nice",
                                "nohup",
                                "env",
                                "time",
                                "timeout",
                                "run",
                                "command",
                                "exec",
                                "if"}) {
      fs::create_symlink("../recorder", root_ / "bin" / program);
    }
    for (const fs::path& program : {work_ / "run", work_ / "src" / "run"}) {
      restore(program);
    }
    for (const char* file :
         {"-rf", "a.c", "ab c", "out t", "src/x.c", "src/-y", "src/z z", "src/y.c", "src/a;b"}) {
      restore(work_ / file);
    }
    std::ofstream{record_path()};
    initial_ = files();
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& work() const { return work_; }

  // Runs the line; false where the shell did not end.
  bool run(const Shell& shell, const std::string& line) {
    fs::resize_file(record_path(), 0);
    is_wide_ = !is_wide_;
    std::vector<std::string> words = shell.words;
    words.push_back(line);
    std::vector<std::string> variables{"PATH=" + (root_ / "bin").string(),
                                       "HOME=" + (root_ / "a/home").string(),
                                       "ERRAND_RECORD=" + record_path().string(),
                                       is_wide_ ? "LC_CTYPE=C.UTF-8" : "LC_CTYPE=C"};
    std::vector<char*> arguments = pointers(words);
    std::vector<char*> environment = pointers(variables);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, work_.c_str());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t child = -1;
    const int error = posix_spawn(
        &child, shell.program, &actions, &attributes, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      throw std::runtime_error(std::string(shell.program) + " cannot be started");
    }
    return wait_for(child);
  }

  std::vector<Execution> executions() const {
    std::ifstream file(record_path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<Execution> all;
    std::size_t at = 0;
    const auto next = [&] {
      const std::size_t end = bytes.find('\0', at);
      return bytes.substr(std::exchange(at, end + 1), end - at);
    };
    while (at < bytes.size()) {
      const int words = std::stoi(next());
      const int variables = std::stoi(next());
      Execution one{.folder = next(), .words = {}, .variables = {}};
      std::generate_n(std::back_inserter(one.words), words, next);
      std::generate_n(std::back_inserter(one.variables), variables, next);
      all.push_back(std::move(one));
    }
    return all;
  }

  // Files that are new or not as they were, which then are as at the beginning.
  std::vector<std::string> take_changes() {
    std::vector<std::string> changes;
    const auto now = files();
    for (const auto& [path, size] : now) {
      const auto before = initial_.find(path);
      if (before == initial_.end() || before->second != size) {
        changes.push_back(fs::path(path).lexically_relative(work_).string());
        fs::remove_all(path);
        if (before != initial_.end()) {
          restore(path);
        }
      }
    }
    for (const auto& [path, size] : initial_) {
      if (!now.contains(path)) {
        throw std::runtime_error(path + " is gone");
      }
    }
    return changes;
  }

 private:
  // A recorder that a line may overwrite, or a file with a line in it.
  void restore(const fs::path& path) const {
    if (path.filename() == "run") {
      fs::copy_file(root_ / "recorder", path, fs::copy_options::overwrite_existing);
    } else {
      std::ofstream(path) << "x\n";
    }
  }

  fs::path record_path() const { return root_ / "record"; }

  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> all;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_ / "a")) {
      all[entry.path().string()] =
          entry.is_regular_file() && !entry.is_symlink() ? entry.file_size() : 0;
    }
    return all;
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) {
      all.push_back(text.data());
    }
    all.push_back(nullptr);
    return all;
  }

  static bool wait_for(pid_t child) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    pollfd waits{.fd = handle, .events = POLLIN, .revents = 0};
    const bool ended = handle >= 0 && poll(&waits, 1, k_patience_ms) == 1;
    close(handle);
    if (!ended) {
      kill(-child, SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return ended;
  }

  bool is_wide_ = false;  // bytes or UTF-8, by turns
  fs::path root_;
  fs::path work_;
  std::map<std::string, std::uintmax_t> initial_;
};

// ---- what was judged ----

std::string pattern_of(std::string word) {
  std::ranges::replace(word, tools::k_unknown_name, tools::k_any_text);
  return word;
}

// A word with wildcards stands for one word or more, none of which is an option.
bool is_run_of(std::span<const std::string> judged, std::span<const std::string> words) {
  if (judged.empty()) {
    return words.empty();
  }
  if (words.empty()) {
    return false;
  }
  if (!judged[0].contains(tools::k_unknown_name)) {
    return judged[0] == words[0] && is_run_of(judged.subspan(1), words.subspan(1));
  }
  const std::string pattern = pattern_of(judged[0]);
  for (std::size_t count = 1; count <= words.size(); ++count) {
    const std::string& word = words[count - 1];
    if (word.starts_with('-') || !tools::matches_items(pattern, word)) {
      return false;
    }
    if (is_run_of(judged.subspan(1), words.subspan(count))) {
      return true;
    }
  }
  return false;
}

bool has_cd(const Line& line) {
  return std::ranges::any_of(line, [](const PlainCommand& command) {
    return std::ranges::any_of(command.starts,
                               [&](std::size_t at) { return command.words[at] == "cd"; });
  });
}

bool is_usual(const std::string& variable) {
  return std::ranges::any_of(
      std::to_array<std::string_view>(
          {"PATH=", "HOME=", "ERRAND_RECORD=", "PWD=", "OLDPWD=", "SHLVL=", "_=", "LC_CTYPE=C"}),
      [&](std::string_view start) { return variable.starts_with(start); });
}

bool is_run_of(const PlainCommand& command, const Execution& execution) {
  const auto& assignments = command.assignments;
  return std::ranges::all_of(execution.variables,
                             [&](const std::string& variable) {
                               return is_usual(variable) ||
                                      std::ranges::find(assignments, variable) != assignments.end();
                             }) &&
         std::ranges::any_of(command.starts, [&](std::size_t at) {
           return is_run_of(std::span(command.words).subspan(at), execution.words);
         });
}

// A program that ran and that nothing in the line stands for; each command of it stands for one.
std::optional<std::string> unjudged(const Line& line,
                                    const std::vector<Execution>& executions,
                                    const fs::path& work) {
  std::vector<std::size_t> run_by(line.size(), executions.size());
  const auto shown = [](const Execution& execution) {
    std::string text = "ran, in " + execution.folder + ":";
    for (const std::string& word : execution.words) {
      text += " <" + word + ">";
    }
    return text;
  };
  for (std::size_t at = 0; at < executions.size(); ++at) {
    const std::string& folder = executions[at].folder;
    if (folder != work && !(has_cd(line) && folder.starts_with(work.string() + "/"))) {
      return shown(executions[at]);
    }
    std::vector<bool> seen(line.size(), false);
    const std::function<bool(std::size_t)> find_command = [&](std::size_t one) {
      for (std::size_t command = 0; command < line.size(); ++command) {
        if (!seen[command] && is_run_of(line[command], executions[one])) {
          seen[command] = true;
          if (run_by[command] == executions.size() || find_command(run_by[command])) {
            run_by[command] = one;
            return true;
          }
        }
      }
      return false;
    };
    if (!find_command(at)) {
      return shown(executions[at]);
    }
  }
  return {};
}

std::optional<std::string> unjudged_file(const Line& line,
                                         const std::vector<std::string>& changes) {
  for (const std::string& path : changes) {
    const bool is_judged = std::ranges::any_of(line, [&](const PlainCommand& command) {
      return std::ranges::any_of(command.files, [&](const tools::ShellFile& file) {
        return file.writes && fs::path(file.path).lexically_normal() == path;
      });
    });
    if (!is_judged) {
      return "wrote " + path;
    }
  }
  return {};
}

// ---- the run ----

std::string escaped(std::string_view line) {
  std::string text;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    char code[8];
    std::snprintf(code, sizeof(code), "\\x%02x", byte);
    text += byte < 0x20 || byte == 0x7f || c == '\\' ? std::string(code) : std::string(1, c);
  }
  return text;
}

struct Counts {
  std::uint64_t made = 0;
  std::uint64_t plain = 0;
  std::uint64_t runs = 0;
  std::uint64_t programs = 0;
  int finds = 0;
};

// Outside of the folder nothing is written, whatever was judged.
bool stays_here(const Line& line) {
  return std::ranges::all_of(line, [](const PlainCommand& command) {
    return std::ranges::all_of(command.files, [](const tools::ShellFile& file) {
      return !file.path.starts_with('/') || file.path == "/dev/null";
    });
  });
}

void check(const std::string& text, Scratch& scratch, Counts& counts) {
  const auto line = tools::read_plain(text);
  if (!line || !stays_here(*line)) {
    return;
  }
  ++counts.plain;
  for (const Shell& shell : k_shells) {
    const bool ended = scratch.run(shell, text);
    const std::vector<Execution> executions = scratch.executions();
    ++counts.runs;
    counts.programs += executions.size();
    std::optional<std::string> find = unjudged(*line, executions, scratch.work());
    const std::optional<std::string> file = unjudged_file(*line, scratch.take_changes());
    find = find ? find : file;
    if (!ended && !find) {
      find = "did not end";
    }
    if (find) {
      ++counts.finds;
      std::printf("not judged: %s\n  %s (%s) %s\n",
                  escaped(text).c_str(),
                  shell.program,
                  shell.words[1].c_str(),
                  escaped(*find).c_str());
      std::fflush(stdout);
    }
  }
}

// Every keyword and command of its own that bash knows is refused, but for those that leave the
// shell as it is, or end it.
void check_names(Counts& counts) {
  constexpr auto k_harmless = std::to_array<std::string_view>({"!",
                                                               ":",
                                                               "[",
                                                               "cd",
                                                               "command",
                                                               "echo",
                                                               "exit",
                                                               "false",
                                                               "kill",
                                                               "printf",
                                                               "pwd",
                                                               "test",
                                                               "time",
                                                               "true"});
  FILE* names = popen("exec bash -c 'compgen -b -k'", "r");
  if (names == nullptr) {
    throw std::runtime_error("bash cannot be started");
  }
  char buffer[256];
  int known = 0;
  while (std::fgets(buffer, sizeof(buffer), names) != nullptr) {
    const std::string name(buffer, std::string_view(buffer).find('\n'));
    const bool is_harmless = std::ranges::find(k_harmless, name) != k_harmless.end();
    if (!is_harmless && tools::read_plain(name + " x")) {
      std::printf("not refused: %s\n", name.c_str());
      ++counts.finds;
    }
    ++known;
  }
  if (pclose(names) != 0 || known < 60) {
    throw std::runtime_error("bash does not tell its commands");
  }
}

int run(std::span<char*> arguments) {
  std::uint64_t seed = 1;
  int seconds = 20;
  std::optional<std::string> only;
  for (std::size_t at = 2; at + 1 < arguments.size(); at += 2) {
    const std::string_view option = arguments[at];
    if (option == "--seed") {
      seed = std::stoull(arguments[at + 1]);
    } else if (option == "--seconds") {
      seconds = std::stoi(arguments[at + 1]);
    } else if (option == "--line") {
      only = arguments[at + 1];
    } else {
      throw std::invalid_argument("there is no option " + std::string(option));
    }
  }
  Scratch scratch(arguments[1]);
  Counts counts;
  if (only) {
    check(*only, scratch, counts);
    std::printf("%s, %llu programs ran\n",
                counts.plain == 0 ? "not plain" : "plain",
                static_cast<unsigned long long>(counts.programs));
    return counts.finds == 0 ? 0 : 1;
  }
  check_names(counts);
  Generator generator(seed);
  std::unordered_set<std::string> seen;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end && counts.finds < k_most_finds) {
    ++counts.made;
    std::string line = generator.line();
    if (line.contains('\0') || !seen.insert(line).second) {
      continue;
    }
    if (seen.size() > 1'000'000) {
      seen.clear();
    }
    check(line, scratch, counts);
  }
  std::printf("%llu lines, %llu of them plain, %llu runs in shells, %llu programs\n",
              static_cast<unsigned long long>(counts.made),
              static_cast<unsigned long long>(counts.plain),
              static_cast<unsigned long long>(counts.runs),
              static_cast<unsigned long long>(counts.programs));
  // A generator that makes nothing which runs proves nothing.
  const bool is_meant = counts.plain > 0 && counts.programs > counts.runs / 2;
  const int failed = counts.finds + (is_meant ? 0 : 1);
  std::printf("%d passed, %d failed, 0 skipped\n", failed == 0 ? 1 : 0, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: shell_differential RECORDER [--seconds N] [--seed N] [--line TEXT]\n");
    return 2;
  }
  try {
    return run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "shell_differential: %s\n", failure.what());
    return 1;
  }
}

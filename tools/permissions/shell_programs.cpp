#include "tools/permissions/shell_programs.h"

#include "tools/permissions/program_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace tools {
namespace {

using How = Start::How;
using Words = std::vector<std::string>;

constexpr std::size_t k_most_readings = 64;  // of one command line
constexpr std::string_view k_git_dash = "git-";

// A program that runs the rest of its arguments.
struct Wrapper {
  std::string_view name;
  std::string_view with_value;  // the letters of options that take one
  std::size_t operands = 0;     // in front of the command
  bool is_plain = false;        // without options it changes nothing about what the command does
};
constexpr auto k_wrappers = std::to_array<Wrapper>({
    {"env", "uC"},
    {"sudo", "ugpChrtTUDR"},
    {"doas", "uC"},
    {"su", "gGsw"},
    {"runuser", "ugGsw"},
    {"pkexec", ""},
    {"timeout", "ks", 1, true},
    {"nice", "n", 0, true},
    {"nohup", "", 0, true},
    {"time", "fo", 0, true},
    {"command", "", 0, true},
    {"builtin", "", 0, true},
    {"exec", "a", 0, true},
    {"setsid", "", 0, true},
    {"stdbuf", "ioe", 0, true},
    {"ionice", "cnpPu", 0, true},
    {"chrt", "TPD", 1},
    {"taskset", "", 1},
    {"xargs", "aEILnPsd"},
    {"parallel", "jaNIS"},
    {"watch", "nq"},
    {"strace", "aeEIoOpPsSuUX"},
    {"ltrace", "aeEIlnopsuxX"},
    {"valgrind", ""},
    {"perf", "eo", 1},
    {"busybox", ""},
    {"toybox", ""},
    {"chroot", "", 1},
    {"flock", "wE", 1},
    {"unshare", "GSR"},
    {"nsenter", "tGS"},
    {"setpriv", ""},
    {"capsh", ""},
    {"systemd-run", "pEuH"},
    {"script", "cIOBTmo"},
    {"ssh", "bcDEeFIiJLlmOopQRSWw", 1},
    {"npx", "pc"},
    {"fakeroot", "lisb"},
    {"catchsegv", ""},
    {"unbuffer", ""},
    {"dbus-run-session", ""},
    {"start-stop-daemon", "xpungsRNIPkdrv"},
});

constexpr auto k_shells = std::to_array<std::string_view>({"sh",
                                                           "bash",
                                                           "dash",
                                                           "ash",
                                                           "zsh",
                                                           "ksh",
                                                           "mksh",
                                                           "yash",
                                                           "posh",
                                                           "rbash",
                                                           "fish",
                                                           "csh",
                                                           "tcsh"});

// A program that takes a program in a language of its own: in its options, or from stdin.
struct Interpreter {
  std::string_view name;       // without a version
  std::string_view letters;    // of options whose value is code
  std::string_view words;      // the same, long, separated by blanks
  std::string_view asks = {};  // letters with which it reads more behind its script, from stdin
};
constexpr std::string_view k_of_node =
    "--eval --print --require --import --loader --experimental-loader";
constexpr auto k_interpreters = std::to_array<Interpreter>({
    {"python", "c", "", "i"},
    {"pypy", "c", "", "i"},
    {"perl", "eE", ""},
    {"ruby", "e", ""},
    {"node", "epr", k_of_node, "i"},
    {"nodejs", "epr", k_of_node, "i"},
    {"bun", "ep", "--eval --print"},
    {"deno", "", "eval"},
    {"php", "rBRE", "--run"},
    {"lua", "e", "", "i"},
    {"luajit", "e", "", "i"},
    {"tclsh", "", ""},
    {"expect", "c", ""},
    {"Rscript", "e", ""},
    {"guile", "c", ""},
    {"osascript", "e", ""},
    {"ts-node", "ep", k_of_node},
    {"tsx", "ep", k_of_node},
    {"ipython", "c", ""},
    {"R", "e", ""},
    {"julia", "eE", "--eval --print"},
    {"octave", "", "--eval"},
    {"elixir", "e", "--eval"},
    {"erl", "", "-eval -s -run"},
    {"groovy", "e", ""},
    {"scala", "e", ""},
    {"clojure", "e", "--eval"},
    {"sbcl", "", "--eval --load"},
    {"racket", "e", "--eval"},
    {"ghc", "e", ""},
    {"pwsh", "c", "-Command -c -EncodedCommand -e"},
    {"powershell", "c", "-Command -c -EncodedCommand -e"},
    {"xonsh", "c", ""},
    {"elvish", "c", ""},
    {"nu", "c", "--commands"},
});
// Modules of Python that run code which they are told, or read.
constexpr auto k_code_modules = std::to_array<std::string_view>({"IPython",
                                                                 "bdb",
                                                                 "cProfile",
                                                                 "code",
                                                                 "doctest",
                                                                 "pdb",
                                                                 "profile",
                                                                 "runpy",
                                                                 "timeit",
                                                                 "trace"});

// Options, or commands, by which a program that is none of the above runs code all the same.
struct CodeOption {
  std::string_view name;
  std::string_view words;  // separated by blanks; "x=" is a beginning, a lone "*" any argument
  // getopt's ways: `--to-com` for `--to-command`, a letter among others, its value in the same word
  bool is_abbreviated = false;
};
constexpr auto k_code_options = std::to_array<CodeOption>({
    {"alias", "*"},
    {"at", "*"},
    {"batch", "*"},
    {"crontab", "*"},
    {"dc", "*"},
    {"ed", "*"},
    {"emacs", "--eval -eval --batch -f --load -l"},
    {"enable", "*"},
    {"entr", "*"},
    {"ex", "*"},
    {"fd", "-x -X --exec= --exec-batch=", true},
    {"fdfind", "-x -X --exec= --exec-batch=", true},
    {"gdb", "*"},
    {"git", "-c --config-env --config-env= --exec-path= --upload-pack= --receive-pack="},
    {"gnuplot", "*"},
    {"hash", "-p"},
    {"make", "SHELL= --eval --eval="},
    {"m4", "*"},
    {"mariadb", "*"},
    {"man", "-P --pager --pager= -H", true},
    {"mysql", "*"},
    {"nvim", "*"},
    {"rsync", "-e --rsh --rsh= --rsync-path=", true},
    {"rvim", "*"},
    {"screen", "*"},
    {"socat", "*"},
    {"sort", "--compress-program=", true},
    {"split", "--filter=", true},
    {"sqlite3", "*"},
    {"psql", "*"},
    {"rg", "--pre= --hostname-bin=", true},
    {"tar",
     "--to-command --to-command= --checkpoint-action --checkpoint-action= -I "
     "--use-compress-program --use-compress-program= --rsh-command= -F --info-script=",
     true},
    {"tmux", "*"},
    {"vi", "*"},
    {"view", "*"},
    {"vim", "*"},
    {"vimdiff", "*"},
    {"zip", "-TT --unzip-command"},
});

template <typename Row, std::size_t count>
const Row* find_row(const std::array<Row, count>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

// "A=b"
bool is_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(word.substr(0, equals), [](char c) {
           return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z');
         });
}

// What a pipe or a descriptor brings.
bool is_known_input(std::string_view word) {
  const std::string path = std::filesystem::path(word).lexically_normal();
  return word == "-" || path.starts_with("/dev/std") || path.starts_with("/dev/fd") ||
         path.starts_with("/proc/");
}

// A file that is no script of its own.
bool is_input(std::string_view word) {
  const std::string path = std::filesystem::path(word).lexically_normal();
  return is_known_input(word) || path.starts_with("/dev/") || word.contains(k_unknown);
}

// Programs to which their input is data, wherever a word names it; beside those that only show
// data.
constexpr auto k_data_readers = std::to_array<std::string_view>(
    {"base32", "base64", "bzip2", "column", "git", "gunzip", "gzip",
     "iconv",  "less",   "more",  "patch",  "pr",  "sort",   "tar",
     "tee",    "uniq",   "xz",    "xzcat",  "yes", "zcat",   "zstd"});

// An option's value that stands with it in one word: `-f-`, `--file=/dev/stdin`.
bool names_input(std::string_view word) {
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    return equals != std::string_view::npos && is_known_input(word.substr(equals + 1));
  }
  const std::size_t value =
      word.size() > 1 && word.starts_with('-') ? word.find_first_of("-/", 1) : 0;
  return value != std::string_view::npos && is_known_input(word.substr(value));
}

// "python" of "/usr/bin/python3.11".
std::string_view without_version(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789.");
  return last == std::string_view::npos ? name : name.substr(0, last + 1);
}

bool is_in(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view one = list.substr(0, end);
    if (one == "*" || one == word || (one.ends_with('=') && word.starts_with(one))) {
      return true;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Whether getopt may take the word for one of these options.
bool may_be_in(std::string_view list, std::string_view word) {
  const bool is_long = word.starts_with("--");
  const std::string_view name = word.substr(0, word.find('='));
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view one = list.substr(0, end);
    const bool is_letter = one.size() == 2;
    if (is_letter ? is_option(word) && !is_long && word.contains(one[1])
                  : is_long && word.size() > 2 && one.starts_with(name)) {
      return true;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

class Reading {
 public:
  explicit Reading(const ShellCommand& command) : command_(command), words_(command.words) {}

  Started read() {
    const std::string_view name = base_name(words_.front());
    if (name.starts_with(k_git_dash) && name.size() > k_git_dash.size()) {
      read_git_program(name.substr(k_git_dash.size()));
    } else if (is_shell(name)) {
      read_shell_program();
    } else if (name == "eval") {
      read_text(joined(operand()), How::runs);
      started_.is_wrapper = true;
    } else if (name == "trap" && words_.size() > operand()) {
      read_text(words_[operand()], How::runs);
    } else if ((name == "." || name == "source") && words_.size() > operand()) {
      if (is_input(words_[operand()])) {
        unclear("reads its commands from elsewhere");
      }
      add({words_.begin() + static_cast<std::ptrdiff_t>(operand()), words_.end()}, How::runs);
    } else if (name == "sed") {
      if (coverage_of(words_).has_unknown) {
        unclear("has a program that may run others");
      }
      read_inputs();
    } else if (name == "find") {
      read_find();
    } else if (name.ends_with("awk")) {
      read_awk();
      read_inputs();
    } else if (const Interpreter* row = find_row(k_interpreters, without_version(name))) {
      read_interpreter(*row);
    } else if (const Wrapper* wrapper = find_row(k_wrappers, name)) {
      read_wrapper(*wrapper);
    } else if (name.starts_with("ld-linux") || name.starts_with("ld.so")) {
      read_wrapper({.name = name, .with_value = {}});
    } else if (const CodeOption* code = find_row(k_code_options, name)) {
      read_code_options(*code);
      read_inputs();
    } else {
      read_inputs();
    }
    return std::move(started_);
  }

 private:
  std::size_t operand() const { return words_.size() > 1 && words_[1] == "--" ? 2 : 1; }

  std::string joined(std::size_t from) const {
    return from < words_.size()
               ? fmt::format(
                     "{}",
                     fmt::join(
                         words_.begin() + static_cast<std::ptrdiff_t>(from), words_.end(), " "))
               : std::string();
  }

  void unclear(std::string_view why) {
    started_.unclear.push_back(fmt::format("{} {}", base_name(words_.front()), why));
  }

  void add(Words words, How how) {
    if (started_.starts.size() == k_most_readings) {
      unclear("can be read in too many ways");
    } else if (started_.starts.size() < k_most_readings && !words.empty()) {
      started_.starts.push_back(
          {.command = {.words = std::move(words), .inputs = command_.inputs}, .how = how});
    }
  }

  void read_text(const std::string& text, How how) {
    if (has_unknown(text)) {
      unclear("runs a text that is only known when it runs");
    }
    ShellScript script = read_shell(text);
    if (how == How::runs) {
      started_.unclear.insert(started_.unclear.end(), script.unclear.begin(), script.unclear.end());
    }
    for (ShellCommand& command : script.commands) {
      started_.starts.push_back({.command = std::move(command), .how = how});
    }
  }

  // The first word behind the options; `with_value` are letters of those that take one.
  std::size_t skip_options(std::string_view with_value) {
    std::size_t at = 1;
    while (at < words_.size() && words_[at].starts_with('-')) {
      const std::string& word = words_[at++];
      if (word == "--") {
        break;
      }
      const std::size_t letter =
          word.starts_with("--") ? std::string::npos : word.find_first_of(with_value, 1);
      if (letter + 1 == word.size()) {
        ++at;
      }
      has_other_options_ = has_other_options_ || letter != 1;
    }
    return std::min(at, words_.size());
  }

  void read_wrapper(const Wrapper& row) {
    std::size_t at = skip_options(row.with_value);
    const std::size_t before = at;
    while (at < words_.size() && is_setting(words_[at])) {
      ++at;  // `env A=b`
    }
    const bool sets = at != before;
    if (row.name == "command" && words_.size() > 1 && (words_[1] == "-v" || words_[1] == "-V")) {
      return;  // it only looks
    }
    at = std::min(at + row.operands, words_.size());
    Words inner(words_.begin() + static_cast<std::ptrdiff_t>(at), words_.end());
    if (has_unknown_option(row, inner)) {
      unclear("has an option that may be a command");
    }
    if (!inner.empty() && (row.name == "xargs" || row.name == "parallel")) {
      fill_in(inner, placeholder());
      inner.emplace_back(1, k_unknown);
    }
    started_.is_wrapper =
        (row.is_plain || row.name == "xargs" || row.name == "env") && !sets && !inner.empty();
    add(std::move(inner), How::runs);
    for (std::size_t other = 1; other < words_.size(); ++other) {
      if (words_[other].find_first_of(" \t\n;|&") != std::string::npos) {
        read_text(words_[other], How::may_run);  // su -c, watch, flock -c
      } else if (has_other_options_ && other != at && !is_option(words_[other])) {
        add({words_.begin() + static_cast<std::ptrdiff_t>(other), words_.end()}, How::may_run);
      }
    }
  }

  // Some of these read options behind their operands, too.
  bool has_unknown_option(const Wrapper& row, const Words& inner) const {
    constexpr auto k_anywhere =
        std::to_array<std::string_view>({"su", "runuser", "script", "start-stop-daemon"});
    const Coverage coverage = coverage_of(words_);
    const bool has_first = words_.size() > 1 && is_option(words_[1]);
    const bool is_anywhere = std::ranges::find(k_anywhere, row.name) != k_anywhere.end();
    return (coverage.is_listed ? coverage.has_unknown : has_first) ||
           (!inner.empty() && (is_option(inner.front()) || inner.front().starts_with(":::"))) ||
           (row.name == "parallel" && inner.empty()) ||
           (is_anywhere && std::any_of(words_.begin() + 1, words_.end(), is_option));
  }

  void read_shell_program() {
    bool is_command = false;
    bool is_fed = false;  // `-s`: what stands behind are its arguments
    std::size_t at = 1;
    for (; at < words_.size(); ++at) {
      const std::string& word = words_[at];
      if (word == "--" || word == "-") {
        ++at;
        break;
      }
      if (!is_option(word) && !word.starts_with('+')) {
        break;
      }
      is_command = is_command || (!word.starts_with("--") && word.contains('c'));
      is_fed = is_fed || (!word.starts_with("--") && word.contains('s'));
      if (word.ends_with("o") || word.ends_with("O") || word == "--rcfile" ||
          word == "--init-file") {
        ++at;
      }
    }
    if (at < words_.size() && (has_unknown(words_[at]) || is_input(words_[at])) && !is_command) {
      unclear("reads a program that is only known when it runs");
    }
    if (is_fed) {
      unclear("reads its commands from elsewhere");
    }
    if (is_command) {
      started_.is_wrapper = at < words_.size();
      if (at < words_.size()) {
        read_text(words_[at], How::runs);
      }
    } else if (at < words_.size()) {
      add({words_.begin() + static_cast<std::ptrdiff_t>(at), words_.end()}, How::runs);
    } else if (!command_.inputs.empty()) {
      started_.is_wrapper = true;
      for (const std::string& input : command_.inputs) {
        read_text(input, How::runs);
      }
    } else {
      unclear("reads its commands from elsewhere");
    }
  }

  void read_find() {
    for (std::size_t at = 1; at < words_.size(); ++at) {
      const std::string& word = words_[at];
      if (word == "-delete") {
        started_.starts.push_back({.command = {.words = {"rm", std::string(1, k_unknown)}}});
      }
      if (word != "-exec" && word != "-execdir" && word != "-ok" && word != "-okdir") {
        continue;
      }
      Words inner;
      for (++at; at < words_.size() && words_[at] != ";" &&
                 !(words_[at] == "+" && words_[at - 1] == "{}");
           ++at) {
        inner.push_back(words_[at]);
      }
      fill_in(inner, "{}");
      add(std::move(inner), How::runs);
    }
  }

  // What xargs puts its input in the place of: `-I {}`, `-i`, `--replace=X`.
  std::string placeholder() const {
    for (std::size_t at = 1; at + 1 < words_.size() && is_option(words_[at]); ++at) {
      const std::string_view word = words_[at];
      if (word == "-I") {
        return words_[at + 1];
      }
      for (const std::string_view option : {"-I", "-i", "--replace="}) {
        if (word.starts_with(option) && word.size() > option.size()) {
          return std::string(word.substr(option.size()));
        }
      }
    }
    return "{}";
  }

  static void fill_in(Words& words, std::string_view place) {
    if (place.empty()) {
      return;
    }
    for (std::string& word : words) {
      for (std::size_t at = word.find(place); at != std::string::npos;
           at = word.find(place, at + 1)) {
        word.replace(at, place.size(), 1, k_unknown);
      }
    }
  }

  void read_awk() {
    constexpr std::array<std::string_view, 4> k_effects = {"system", "|", "getline", ">"};
    for (std::size_t at = 1; at < words_.size(); ++at) {
      const std::string& word = words_[at];
      const bool acts =
          std::ranges::any_of(k_effects, [&](auto part) { return word.contains(part); });
      if (acts || has_unknown(word)) {
        unclear("has a program that may run others");
        return;
      }
    }
  }

  void read_interpreter(const Interpreter& row) {
    std::size_t at = 1;
    for (; at < words_.size() && (is_option(words_[at]) || is_in(row.words, words_[at])); ++at) {
      const std::string& word = words_[at];
      const bool is_long = word.starts_with("--") || !is_option(word);
      const bool has_code = is_in(row.words, word.substr(0, word.find('='))) ||
                            (!is_long && word.find_first_of(row.letters, 1) != std::string::npos);
      if (!is_long && word.find_first_of(row.asks, 1) != std::string::npos) {
        unclear("reads its program from elsewhere");
      }
      const bool is_module = word == "-m" && at + 1 < words_.size();
      const bool is_of_code =
          is_module && std::ranges::find(k_code_modules, words_[at + 1]) != k_code_modules.end();
      if (has_code || word == "-m") {
        if (has_code || is_of_code) {
          unclear("runs code that no rule can read");
        }
        return;
      }
    }
    if (at == words_.size() || is_input(words_[at])) {
      unclear("reads its program from elsewhere");
    } else {
      add({words_.begin() + static_cast<std::ptrdiff_t>(at), words_.end()}, How::runs);
    }
  }

  // `git-push`, wherever it is, is `git push`.
  void read_git_program(std::string_view command) {
    Words words{"git", std::string(command)};
    words.insert(words.end(), words_.begin() + 1, words_.end());
    add(std::move(words), How::runs);
    started_.is_wrapper = true;
  }

  // What a pipe brings may be a program, for all that is known of this one.
  void read_inputs() {
    const std::string_view name = base_name(words_.front());
    if (!is_plain_program(name) &&
        std::ranges::find(k_data_readers, name) == k_data_readers.end() &&
        std::any_of(words_.begin() + 1, words_.end(), names_input)) {
      unclear("reads from elsewhere what may be a program");
    }
  }

  void read_code_options(const CodeOption& row) {
    const auto is_code = [&](const std::string& word) {
      return is_in(row.words, word) || (row.is_abbreviated && may_be_in(row.words, word));
    };
    if (row.words == "*" || std::any_of(words_.begin() + 1, words_.end(), is_code)) {
      unclear("runs code that no rule can read");
    }
  }

  const ShellCommand& command_;
  const Words& words_;
  Started started_;
  bool has_other_options_ = false;  // than those whose values are known to be theirs
};

}  // namespace

std::string_view base_name(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string_view::npos ? program : program.substr(slash + 1);
}

bool is_shell(std::string_view program) {
  return std::ranges::find(k_shells, without_version(program)) != k_shells.end();
}

bool runs_its_first_word(std::string_view program) {
  constexpr auto k_have_commands = std::to_array<std::string_view>({"bun", "deno", "erl", "ghc"});
  const bool has_commands =
      std::ranges::find(k_have_commands, without_version(program)) != k_have_commands.end();
  return is_interpreter(program) && !has_commands;
}

bool is_interpreter(std::string_view program) {
  return is_shell(program) || find_row(k_interpreters, without_version(program)) != nullptr;
}

Started started_by(const ShellCommand& command) {
  return command.words.empty() ? Started{} : Reading(command).read();
}

}  // namespace tools

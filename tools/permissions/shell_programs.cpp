#include "tools/permissions/shell_programs.h"

#include "tools/permissions/interpreter_options.h"
#include "tools/permissions/known_programs.h"
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

// A file that is no script of its own.
bool is_input(std::string_view word) {
  const std::string path = std::filesystem::path(word).lexically_normal();
  return is_known_input(word) || path.starts_with("/dev/") || word.contains(k_unknown);
}

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

// Whether these are options of the interpreter that are known to be no code.
bool are_known_options(const Interpreter& interpreter, std::string_view text) {
  constexpr std::string_view k_blanks = " \t\n";
  Words words{std::string(interpreter.name)};
  while (!(text = text.substr(std::min(text.find_first_not_of(k_blanks), text.size()))).empty()) {
    words.emplace_back(text.substr(0, text.find_first_of(k_blanks)));
    text.remove_prefix(words.back().size());
  }
  const ToldProgram told = told_program(interpreter, words);
  return told.at >= words.size() && !told.reads_more &&
         (told.what == ToldProgram::What::input || told.what == ToldProgram::What::nothing);
}

bool may_hold_code(const CodeVariable& variable, std::string_view value) {
  const Interpreter* const interpreter = find_interpreter(variable.options_of);
  const bool is_harmless =
      value.empty() || is_in(variable.harmless, value) ||
      (variable.may_be_name && !value.contains('/') && is_setting(fmt::format("{}=", value))) ||
      (interpreter != nullptr && are_known_options(*interpreter, value));
  return !is_harmless;
}

// The variable that it sets, or takes from elsewhere, and from which a program may take code.
std::string_view code_variable_of(const ShellCommand& command) {
  constexpr auto k_setters = std::to_array<std::string_view>({"declare",
                                                              "export",
                                                              "getopts",
                                                              "local",
                                                              "mapfile",
                                                              "printf",
                                                              "read",
                                                              "readarray",
                                                              "readonly",
                                                              "typeset"});
  const auto is_set_to_code = [](std::string_view word) {
    const std::size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    name.remove_suffix(name.ends_with('+') ? 1 : 0);
    const CodeVariable* row = equals == std::string_view::npos ? nullptr : find_code_variable(name);
    return row != nullptr && may_hold_code(*row, word.substr(equals + 1));
  };
  const auto is_taken = [](std::string_view word) {  // `read PERL5OPT`
    const CodeVariable* row = find_code_variable(word);
    return row != nullptr && !row->may_be_name;
  };
  const auto name_of = [](std::string_view word) {
    return word.substr(0, word.find_first_of("+="));
  };
  for (const std::string& word : command.assignments) {
    if (is_set_to_code(word)) {
      return name_of(word);
    }
  }
  if (command.words.empty() || coverage_of(command.words).is_data) {
    return {};
  }
  const bool is_setter = std::ranges::find(k_setters, command.words.front()) != k_setters.end();
  for (const std::string& word : command.words) {
    if (is_set_to_code(word) || (is_setter && is_taken(word))) {
      return name_of(word);
    }
  }
  return {};
}

// `-eo pipefail`; what behind an o in the midst is its value, depends on the shell.
bool is_known_of_shell(std::string_view shell, std::string_view word) {
  constexpr auto k_words = std::to_array<std::string_view>({"--help",
                                                            "--init-file",
                                                            "--login",
                                                            "--no-config",
                                                            "--noediting",
                                                            "--noprofile",
                                                            "--norc",
                                                            "--posix",
                                                            "--rcfile",
                                                            "--restricted",
                                                            "--verbose",
                                                            "--version"});
  const bool is_fish = without_version(base_name(shell)) == "fish";
  const std::string_view letters = is_fish ? "cilnNPv" : "abcefhiklmnprsuvxBCEHPT";
  const std::size_t other = word.find_first_not_of(letters, 1);
  return word.starts_with("--")
             ? std::ranges::find(k_words, word) != k_words.end()
             : other == std::string_view::npos || (!is_fish && other + 1 == word.size() &&
                                                   std::string_view("oO").contains(word[other]));
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
      read_unknown();
    } else if (name == "find") {
      read_find();
    } else if (name.ends_with("awk")) {
      read_awk();
      read_unknown();
    } else if (const Interpreter* row = find_interpreter(name)) {
      read_interpreter(*row);
    } else if (const Runner* runner = find_runner(name)) {
      read_runner(*runner);
    } else if (const Wrapper* wrapper = find_wrapper(name)) {
      read_wrapper(*wrapper);
    } else if (name.starts_with("ld-linux") || name.starts_with("ld.so")) {
      read_wrapper({.name = name, .with_value = {}});
    } else if (const CodeOption* code = find_code_option(name)) {
      read_code_options(*code);
      read_unknown();
    } else {
      read_unknown();
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
      started_.starts.push_back({.command = {.words = std::move(words),
                                             .inputs = command_.inputs,
                                             .is_behind_pipe = is_fed()},
                                 .how = how});
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
      command.is_behind_pipe = command.is_behind_pipe || is_fed();
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
    if (inner.empty() && is_fed() && starts_a_shell_alone(row.name)) {
      unclear("may start a shell, which runs what it reads");
    }
    if (!inner.empty() && (row.name == "xargs" || row.name == "parallel")) {
      for (const std::string& place : placeholders(at)) {
        fill_in(inner, place);
      }
      inner.emplace_back(1, k_unknown);
    }
    started_.is_wrapper =
        (row.is_plain || row.name == "xargs" || row.name == "env") && !sets && !inner.empty();
    add(std::move(inner), How::runs);
    for (std::size_t other = 1; other < words_.size(); ++other) {
      if (words_[other].find_first_of(" \t\n;|&") != std::string::npos) {
        read_text(value_in(words_[other]), How::may_run);  // su -c, watch, flock -c
      } else if (has_other_options_ && other != at && !is_option(words_[other])) {
        add({words_.begin() + static_cast<std::ptrdiff_t>(other), words_.end()}, How::may_run);
      }
    }
  }

  // "sh x" of `--command=sh x` and `-Ssh x`.
  static std::string value_in(const std::string& word) {
    const std::size_t equals = word.find('=');
    return !is_option(word)              ? word
           : !word.starts_with("--")     ? word.substr(2)
           : equals != std::string::npos ? word.substr(equals + 1)
                                         : word;
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
    if (coverage_of(words_).is_data) {
      return;  // it tells its version
    }
    const ToldShell told = told_shell(words_);
    const std::size_t at = told.at;
    if (!told.is_understood) {
      unclear("has an option that may be code");
    }
    if (at < words_.size() && (has_unknown(words_[at]) || is_input(words_[at])) && !told.has_line) {
      unclear("reads a program that is only known when it runs");
    }
    if (told.reads_input) {
      unclear("reads its commands from elsewhere");
    }
    if (told.has_line) {
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

  // What xargs puts its input in the place of: `-I {}`, `-i`, `--replace=X`, in front of `end`.
  Words placeholders(std::size_t end) const {
    Words places{"{}"};
    for (std::size_t at = 1; at < end; ++at) {
      const std::string_view word = words_[at];
      if (word == "-I" && at + 1 < end) {
        places.push_back(words_[at + 1]);
      }
      for (const std::string_view option : {"-I", "-i", "--replace="}) {
        if (word.starts_with(option) && word.size() > option.size()) {
          places.emplace_back(word.substr(option.size()));
        }
      }
    }
    return places;
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
    if (std::any_of(words_.begin() + 1, words_.end(), may_act_in_awk)) {
      unclear("has a program that may run others");
    }
  }

  // `NR > 1` compares, and `a || b` is no pipe.
  static bool may_act_in_awk(const std::string& word) {
    constexpr std::array<std::string_view, 4> k_effects = {"system", "|", "getline", "@"};
    std::string text = word;
    for (std::size_t at = text.find("||"); at != std::string::npos; at = text.find("||", at)) {
      text.replace(at, 2, "  ");
    }
    const std::size_t print = text.find("print");
    const bool writes = print != std::string::npos && text.find('>', print) != std::string::npos;
    return writes || has_unknown(word) ||
           std::ranges::any_of(k_effects, [&](auto part) { return text.contains(part); });
  }

  Words from(std::size_t at) const {
    return {words_.begin() + static_cast<std::ptrdiff_t>(std::min(at, words_.size())),
            words_.end()};
  }

  void read_interpreter(const Interpreter& row) {
    using Told = ToldProgram::What;
    if (coverage_of(words_).is_data) {
      return;  // it tells its version
    }
    const ToldProgram told = told_program(row, words_);
    const bool is_fed = told.reads_more || told.what == Told::input ||
                        (told.what == Told::script && is_input(words_[told.at])) ||
                        std::ranges::any_of(told.values, is_known_input);
    if (is_fed) {
      unclear("reads its program from elsewhere");
    } else if (told.what == Told::script) {
      add(from(told.at), How::runs);
    }
    const bool is_code = told.what == Told::script && words_[told.at].starts_with("data:");
    if (is_code || told.what == Told::code) {
      unclear("runs code that no rule can read");
    } else if (told.what == Told::unknown) {
      unclear("has an option that may be code");
    } else if (told.what == Told::module) {
      read_module(told.module, from(told.at));
    }
  }

  // It may have the name of a program that does the same: `python3 -m coverage run x`.
  void read_module(std::string_view module, Words rest) {
    const std::string_view package = module.substr(0, module.find('.'));
    if (is_code_module(package) || has_unknown(module)) {
      unclear("runs code that no rule can read");
    } else if (find_runner(package) != nullptr) {
      rest.emplace(rest.begin(), package);
      add(std::move(rest), How::runs);
    } else {
      read_unknown();
    }
  }

  // Whether all options from there on are known; it stops behind them, or at one that is not.
  bool skip_known(std::string_view options, std::size_t& at) const {
    while (at < words_.size() && is_option(words_[at])) {
      const std::string_view word = words_[at];
      const std::size_t equals = word.find('=');
      const bool has_value = equals != std::string_view::npos;
      const OptionKind kind = kind_in(options, word.substr(0, equals), has_value);
      if (word == "--") {
        ++at;
        return true;
      }
      if (kind == OptionKind::unknown || has_unknown(word)) {
        return false;
      }
      at += kind == OptionKind::with_value && !has_value ? 2 : 1;
    }
    return true;
  }

  void read_runner(const Runner& row) {
    const auto is_command = [&](std::string_view word) { return is_in(row.commands, word); };
    std::size_t at = 1;
    bool is_known = skip_known(row.options, at);
    if (!row.commands.empty()) {
      if (at < words_.size() && has_unknown(words_[at])) {
        unclear("has a command that is only known when it runs");
      }
      const bool has_command = is_known ? at < words_.size() && is_command(words_[at])
                                        : std::ranges::any_of(from(at), is_command);
      if (!has_command) {
        read_unknown();
        return;
      }
      is_known = is_known && skip_known(row.options, ++at);
    }
    if (row.is_behind_dashes) {
      const auto dashes = std::ranges::find(words_, "--");
      is_known = is_known && dashes != words_.end();
      at = static_cast<std::size_t>(dashes - words_.begin()) + 1;
    }
    const bool is_module = at < words_.size() && (words_[at] == "-m" || words_[at] == "--module");
    if (is_module) {
      Words inner = from(at + 1);
      inner.insert(inner.begin(), {"python", "-m"});
      add(std::move(inner), How::runs);
    } else if (!is_known) {
      unclear("has an option that may be a command");
    } else if (at + row.operands < words_.size()) {
      read_run(row, at + row.operands);
    }
    started_.is_wrapper = is_known || is_module;
  }

  void read_run(const Runner& row, std::size_t at) {
    Words inner = from(at);
    if (is_input(inner.front())) {
      unclear("reads its program from elsewhere");
    }
    if (row.starts.empty() && inner.front().contains(' ')) {
      read_text(joined(at), How::runs);  // some hand it to a shell
      return;
    }
    if (row.starts.empty()) {
      inner.front().erase(0, inner.front().rfind(':') + 1);  // `hatch run test:python`
    } else {
      // What Rails is told is a file of Ruby, or code.
      const bool is_code = row.starts == "ruby" && !inner.front().ends_with(".rb");
      inner.insert(inner.begin(), is_code ? 1 : 0, "-e");
      inner.emplace(inner.begin(), row.starts);
    }
    add(std::move(inner), How::runs);
  }

  // `git-push`, wherever it is, is `git push`.
  void read_git_program(std::string_view command) {
    Words words{"git", std::string(command)};
    words.insert(words.end(), words_.begin() + 1, words_.end());
    add(std::move(words), How::runs);
    started_.is_wrapper = true;
  }

  // For all that is known of this one, what a pipe brings may be a program, and what stands behind
  // its words one that it starts.
  void read_unknown() {
    const std::string_view name = base_name(words_.front());
    if (is_plain_program(name) || coverage_of(words_).is_data || reads_data(name)) {
      return;
    }
    if (std::any_of(words_.begin() + 1, words_.end(), names_input)) {
      unclear("reads from elsewhere what may be a program");
    }
    std::size_t interpreters = 0;
    for (std::size_t at = 1; at < words_.size() && interpreters < k_most_readings; ++at) {
      if (!is_interpreter(base_name(words_[at]))) {
        continue;
      }
      ++interpreters;
      if (is_told_code(at) || (is_fed() && is_told_no_script(at))) {
        const ShellCommand command{.words = from(at)};
        const Started inner = Reading(command).read();
        started_.unclear.insert(started_.unclear.end(), inner.unclear.begin(), inner.unclear.end());
        add(command.words, How::may_run);
      }
    }
  }

  static bool starts_a_shell_alone(std::string_view wrapper) {
    constexpr auto k_starters = std::to_array<std::string_view>({"chroot",
                                                                 "dbus-run-session",
                                                                 "doas",
                                                                 "fakeroot",
                                                                 "linux32",
                                                                 "linux64",
                                                                 "nsenter",
                                                                 "pkexec",
                                                                 "runuser",
                                                                 "script",
                                                                 "setarch",
                                                                 "ssh",
                                                                 "su",
                                                                 "sudo",
                                                                 "unshare"});
    return std::ranges::find(k_starters, wrapper) != k_starters.end();
  }

  // A pipe, a file or a text.
  bool is_fed() const {
    const auto is_read = [](const ShellFile& file) {
      return !file.writes && file.path != "/dev/null";
    };
    return command_.is_behind_pipe || !command_.inputs.empty() ||
           std::ranges::any_of(command_.files, is_read);
  }

  // `prlimit sh`, `foo python3 -u`
  bool is_told_no_script(std::size_t at) const {
    return std::all_of(
        words_.begin() + static_cast<std::ptrdiff_t>(at) + 1, words_.end(), is_option);
  }

  // Whether code stands behind an interpreter: `prlimit python3 -c …`.
  bool is_told_code(std::size_t at) const {
    const std::string_view name = base_name(words_[at]);
    const Interpreter* const row = find_interpreter(name);
    const std::string_view letters = row == nullptr ? "c" : row->letters;
    const auto is_code = [&](const std::string& word) {
      return (row != nullptr && is_in(row->words, word)) ||
             (is_option(word) && !word.starts_with("--") &&
              word.find_first_of(letters, 1) != std::string::npos);
    };
    return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at) + 1, words_.end(), is_code);
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

bool is_known_input(std::string_view word) {
  const std::string path = std::filesystem::path(word).lexically_normal();
  return word == "-" || path.starts_with("/dev/std") || path.starts_with("/dev/fd") ||
         path.starts_with("/proc/");
}

ToldShell told_shell(std::span<const std::string> words) {
  ToldShell told;
  for (std::size_t& at = told.at; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--" || word == "-") {
      ++at;
      break;
    }
    if (!is_option(word) && !word.starts_with('+')) {
      break;
    }
    const bool is_long = word.starts_with("--");
    told.has_line = told.has_line || (!is_long && word.contains('c'));
    told.reads_input = told.reads_input || (!is_long && word.contains('s'));
    told.is_understood = told.is_understood && is_known_of_shell(words.front(), word);
    if ((!is_long && (word.ends_with('o') || word.ends_with('O'))) || word == "--rcfile" ||
        word == "--init-file") {
      ++at;
    }
  }
  return told;
}

bool starts_the_rest(std::string_view program) {
  const Runner* runner = find_runner(program);
  return find_wrapper(program) != nullptr || (runner != nullptr && runner->commands.empty());
}

bool runs_its_first_word(std::string_view program) {
  constexpr auto k_have_commands = std::to_array<std::string_view>({"bun", "deno", "erl"});
  const bool has_commands =
      std::ranges::find(k_have_commands, without_version(program)) != k_have_commands.end();
  return is_interpreter(program) && !has_commands;
}

bool is_interpreter(std::string_view program) {
  return is_shell(program) || find_interpreter(program) != nullptr;
}

Started started_by(const ShellCommand& command) {
  Started started = command.words.empty() ? Started{} : Reading(command).read();
  if (const std::string_view variable = code_variable_of(command); !variable.empty()) {
    started.unclear.push_back(fmt::format("{} may hold code", variable));
  }
  return started;
}

}  // namespace tools

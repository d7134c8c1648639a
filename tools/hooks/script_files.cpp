#include "tools/hooks/script_files.h"

#include "agent/environment.h"
#include "agent/text.h"
#include "tools/hooks/shell_built_ins.h"
#include "tools/permissions/interpreter_options.h"
#include "tools/permissions/known_programs.h"
#include "tools/permissions/plain_command.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/process/module_files.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

// Programs and builtins to which words are text or data, and never the name of what is to be run.
constexpr auto k_take_text = std::to_array<std::string_view>(
    {":",       "[",      "basename", "cat",   "chmod", "cmp",    "cp",    "cut",   "date", "diff",
     "dirname", "echo",   "exit",     "false", "grep",  "head",   "jq",    "kill",  "ls",   "mkdir",
     "mv",      "printf", "pwd",      "read",  "rm",    "return", "shift", "sleep", "tail", "tee",
     "test",    "touch",  "tr",       "true",  "type",  "umask",  "uniq",  "wait",  "wc"});
// Built-ins that assign, as a word in front of a command does.
constexpr auto k_assign =
    std::to_array<std::string_view>({"declare", "export", "local", "readonly", "typeset"});
// With these, the rest of the line is about another folder.
constexpr auto k_turns =
    std::to_array<std::string_view>({"cd", "chdir", "chroot", "popd", "pushd"});
// Behind them stands the folder that the rest is about.
constexpr auto k_name_folders = std::to_array<std::string_view>(
    {"-C", "-D", "--chdir", "--cwd", "--directory", "--prefix", "--wd", "--working-directory"});
// Variables whose value a program runs first of all.
constexpr auto k_name_scripts =
    std::to_array<std::string_view>({"BASH_ENV", "ENV", "PYTHONSTARTUP"});

constexpr int k_deepest = 4;                // of `sh -c` in one another
constexpr int k_most_wrappers = 8;          // of programs that run one another
constexpr int k_most_turns = 8;             // folders that a line goes to, one after the other
constexpr std::size_t k_most_folders = 32;  // that one command may name for what stands behind

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// No quotes are needed for it, so that it may stand in a line in place of a variable.
bool is_plain(std::string_view text) {
  static const RE2 pattern("[A-Za-z0-9_./@%+:,=-]+");
  return RE2::FullMatch(text, pattern);
}

bool is_in(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

class ScriptReader {
 public:
  ScriptReader(const CommandPlace& place, Scripts& scripts)
      : place_(place),
        directory_(place.directory),
        environment_(place.environment),
        scripts_(scripts) {}

  void read(std::string line) {
    fill_in(line);
    static const RE2 change(
        R"(^\s*cd[ \t]+(?:--[ \t]+)?([A-Za-z0-9_./@%+:,=][A-Za-z0-9_./@%+:,=-]*)[ \t]*(&&|;|\n))");
    std::string_view rest = line;
    std::string folder;
    std::string sign;
    int turns = 0;
    for (re2::StringPiece input(line); RE2::Consume(&input, change, &folder, &sign);) {
      rest = std::string_view(input.data(), input.size());
      if (++turns > k_most_turns) {
        unclear("it changes the folder too often");
        return;
      }
      static const RE2 goes_on(R"([;\n]|\|\||(?:^|[^&])&(?:[^&]|$))");
      const bool ends_with_it = sign == "&&" && !RE2::PartialMatch(rest, goes_on);
      if (!ends_with_it) {
        read_where_it_is(rest);
      }
      directory_ = (directory_ / folder).lexically_normal();
    }
    const ShellScript script = read_shell(rest);
    if (!script.unclear.empty()) {
      unclear(script.unclear.front());
    }
    static const RE2 more(R"(\b(?:for|while|until|select|case|function|trap|CDPATH)\b|\(\s*\))");
    const bool may_turn =
        !RE2::PartialMatch(rest, more) && agent::value_of(environment_, "CDPATH").empty();
    read_commands(script, may_turn);
    if (std::string why = changes_names(script, environment_); !why.empty()) {
      unclear(std::move(why));
    }
  }

  void read_variables() {
    for (const std::string_view name : k_name_scripts) {
      add_script(std::string(agent::value_of(environment_, name)));
    }
  }

  // All that looks like the name of a file, wherever it stands.
  void read_words(std::string line) {
    fill_in(line);
    found_ = &scripts_.more;
    add_parts(line);
  }

 private:
  void unclear(std::string why) {
    if (scripts_.unclear.empty()) {
      scripts_.unclear = std::move(why);
    }
  }

  void fill_in(std::string& line) const {
    static const RE2 working_folder(R"(\$\{PWD\}|\$PWD\b)");
    static const RE2 home(R"(\$\{HOME\}|\$HOME\b)");
    if (is_plain(place_.directory.native())) {
      RE2::GlobalReplace(&line, working_folder, place_.directory.native());
    }
    if (is_plain(place_.home.native())) {
      RE2::GlobalReplace(&line, home, place_.home.native());
      line = with_home(std::move(line), place_.home);
    }
  }

  // Where a `cd` in the middle has gone on or not: what stands behind it is looked for in both
  // folders. With `may_turn`, each command runs once at most, where it stands.
  void read_commands(const ShellScript& script, bool may_turn) {
    const fs::path begin = directory_;
    auto* const found = found_;
    std::vector<fs::path> folders{begin};
    for (const ShellCommand& one : script.commands) {
      const auto turned = may_turn ? turned_to(one) : std::nullopt;
      for (const fs::path& folder : folders) {
        directory_ = folder;
        found_ = folder == begin ? found : &scripts_.more;
        turned ? add_all(*turned) : read_command(one);
      }
      for (std::size_t at = 0, all = folders.size(); turned && at < all; ++at) {
        folders.push_back((folders[at] / *turned).lexically_normal());
      }
      if (folders.size() > k_most_folders) {
        unclear("it changes the folder too often");
        break;
      }
    }
    directory_ = begin;
    found_ = found;
  }

  // `cd FOLDER`; nullopt: it is none, or another one.
  static std::optional<std::string> turned_to(const ShellCommand& one) {
    const bool is_turn = !one.words.empty() && (one.words[0] == "cd" || one.words[0] == "chdir");
    const std::size_t at = one.words.size() > 1 && one.words[1] == "--" ? 2 : 1;
    const bool is_plain_turn = is_turn && one.words.size() == at + 1 && is_plain(one.words[at]) &&
                               !one.words[at].starts_with('-') && one.assignments.empty();
    return is_plain_turn ? std::optional(one.words[at]) : std::nullopt;
  }

  // A folder may become a link, or come as one, and `..` behind it leads to where that leads.
  // (Behind `cd`, a shell takes it for the name.)
  void check_way(const std::string& word) {
    const std::string name = word.substr(word.find_last_of("=@") + 1);
    const fs::path file = directory_ / name;
    std::error_code error;
    if (!is_plain(name) || !file.has_filename() || file.filename() == ".." ||
        fs::is_directory(file.lexically_normal(), error)) {
      return;
    }
    const fs::path start = place_.directory.lexically_normal();
    fs::path folder;
    for (const fs::path& part : file) {
      const fs::path before = folder.lexically_normal();
      if (part == ".." && before != start && is_in(before, start)) {
        unclear(fmt::format("in `{}`, `..` stands behind a folder of the work", word));
        note(before, scripts_.ways);
      }
      folder /= part;
    }
  }

  // Where the folder that a `cd` names is not there, the rest goes on in the one before.
  void read_where_it_is(std::string_view rest) {
    if (depth_ >= k_deepest) {
      unclear("it changes the folder too often");
      return;
    }
    Scripts named;
    ScriptReader here(place_in(directory_), named);
    here.depth_ = depth_ + 1;
    here.read(std::string(rest));
    take(named, scripts_.more);
  }

  // What a line beside this one names; what is there goes to `files`.
  void take(const Scripts& named, std::vector<fs::path>& files) {
    const auto note_in = [](const std::vector<fs::path>& some, std::vector<fs::path>& all) {
      std::ranges::for_each(some, [&](const fs::path& file) { note(file, all); });
    };
    note_in(named.files, files);
    note_in(named.more, scripts_.more);
    note_in(named.run, scripts_.run);
    note_in(named.to_run, scripts_.to_run);
    note_in(named.modules, scripts_.modules);
    note_in(named.ways, scripts_.ways);
    std::ranges::for_each(named.pythons,
                          [&](const PythonStart& one) { note(one, scripts_.pythons); });
  }

  CommandPlace place_in(const fs::path& directory) const {
    CommandPlace place = place_;
    place.directory = directory;
    place.environment = environment_;
    return place;
  }

  void read_command(const ShellCommand& one) {
    const agent::Environment before = environment_;
    set_variables(one);
    read_words_of(one);
    const bool lasts = one.words.empty() || one.words.front() == "export";
    if (!lasts) {
      environment_ = before;
    }
  }

  // `A=b` in front, and behind `env` or `export`.
  void set_variables(const ShellCommand& one) {
    const auto set = [&](const std::string& text) {
      if (const std::size_t equals = text.find('='); equals != std::string::npos) {
        const std::string name = text.substr(0, equals);
        const std::string value = text.substr(equals + 1);
        if (is_one_of(k_name_scripts, name)) {
          add_script(value);
        }
        environment_.insert_or_assign(name, value);
      }
    };
    std::ranges::for_each(one.assignments, set);
    const auto program = std::ranges::find_if(
        one.words, [](const std::string& word) { return is_interpreter(base_name(word)); });
    std::for_each(one.words.begin(), program, set);
  }

  void read_words_of(const ShellCommand& one) {
    const std::string_view name =
        one.words.empty() ? std::string_view() : std::string_view(one.words.front());
    const std::string program = fs::path(name).filename();
    const bool assigns = is_one_of(k_assign, name);
    const bool takes_text = one.words.empty() || assigns || is_one_of(k_take_text, name);
    if (has_unknown(name)) {
      unclear("what it runs is named by a variable or a pattern");
    }
    if (base_name(name) == "find" && runs_where_it_finds(one)) {
      unclear("`find` runs it in folders that nobody knows yet");
    }
    if (base_name(name) == "run-parts") {
      unclear("it runs what stands in a folder, whatever that is");
    }
    if (is_one_of(k_turns, name)) {
      unclear(fmt::format("there is a `{}` in it", name));
    }
    if (!takes_text && may_turn_inside(one)) {
      unclear(fmt::format("its `{}` may change the folder", name));
    }
    for (const std::string& text : one.assignments) {
      read_assignment(text, one.words.empty());
    }
    for (const std::string& word : one.words | std::views::drop(assigns ? 1 : one.words.size())) {
      read_assignment(word, name != "export");
    }
    const bool only_compares = name == "test" || name == "[";  // its options name no files
    const std::size_t data = takes_text ? 1 : where_data_begins(one.words);
    for (std::size_t at = 0; at < one.words.size(); ++at) {
      const std::string& word = one.words[at];
      if (!only_compares || !word.starts_with('-')) {
        add_all(word);
      }
      if (!takes_text) {
        check_way(word);
      }
      if (has_unknown(word) && !takes_text && at > 0 && at < data) {
        unclear(fmt::format("`{}` is told what only a running shell knows", name));
      }
      if (at > 0 && !takes_text) {
        check_folders(word);
      }
    }
    for (const ShellFile& file : one.files) {
      if (!file.writes) {
        takes_text ? add_read(file.path) : add_script(file.path);
        check_way(file.path);
        if (has_unknown(file.path) && !takes_text) {
          unclear("what it reads is named by a variable or a pattern");
        }
      }
    }
    if (!takes_text) {  // code may name files
      std::ranges::for_each(one.inputs, [&](const std::string& input) { add_parts(input); });
    }
    if (name == "eval") {
      const bool has_dashes = one.words.size() > 1 && one.words[1] == "--";
      read_line(
          fmt::format("{}", fmt::join(one.words | std::views::drop(has_dashes ? 2 : 1), " ")));
    }
    const std::size_t operand = one.words.size() > 1 && one.words[1] == "--" ? 2 : 1;
    if ((name == "." || name == "source") && one.words.size() > operand) {
      add_script(one.words[operand]);
      if (is_known_input(one.words[operand])) {
        run_input(one);
      }
    } else if (name.contains('/')) {
      add_script(std::string(name));
    } else {
      add_from_path(name);
    }
    // Also behind programs that run another one: `timeout 60 sh t`.
    for (std::size_t at = 0; at < one.words.size() && !takes_text; ++at) {
      if (is_shell(base_name(one.words[at]))) {
        read_shell_at(one, at);
        break;
      }
    }
    add_modules(one, 0);
    if (!takes_text) {
      add_scripts(one);
      read_in_folders(one);
      read_in_told_folders(one);
      read_started(one);
      read_filled_in(one);
      const bool is_code = std::ranges::any_of(
          one.words, [](const std::string& word) { return is_interpreter(base_name(word)); });
      const bool is_line = is_told_a_line(one) && !is_code;
      std::ranges::for_each(one.words | std::views::drop(1),
                            [&](const std::string& word) { read_possible_line(word, is_line); });
    }
    std::ranges::for_each(one.assignments,
                          [&](const std::string& text) { read_possible_line(text, false); });
  }

  // A program that a folder of PATH has, or comes to have, in the folder where the line starts:
  // that of an activated environment.
  void add_from_path(std::string_view program) {
    if (program.empty() || has_unknown(program)) {
      return;
    }
    for (const auto part : std::views::split(agent::value_of(environment_, "PATH"), ':')) {
      const fs::path folder = directory_ / std::string(part.begin(), part.end());
      if (is_in(folder.lexically_normal(), place_.directory.lexically_normal())) {
        add_script((folder / program).string());
      }
    }
  }

  // Whatever stands in front of it: `command cd x`, `builtin cd x`, `eval 'cd x'`.
  static bool may_turn_inside(const ShellCommand& one) {
    static const RE2 turn(R"(\b(?:cd|chdir|popd|pushd)\b)");
    const bool is_line = !one.words.empty() && one.words.front() == "eval";
    return std::ranges::any_of(one.words | std::views::drop(1), [&](const std::string& word) {
      return is_line ? RE2::PartialMatch(word, turn) : is_one_of(k_turns, word);
    });
  }

  static bool runs_where_it_finds(const ShellCommand& one) {
    return std::ranges::any_of(
        one.words, [](const std::string& word) { return word == "-execdir" || word == "-okdir"; });
  }

  // What stands behind a script that is known is told to that; the number of the words: none is.
  static std::size_t where_data_begins(std::span<const std::string> words) {
    const std::string_view name = words.empty() ? std::string_view() : base_name(words.front());
    const auto behind = [&](std::size_t script) {
      const auto told = words.first(std::min(script + 1, words.size()));
      return std::ranges::any_of(told, has_unknown) ? words.size() : told.size();
    };
    if (is_shell(name)) {
      const ToldShell told = told_shell(words);
      const bool has_script = told.is_understood && !told.has_line && !told.reads_input;
      return has_script ? behind(told.at) : words.size();
    }
    if (const Interpreter* const interpreter = find_interpreter(name)) {
      const ToldProgram told = told_program(*interpreter, words);
      return told.what == ToldProgram::What::script ? behind(told.at) : words.size();
    }
    const bool is_own = !words.empty() && words.front().contains('/') &&
                        !words.front().starts_with('/') && !starts_the_rest(name);
    return is_own ? behind(0) : words.size();
  }

  // `python3 SCRIPT`, `make -f SCRIPT`.
  void add_scripts(const ShellCommand& one) {
    constexpr auto k_take_scripts =
        std::to_array<std::string_view>({"awk", "gawk", "gmake", "make", "mawk", "nawk", "sed"});
    bool takes_scripts = false;
    for (std::size_t at = 0; at < one.words.size(); ++at) {
      const std::string_view name = base_name(one.words[at]);
      takes_scripts = takes_scripts || is_one_of(k_take_scripts, name);
      const auto behind = one.words | std::views::drop(at + 1);
      if (takes_scripts) {
        add_script_of_option(one.words[at], behind.empty() ? std::string() : behind.front());
      }
      if (is_interpreter(name) && !is_shell(name)) {
        add_told(std::span(one.words).subspan(at));
        check_fed(one, at);
      }
    }
  }

  // `make -sf F`, `awk -fF`, `sed --file=F`
  void add_script_of_option(const std::string& word, const std::string& next) {
    static const RE2 option("-[A-Za-z]*f(.*)|--(?:make)?file(?:=(.*))?");
    std::string behind_letter;
    std::string behind_sign;
    if (RE2::FullMatch(word, option, &behind_letter, &behind_sign)) {
      const std::string& here = behind_letter.empty() ? behind_sign : behind_letter;
      add_script(here.empty() ? next : here);
    }
  }

  // Behind options that have values (`python3 -W ignore F`), and what a module runs (`python3 -m
  // trace F`).
  void add_told(std::span<const std::string> words) {
    const Interpreter* const interpreter = find_interpreter(base_name(words.front()));
    if (interpreter == nullptr) {
      return;
    }
    const ToldProgram told = told_program(*interpreter, words);
    if (told.what == ToldProgram::What::script && told.at < words.size()) {
      add_script(words[told.at]);
    } else if (told.what == ToldProgram::What::unknown) {
      const auto behind = words.subspan(1);
      const auto script = std::ranges::find_if(
          behind, [](const std::string& word) { return !word.starts_with('-'); });
      add_script(script == behind.end() ? std::string() : *script);
    }
    static const RE2 python(R"(.*\.py[wz]?)");
    for (const std::string& word : words.subspan(std::min(told.at, words.size()))) {
      if (told.what == ToldProgram::What::module && RE2::FullMatch(word, python)) {
        add_script(word);
      }
    }
  }

  // `cat x | python3`
  void check_fed(const ShellCommand& one, std::size_t at) {
    const auto words = std::span(one.words).subspan(at);
    const Interpreter* const interpreter = find_interpreter(base_name(words.front()));
    const bool has_file =
        std::ranges::any_of(one.files, [](const ShellFile& file) { return !file.writes; });
    if (interpreter == nullptr || !one.is_behind_pipe || has_file || !one.inputs.empty()) {
      return;
    }
    using What = ToldProgram::What;
    const ToldProgram told = told_program(*interpreter, words);
    if (told.what == What::input ||
        (told.what == What::script && told.at < words.size() && is_known_input(words[told.at]))) {
      unclear(fmt::format("`{}` does what another program tells it", interpreter->name));
    }
  }

  // The lines that it is told in one word: `trap LINE EXIT`, `flock FILE -c LINE`. Those of a shell
  // and of `eval` are read above.
  void read_started(const ShellCommand& one) {
    const auto is_one = [](const std::string& word) { return is_shell(base_name(word)); };
    const bool is_read =
        one.words.empty() || one.words.front() == "eval" || std::ranges::any_of(one.words, is_one);
    if (is_read || !started_.insert({directory_, one.words}).second) {
      return;
    }
    const Started started = started_by(one);
    for (const Start& start : started.starts) {
      const std::vector<std::string>& words = start.command.words;
      if (!words.empty() && words.front().contains('/')) {
        add_script(words.front());  // `timeout 5 ./x.sh`
      } else if (!words.empty()) {
        add_from_path(words.front());
      }
      const bool is_line = std::ranges::any_of(words, [&](const std::string& word) {
        const bool is_known = !has_unknown(word) || &word == words.data();  // else as of `xargs`
        return is_known && std::ranges::find(one.words, word) == one.words.end();
      });
      if (!is_line) {
        read_started(start.command);
      } else if (depth_ >= k_deepest) {
        unclear("it is nested too deeply");
      } else {
        read_started_line(start, one);
      }
    }
  }

  // A word of several may be no line at all, as the program of `timeout 9 awk '{print $1}'` is
  // none.
  void read_started_line(const Start& start, const ShellCommand& one) {
    Scripts line;
    ScriptReader inner(place_in(directory_), line);
    inner.depth_ = depth_ + 1;
    inner.found_ = found_ == &scripts_.files ? &line.files : &line.more;
    inner.read_command(start.command);
    take(line, *found_);
    if (!line.unclear.empty() && (start.how == Start::How::runs || is_told_a_line(one))) {
      unclear(std::move(line.unclear));
    }
  }

  // `-c LINE`, `-S LINE`.
  static bool is_told_a_line(const ShellCommand& one) {
    static const RE2 option("-[A-Za-z]*[cS]|--(session-)?command|--split-string");
    return std::ranges::any_of(
        one.words, [](const std::string& word) { return RE2::FullMatch(word, option); });
  }

  // `xargs -I{} sh -c {}`, `xargs timeout 9`: what another program, or a file, tells it to run.
  void read_filled_in(ShellCommand one) {
    const auto runs_words = [](std::string_view name) {
      return starts_the_rest(name) || name == "find";
    };
    for (int depth = 0; !one.words.empty() && runs_words(base_name(one.words.front())); ++depth) {
      if (base_name(one.words.front()) == "parallel" || depth == k_most_wrappers) {
        unclear("what it runs is told by another program");
        return;
      }
      Started started = started_by(one);
      const auto runs = std::ranges::find(started.starts, Start::How::runs, &Start::how);
      if (runs == started.starts.end()) {
        return;
      }
      one = std::move(runs->command);
      if (!one.words.empty() && is_told_what(one.words)) {
        unclear("what it runs is told by another program");
        return;
      }
    }
  }

  // Its program, or the script or the code of that, is known only when it runs; or it is one that
  // may run what its words name.
  static bool is_told_what(std::span<const std::string> words) {
    const std::string_view name = base_name(words.front());
    if (has_unknown(words.front())) {
      return true;
    }
    if (!is_interpreter(name) && !is_one_of(k_take_text, name)) {
      return std::ranges::any_of(words.first(where_data_begins(words)),
                                 [](const std::string& word) { return has_unknown(word); });
    }
    if (is_shell(name)) {
      const ToldShell told = told_shell(words);
      return told.at < words.size() && has_unknown(words[told.at]);
    }
    const Interpreter* const interpreter = find_interpreter(name);
    if (interpreter == nullptr) {
      return false;
    }
    using What = ToldProgram::What;
    const ToldProgram told = told_program(*interpreter, words);
    if (told.what == What::script) {
      return told.at < words.size() && has_unknown(words[told.at]);
    }
    // The last word is what a wrapper adds, behind the code.
    const auto in_line = words.first(words.size() - 1);
    return told.what == What::code &&
           std::ranges::any_of(in_line, [](const std::string& word) { return has_unknown(word); });
  }

  // Of a program that nobody knows: `git -c alias.z='!sh x' z`, `PAGER='sh x' man y`.
  void read_possible_line(const std::string& word, bool is_line) {
    const std::size_t blank = word.find_first_of(" \t\n");
    if (blank == std::string::npos || depth_ >= k_deepest || has_unknown(word)) {
      return;
    }
    const std::size_t sign = word.substr(0, blank).find_last_of("=!");
    const bool is_alias = sign != std::string::npos && word[sign] == '!';
    const bool is_whole = is_line && !is_alias && !word.starts_with('-');
    is_line = is_line || is_alias;
    Scripts line;
    ScriptReader inner(place_in(directory_), line);
    inner.depth_ = depth_ + 1;
    inner.read(word.substr(sign == std::string::npos || is_whole ? 0 : sign + 1));
    take(line, scripts_.more);
    if (is_line && !line.unclear.empty()) {
      unclear(std::move(line.unclear));
    }
  }

  // `env -C ci sh t.sh`, `sudo -D ci sh t.sh`: a word may be the folder that those behind it are
  // looked for in.
  void read_in_folders(const ShellCommand& one) {
    const fs::path here = directory_;
    std::size_t folders = 0;
    for (std::size_t at = 1; at < one.words.size(); ++at) {
      const std::string& word = one.words[at];
      const std::string told = told_folder(one.words, at);
      const bool is_told = !told.empty();
      const std::string folder = is_told ? told : folder_in(word);
      if (folder.empty() || !is_plain(folder) || folder.contains("://")) {
        continue;
      }
      if (++folders > k_most_folders) {
        unclear("it has too many words");
        break;
      }
      const bool is_sure = is_told || word.starts_with("--");
      auto* const found = std::exchange(found_, is_sure ? found_ : &scripts_.more);
      directory_ = here / folder;
      add_modules(one, at + 1);
      for (std::size_t behind = at + 1; behind < one.words.size(); ++behind) {
        add_all(one.words[behind]);
        if (is_shell(base_name(one.words[behind]))) {
          read_shell_at(one, behind);
        }
      }
      directory_ = here;
      found_ = found;
    }
  }

  // Those that options name are the folders of all words, and each may be in the one before it:
  // `make -f F -C a -C b`.
  void read_in_told_folders(const ShellCommand& one) {
    const fs::path here = directory_;
    std::vector<fs::path> told{here};
    for (std::size_t at = 1; at < one.words.size(); ++at) {
      const std::string folder = told_folder(one.words, at);
      for (std::size_t from = 0, all = folder.empty() ? 0 : told.size(); from < all; ++from) {
        told.push_back((told[from] / folder).lexically_normal());
      }
      if (told.size() > k_most_folders) {
        unclear("it names too many folders");
        return;
      }
    }
    for (const fs::path& folder : told | std::views::drop(1)) {
      directory_ = folder;
      add_scripts(one);
      for (std::size_t at = 0; at < one.words.size(); ++at) {
        const std::string& word = one.words[at];
        if (is_shell(base_name(word))) {
          read_shell_at(one, at);
        }
        add_all(word);
        check_way(word);
        read_possible_line(word, false);
      }
    }
    directory_ = here;
  }

  // `-C X`, `-CX`, `--chdir=X`; empty: it is none.
  static std::string told_folder(std::span<const std::string> words, std::size_t at) {
    static const RE2 bundled("-[A-Za-z0-9]*?C(.+)");  // `-iCa`
    const std::string& word = words[at];
    std::string behind;
    const std::size_t equals = word.find('=');
    const bool is_behind = is_one_of(k_name_folders, words[at - 1]) && !word.starts_with('-');
    std::string folder = is_behind ? word
                         : equals != std::string::npos &&
                                 is_one_of(k_name_folders, std::string_view(word).substr(0, equals))
                             ? word.substr(equals + 1)
                         : RE2::FullMatch(word, bundled, &behind) ? behind
                                                                  : std::string();
    return is_plain(folder) ? folder : std::string();
  }

  // Behind `=`, or a word by itself; empty: it is none.
  static std::string folder_in(const std::string& word) {
    const std::size_t equals = word.find('=');
    return word.starts_with("--") && equals != std::string::npos ? word.substr(equals + 1)
           : word.starts_with('-')                               ? std::string()
                                                                 : word;
  }

  // Of the interpreters among the words from there on.
  void add_modules(const ShellCommand& one, std::size_t from) {
    for (std::size_t at = from; at < one.words.size(); ++at) {
      const auto words = std::span(one.words).subspan(at);
      const auto files = module_files(words, directory_, environment_);
      add_to_modules(files);
      std::string program = fs::path(words.front()).filename();
      std::error_code error;
      if (is_python(program) && words.size() > 1 &&
          std::ranges::any_of(files,
                              [&](const fs::path& file) { return fs::exists(file, error); })) {
        note(PythonStart{.program = std::move(program), .next = words[1]}, scripts_.pythons);
      }
    }
  }

  void add_to_modules(const std::vector<fs::path>& files) {
    for (const fs::path& file : files) {
      note(file, scripts_.modules);
    }
  }

  // A variable in small letters is the line's own, and no program's.
  void read_assignment(std::string text, bool is_alone) {
    if (const std::size_t sum = text.find("+="); sum < text.find('=')) {
      text.erase(sum, 1);
    }
    if (is_alone && is_own_variable(text.substr(0, text.find('=')))) {
      return;
    }
    // A shell reads the file of the last two before anything else.
    if (has_unknown(text) || text.starts_with("PATH=") || text.starts_with("BASH_ENV=") ||
        text.starts_with("ENV=")) {
      unclear(fmt::format("it sets `{}`", text.substr(0, text.find('='))));
    }
    add_all(text);
    check_folders(text);
  }

  // A bare word may be no folder, though one is called so: `NODE_ENV=test`.
  static bool names_a_folder(std::string_view variable) {
    return variable.ends_with("PATH") || variable.ends_with("DOTDIR") || variable == "HOME" ||
           variable == "PYTHONHOME";
  }

  // NAME=FOLDER, or a list of them: programs and modules are looked for there.
  void check_folders(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.starts_with('-')) {
      return;
    }
    for (const auto part : std::views::split(std::string_view(text).substr(equals + 1), ':')) {
      std::error_code error;
      const std::string_view name = std::string_view(text).substr(0, equals);
      if (part.empty()
              ? name != "IFS"
              : names_a_folder(name) ||
                    (std::ranges::find(part, '/') != part.end() &&
                     fs::is_directory(directory_ / std::string(part.begin(), part.end()), error))) {
        unclear(fmt::format("it sets `{}`", text.substr(0, equals)));
      }
    }
  }

  // `sh -ec 'line'`, `sh script`; without either, it does what it reads.
  void read_shell_at(const ShellCommand& one, std::size_t shell) {
    const auto words = std::span(one.words).subspan(shell);
    if (words.size() == 2 && (words[1] == "--version" || words[1] == "--help")) {
      return;
    }
    const ToldShell told = told_shell(words);
    if (!told.is_understood) {
      unclear("a shell has an option that nobody knows");
    }
    for (const std::string& word : words.first(std::min(told.at, words.size()))) {
      if (word == "--rcfile" || word == "--init-file") {
        unclear("the file of its shell's option says what names mean");
      }
    }
    if (!one.inputs.empty()) {
      unclear("a shell reads what to do from a here-document");
    }
    const std::string what = told.at < words.size() ? words[told.at] : std::string();
    const bool is_known = !what.empty() && !told.reads_input;
    if (told.has_line && is_known) {
      read_line(what);
    } else if (!is_known || is_known_input(what)) {
      run_input(one);
    } else if (shell == 0 || is_plain(what)) {
      add_script(what);
    } else {
      unclear("what a shell is to run is told by another program");
    }
  }

  // What it reads from a file is named there.
  void run_input(const ShellCommand& one) {
    if (std::ranges::none_of(one.files, [](const ShellFile& file) { return !file.writes; })) {
      unclear("a shell does what another program tells it");
    }
  }

  void read_line(std::string line) {
    if (line.empty() || has_unknown(line)) {
      return;  // said already
    }
    if (depth_ >= k_deepest) {
      unclear("it is nested too deeply");
      return;
    }
    ScriptReader inner(place_in(directory_), scripts_);
    inner.depth_ = depth_ + 1;
    inner.found_ = found_;
    inner.read(std::move(line));
  }

  // Where a link in front of a `..` leads; nullopt: there is none.
  static std::optional<fs::path> behind_link(const fs::path& file) {
    if (std::ranges::find(file, fs::path("..")) == file.end()) {
      return std::nullopt;
    }
    std::error_code error;
    const fs::path straight = fs::weakly_canonical(file.lexically_normal().parent_path(), error);
    const fs::path folder = error ? straight : fs::weakly_canonical(file.parent_path(), error);
    return error || folder == straight ? std::nullopt : std::optional(folder / file.filename());
  }

  // The name as it stands, too: a folder in it may become a link.
  static void note_named(const fs::path& file, std::vector<fs::path>& files) {
    note(file, files);
    if (const auto real = behind_link(file)) {
      note(*real, files);
    }
  }

  void add(const std::string& word) {
    if (word.empty() || has_unknown(word) || fs::path(word).filename() == "..") {
      return;  // `cd ..`
    }
    std::error_code error;
    const fs::path file = directory_ / word;
    if (fs::is_regular_file(file, error)) {
      note_named(file, *found_);
    } else if (is_plain(word) && !word.starts_with('-') && !word.contains("://") &&
               word.find_first_of("./") != std::string::npos) {
      add_absent(word);
    }
  }

  // What is read by its name, be there a `.` or a `/` in it or not.
  void add_read(const std::string& word) {
    add(word);
    if (!word.empty() && !has_unknown(word)) {
      add_absent(word);
    }
  }

  // What is run, the same.
  void add_script(const std::string& word) {
    if (word.empty() || word.contains("://") || has_unknown(word)) {
      return;
    }
    add(word);
    std::error_code error;
    if (const fs::path file = directory_ / word; fs::is_regular_file(file, error)) {
      note_named(file, scripts_.run);
    }
    add_absent(word, true);
  }

  void add_absent(const std::string& word, bool is_run = false) {
    std::error_code error;
    const fs::path folder = place_.directory.lexically_normal();
    const fs::path named = directory_ / word;
    fs::path file = behind_link(named).value_or(named.lexically_normal());
    if (!file.has_filename()) {
      file = file.parent_path();  // `python3 ci/`
    }
    const auto [end, rest] = std::ranges::mismatch(folder, file);
    if (fs::status(file, error).type() != fs::file_type::not_found) {  // also behind a link
      return;
    }
    if (end == folder.end() && rest != file.end()) {
      note(file, scripts_.more);
    }
    if (is_run && file.is_absolute()) {
      note(file, scripts_.to_run);
    }
  }

  static void note(const fs::path& file, std::vector<fs::path>& files) {
    if (std::ranges::find(files, file.native(), &fs::path::native) == files.end()) {
      files.push_back(file);
    }
  }

  static void note(const PythonStart& one, std::vector<PythonStart>& all) {
    if (std::ranges::find(all, one) == all.end()) {
      all.push_back(one);
    }
  }

  // Also what stands in the middle of a word: of an option, of a line in some language.
  void add_all(const std::string& word) {
    add(word);
    add_behind_option(word);
    static const RE2 name("[A-Za-z0-9_./%+~-]*");
    if (!RE2::FullMatch(word, name)) {
      add_parts(word);
    }
  }

  void add_behind_option(const std::string& word) {
    for (std::size_t at = 2; word.starts_with('-') && at < std::min<std::size_t>(word.size(), 8);
         ++at) {
      add(word.substr(at));  // `-fX`, `-nfX`
    }
  }

  // With and without `@` in them: `@FILE` is how many programs are told of one.
  void add_parts(const std::string& text) {
    static const RE2 name("([A-Za-z0-9_.@%+-]*[./][A-Za-z0-9_./@%+-]*)");
    static const RE2 behind_a_sign("([A-Za-z0-9_.%+-]*[./][A-Za-z0-9_./%+-]*)");
    static const RE2 by_scheme("file[a-z]*://(?:localhost)?([A-Za-z0-9_.%+/-]+)");
    static const RE2 bare("[=:,]([A-Za-z0-9_%+-]+)");
    static const RE2 read("@([A-Za-z0-9_%+-]+)");
    for (const RE2* pattern : {&name, &behind_a_sign, &by_scheme, &bare}) {
      re2::StringPiece rest(text);
      for (std::string found; RE2::FindAndConsume(&rest, *pattern, &found);) {
        add(found);
        add_behind_option(found);
      }
    }
    re2::StringPiece rest(text);
    for (std::string found; RE2::FindAndConsume(&rest, read, &found);) {
      add_read(found);
    }
  }

  const CommandPlace place_;
  fs::path directory_;
  agent::Environment environment_;  // with what the line has set so far
  Scripts& scripts_;
  std::vector<fs::path>* found_ = &scripts_.files;  // where what is there is noted
  int depth_ = 0;
  // Of read_started(): what was looked at, and where.
  std::set<std::pair<fs::path, std::vector<std::string>>> started_;
};

}  // namespace

Scripts read_scripts(std::string_view command, const CommandPlace& place) {
  Scripts scripts;
  ScriptReader reader(place, scripts);
  reader.read_variables();
  reader.read(std::string(command));
  if (!scripts.unclear.empty()) {
    reader.read_words(std::string(command));  // such as those that a loop is about
  }
  return scripts;
}

agent::Environment with_own(agent::Environment environment, const agent::Environment& own) {
  for (const auto& [name, value] : own) {
    environment.insert_or_assign(name, value);
  }
  return environment;
}

std::string line_of(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + agent::shell_word(word);
  }
  return line;
}

std::string with_home(std::string command, const fs::path& home) {
  static const RE2 tilde(R"((^|[\s;&|(<>])~/)");
  if (is_plain(home.native())) {
    RE2::GlobalReplace(&command, tilde, "\\1" + home.native() + "/");
  }
  return command;
}

}  // namespace tools

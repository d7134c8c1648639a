#include "tools/hooks/script_files.h"

#include "agent/text.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/plain_command.h"
#include "tools/permissions/shell_script.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <ranges>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_longest_script = 16u << 20;  // what comes after it is data

std::string content_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  std::string content(error ? 0 : std::min(size, k_longest_script), '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  return content;
}

// Programs and builtins to which words are text or data, and never the name of what is to be run.
constexpr auto k_take_text = std::to_array<std::string_view>(
    {":",       "[",     "basename", "cat",    "cmp",   "cp",   "cut",    "date", "diff",
     "dirname", "echo",  "exit",     "false",  "grep",  "head", "jq",     "kill", "local",
     "ls",      "mkdir", "mv",       "printf", "pwd",   "read", "return", "rm",   "shift",
     "sleep",   "tail",  "tee",      "test",   "touch", "tr",   "true",   "uniq", "wc"});
constexpr auto k_shells =
    std::to_array<std::string_view>({"ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"});
// With these, the rest of the line is about another folder, or other names.
constexpr auto k_turns = std::to_array<std::string_view>(
    {"alias", "cd", "chdir", "chroot", "enable", "hash", "popd", "pushd", "unalias"});
// Behind them stands the folder that the rest is about.
constexpr auto k_name_folders = std::to_array<std::string_view>(
    {"-C", "-D", "--chdir", "--cwd", "--directory", "--prefix", "--wd", "--working-directory"});
static_assert(std::ranges::is_sorted(k_shells) && std::ranges::is_sorted(k_turns));

constexpr int k_deepest = 4;                   // of `sh -c` in one another
constexpr int k_most_turns = 8;                // folders that a line goes to, one after the other
constexpr std::size_t k_most_folders = 32;     // that one command may name for what stands behind
constexpr std::size_t k_longest_word = 1'000;  // of a line outside of the sandbox

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// No quotes are needed for it, so that it may stand in a line in place of a variable.
bool is_plain(std::string_view text) {
  static const RE2 pattern("[A-Za-z0-9_./@%+:,=-]+");
  return RE2::FullMatch(text, pattern);
}

class ScriptReader {
 public:
  ScriptReader(const CommandPlace& place, Scripts& scripts)
      : place_(place), directory_(place.directory), scripts_(scripts) {}

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
      const bool ends_with_it =
          sign == "&&" && rest.find_first_of(";\n") == rest.npos && !rest.contains("||");
      if (!ends_with_it) {
        read_where_it_is(rest);
      }
      directory_ = directory_ / folder;
    }
    const ShellScript script = read_shell(rest);
    if (!script.unclear.empty()) {
      unclear(script.unclear.front());
    }
    for (const ShellCommand& one : script.commands) {
      read_command(one);
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

  // Where the folder that a `cd` names is not there, the rest goes on in the one before.
  void read_where_it_is(std::string_view rest) {
    if (depth_ >= k_deepest) {
      unclear("it changes the folder too often");
      return;
    }
    Scripts named;
    ScriptReader here({.directory = directory_, .home = place_.home}, named);
    here.depth_ = depth_ + 1;
    here.read(std::string(rest));
    for (const auto* files : {&named.files, &named.more}) {
      for (const fs::path& file : *files) {
        note(file, scripts_.more);
      }
    }
  }

  void read_command(const ShellCommand& one) {
    const std::string_view name =
        one.words.empty() ? std::string_view() : std::string_view(one.words.front());
    const std::string program = fs::path(name).filename();
    const bool takes_text = one.words.empty() || is_one_of(k_take_text, name);
    if (has_unknown(name)) {
      unclear("what it runs is named by a variable or a pattern");
    }
    if (is_one_of(k_turns, name)) {
      unclear(fmt::format("there is a `{}` in it", name));
    }
    for (const std::string& text : one.assignments) {
      read_assignment(text, one.words.empty());
    }
    const bool only_compares = name == "test" || name == "[";  // its options name no files
    for (std::size_t at = 0; at < one.words.size(); ++at) {
      const std::string& word = one.words[at];
      if (!only_compares || !word.starts_with('-')) {
        add_all(word);
      }
      if (has_unknown(word) && !takes_text && at > 0) {
        unclear(fmt::format("`{}` is told what only a running shell knows", name));
      }
      if (at > 0 && !takes_text) {
        check_folders(word);
      }
    }
    for (const ShellFile& file : one.files) {
      if (!file.writes) {
        add(file.path);
        if (has_unknown(file.path) && !takes_text) {
          unclear("what it reads is named by a variable or a pattern");
        }
      }
    }
    if (name == "eval") {
      read_line(fmt::format("{}", fmt::join(one.words | std::views::drop(1), " ")));
    }
    if ((name == "." || name == "source") && one.words.size() > 1 && is_plain(one.words[1])) {
      add_absent(one.words[1]);
    }
    // Also behind programs that run another one: `timeout 60 sh t`.
    for (std::size_t at = 0; at < one.words.size() && !takes_text; ++at) {
      if (is_one_of(k_shells, fs::path(one.words[at]).filename().native())) {
        read_shell_at(one, at);
        break;
      }
    }
    if (!takes_text) {
      read_in_folders(one);
    }
  }

  // `env -C ci sh t.sh`, `sudo -D ci sh t.sh`: a word may be the folder that those behind it are
  // looked for in.
  void read_in_folders(const ShellCommand& one) {
    const fs::path here = directory_;
    std::size_t folders = 0;
    for (std::size_t at = 1; at < one.words.size(); ++at) {
      const std::string& word = one.words[at];
      const std::string before = one.words[at - 1];
      const bool is_told = is_one_of(k_name_folders, before) && !word.starts_with('-');
      const std::string folder = is_told ? word : folder_in(word);
      if (folder.empty() || has_unknown(folder) || !is_plain(folder) || folder.contains("://")) {
        continue;
      }
      if (++folders > k_most_folders) {
        unclear("it has too many words");
        break;
      }
      const bool is_sure = is_told || word.starts_with("-C") || word.starts_with("--");
      auto* const found = std::exchange(found_, is_sure ? found_ : &scripts_.more);
      directory_ = here / folder;
      for (std::size_t behind = at + 1; behind < one.words.size(); ++behind) {
        add_all(one.words[behind]);
        if (is_one_of(k_shells, fs::path(one.words[behind]).filename().native())) {
          read_shell_at(one, behind);
        }
      }
      directory_ = here;
      found_ = found;
    }
  }

  // `-CX`, `--chdir=X`, or a word by itself; empty: it is none.
  static std::string folder_in(const std::string& word) {
    const std::size_t equals = word.find('=');
    return word.starts_with("--") && equals != std::string::npos ? word.substr(equals + 1)
           : word.starts_with("-C")                              ? word.substr(2)
           : word.starts_with('-')                               ? std::string()
                                                                 : word;
  }

  // A variable in small letters is the line's own, and no program's.
  void read_assignment(const std::string& text, bool is_alone) {
    const bool is_own = is_alone && std::ranges::all_of(text.substr(0, text.find('=')), [](char c) {
                          return (c >= 'a' && c <= 'z') || c == '_';
                        });
    if (is_own) {
      return;
    }
    if (has_unknown(text) || text.starts_with("PATH=")) {
      unclear(fmt::format("it sets `{}`", text.substr(0, text.find('='))));
    }
    add_all(text);
    check_folders(text);
  }

  // NAME=FOLDER, or a list of them: programs and modules are looked for there.
  void check_folders(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.starts_with('-')) {
      return;
    }
    for (const auto part : std::views::split(std::string_view(text).substr(equals + 1), ':')) {
      std::error_code error;
      if (part.empty() || text.substr(0, equals).ends_with("PATH") ||
          fs::is_directory(directory_ / std::string(part.begin(), part.end()), error)) {
        unclear(fmt::format("it sets `{}`", text.substr(0, equals)));
      }
    }
  }

  // `sh -ec 'line'`, `sh script`; without either, it does what it reads.
  void read_shell_at(const ShellCommand& one, std::size_t shell) {
    bool has_line = false;
    std::string told;  // the line, or the script
    for (std::size_t at = shell + 1; at < one.words.size() && told.empty(); ++at) {
      const std::string& word = one.words[at];
      const bool is_option = word.starts_with('-') || word.starts_with('+');
      has_line = has_line || (is_option && !word.starts_with("--") && word.contains('c'));
      told = is_option ? "" : word;
    }
    if (!one.inputs.empty()) {
      unclear("a shell reads what to do from a here-document");
    }
    const bool reads_a_file =
        std::ranges::any_of(one.files, [](const ShellFile& file) { return !file.writes; });
    if (told.empty() && !reads_a_file) {
      unclear("a shell does what another program tells it");
    } else if (has_line) {
      read_line(std::move(told));
    } else if (is_plain(told)) {
      add_absent(told);
    } else if (shell > 0 && !told.empty()) {
      unclear("what a shell is to run is told by another program");
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
    ScriptReader inner({.directory = directory_, .home = place_.home}, scripts_);
    inner.depth_ = depth_ + 1;
    inner.found_ = found_;
    inner.read(std::move(line));
  }

  void add(const std::string& word) {
    if (word.empty() || has_unknown(word)) {
      return;
    }
    std::error_code error;
    const fs::path file = directory_ / word;
    if (fs::is_regular_file(file, error)) {
      note(file, *found_);
    } else if (is_plain(word) && !word.starts_with('-') && !word.contains("://") &&
               word.find_first_of("./") != std::string::npos) {
      add_absent(word);
    }
  }

  void add_absent(const std::string& word) {
    std::error_code error;
    const fs::path folder = place_.directory.lexically_normal();
    const fs::path file = (directory_ / word).lexically_normal();
    const auto [end, rest] = std::ranges::mismatch(folder, file);
    if (end == folder.end() && rest != file.end() && file.has_filename() &&
        fs::symlink_status(file, error).type() == fs::file_type::not_found) {
      note(file, scripts_.more);
    }
  }

  static void note(const fs::path& file, std::vector<fs::path>& files) {
    if (std::ranges::find(files, file) == files.end()) {
      files.push_back(file);
    }
  }

  // Also what stands in the middle of a word: of an option, of a line in some language.
  void add_all(const std::string& word) {
    add(word);
    for (std::size_t at = 2; word.starts_with('-') && at < std::min<std::size_t>(word.size(), 8);
         ++at) {
      add(word.substr(at));  // `-fX`, `-nfX`
    }
    if (!is_plain(word) || word.find_first_of("=:,") != std::string::npos) {
      add_parts(word);
    }
  }

  void add_parts(const std::string& text) {
    static const RE2 name("([A-Za-z0-9_.@%+-]*[./][A-Za-z0-9_./@%+-]*)");
    re2::StringPiece rest(text);
    std::string found;
    while (RE2::FindAndConsume(&rest, name, &found)) {
      add(found);
    }
  }

  const CommandPlace place_;
  fs::path directory_;
  Scripts& scripts_;
  std::vector<fs::path>* found_ = &scripts_.files;  // where what is there is noted
  int depth_ = 0;
};

constexpr std::string_view k_ends_of_names = ":,;'\") ";
constexpr std::size_t k_longest_cluster = 8;  // of letters of options

// `--file=X`, `-IX`, `a:X`, and what is quoted inside; a cluster of letters may end anywhere.
bool may_begin_a_name(std::string_view word, std::size_t at) {
  constexpr std::string_view k_openers = "=:,;'\"( ";
  return at == 0 || word[at] == '/' || k_openers.contains(word[at - 1]) ||
         (word.front() == '-' && at <= k_longest_cluster);
}

// Where what a word says begins: `X`, `--chdir=X`, `a:X`, `-CX`.
std::vector<std::string_view> ends_of(std::string_view word) {
  constexpr std::string_view k_openers = "=:,;'\"( ";
  std::vector<std::string_view> ends{word};
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (k_openers.contains(word[at - 1]) || (word.front() == '-' && at <= k_longest_cluster)) {
      ends.push_back(word.substr(at));
    }
  }
  return ends;
}

// `~`, `--file=~/x`: what it is, a shell or the program knows.
bool holds_home(const std::string& word) {
  return std::ranges::any_of(ends_of(word), [](auto end) { return end.starts_with('~'); });
}

// The text that a shell among them is to run, as of `env sh -ec TEXT`; empty: none.
std::string text_for_shell(const std::vector<std::string>& words) {
  const auto shell = std::ranges::find_if(words, [](const std::string& word) {
    return is_one_of(k_shells, fs::path(word).filename().native());
  });
  bool has_text = false;
  for (auto word = shell; word != words.end(); ++word) {
    if (word != shell && !word->starts_with('-') && !word->starts_with('+')) {
      return has_text ? *word : "";
    }
    has_text = has_text || (word != shell && !word->starts_with("--") && word->contains('c'));
  }
  return {};
}

}  // namespace

Scripts read_scripts(std::string_view command, const CommandPlace& place) {
  Scripts scripts;
  ScriptReader reader(place, scripts);
  reader.read(std::string(command));
  if (!scripts.unclear.empty()) {
    reader.read_words(std::string(command));  // such as those that a loop is about
  }
  return scripts;
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

std::string why_not_plain(std::string_view command) {
  const auto plain = read_plain(command);
  if (!plain) {
    return plain.error();
  }
  for (const PlainCommand& one : *plain) {
    std::string text = text_for_shell(one.words);
    static const RE2 exec(R"((^|[;&|]\s*)exec\s+([A-Za-z0-9_./]))");  // what it runs is behind it
    RE2::GlobalReplace(&text, exec, R"(\1\2)");
    const std::string why = text.empty() ? "" : why_not_plain(text);
    if (!why.empty()) {
      return "in what it tells a shell, " + why;
    }
  }
  const CommandLine line{std::string(command), {}};
  if (!line.unclear().empty()) {
    return line.unclear().front();
  }
  for (const ShellCommand* one : line.commands()) {
    if (!one->words.empty() && (one->words.front() == "cd" || one->words.front() == "pushd")) {
      return "it changes the folder";
    }
    if (std::ranges::any_of(one->words, has_unknown)) {
      return "it holds a wildcard";
    }
    if (std::ranges::any_of(one->words, holds_home)) {
      return "it holds a `~`: write the path of the folder in its place";
    }
    if (std::ranges::any_of(one->words,
                            [](const auto& word) { return word.size() > k_longest_word; })) {
      return "a word of it is too long";
    }
  }
  return {};
}

std::optional<std::vector<fs::path>> folders_named(std::string_view command,
                                                   const fs::path& directory) {
  constexpr std::size_t k_most = 32;
  const CommandLine line{std::string(command), {}};
  std::vector<std::string> words;
  for (const ShellCommand* one : line.commands()) {
    for (const std::string& word : one->words) {
      for (std::string_view end : ends_of(word)) {
        words.emplace_back(end);
      }
    }
  }
  std::vector<fs::path> folders{directory};
  for (std::size_t at = 0; at < folders.size(); ++at) {
    for (const std::string& word : words) {
      fs::path folder = folders[at] / word;
      std::error_code error;
      if (folder.is_relative() || !fs::is_directory(folder, error)) {
        continue;
      }
      folder = fs::weakly_canonical(folder, error);
      if (std::ranges::find(folders, folder) != folders.end()) {
        continue;
      }
      if (folders.size() == k_most) {
        return std::nullopt;
      }
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

fs::path named_in(std::string_view command,
                  const std::vector<fs::path>& folders,
                  const Meant& meant) {
  fs::path found;
  const auto look_from = [&](const fs::path& folder, std::string_view name, bool is_all) {
    const fs::path path = folder / name;  // `..` behind a link leads where the link does
    if (path.is_relative()) {
      return;
    }
    const std::vector<fs::path> names = sandbox::deciding_on(sandbox::way_to(path));
    const auto one = std::ranges::find_if(names, [&](const fs::path& point) {
      return meant.is(point) || (is_all && meant.is_above && meant.is_above(point));
    });
    if (one != names.end()) {
      found = *one;
    }
  };
  const auto look_at = [&](std::string_view name, bool is_all) {
    for (const fs::path& folder : folders) {
      if (!name.empty() && found.empty()) {
        look_from(folder, name, is_all);
      }
    }
  };
  const auto look_into = [&](std::string_view word) {
    const auto whole = ends_of(word);
    for (std::size_t at = 0; at < word.size() && found.empty(); ++at) {
      if (may_begin_a_name(word, at)) {
        const std::string_view name = word.substr(at);
        const std::string_view first = name.substr(0, name.find_first_of(k_ends_of_names));
        const bool is_all = std::ranges::find(whole, name) != whole.end();
        look_at(name, is_all);
        look_at(first, is_all);  // `/folder:/mount`
      }
    }
  };
  const auto look = [&](std::string_view word) {
    look_into(word);
    if (word.contains('%')) {  // `file:///home/you/my%20project/x.mjs`
      look_into(agent::percent_decoded(word));
    }
  };
  const CommandLine line{std::string(command), {}};
  for (const ShellCommand* one : line.commands()) {
    std::ranges::for_each(one->words, look);
    std::ranges::for_each(one->assignments, look);
    for (const ShellFile& file : one->files) {
      look(file.path);
    }
  }
  return found;
}

FileWatch::FileWatch(std::vector<fs::path> files) {
  for (fs::path& file : files) {
    std::vector<sandbox::WayPoint> way = sandbox::way_to(file);
    std::string content = content_of(file);
    entries_.push_back(
        {.path = std::move(file), .way = std::move(way), .content = std::move(content)});
  }
}

std::vector<FileWatch::Mark> FileWatch::marks() const {
  std::vector<Mark> marks;
  for (const Entry& entry : entries_) {
    struct stat status{};
    const bool is_there = ::stat(entry.path.c_str(), &status) == 0;
    constexpr std::int64_t k_second = 1'000'000'000;
    marks.push_back(is_there ? Mark{static_cast<std::int64_t>(status.st_dev),
                                    static_cast<std::int64_t>(status.st_ino),
                                    status.st_ctim.tv_sec * k_second + status.st_ctim.tv_nsec}
                             : Mark{});
  }
  return marks;
}

fs::path FileWatch::changed_since(const std::vector<Mark>& marks) const {
  const std::vector<Mark> now = this->marks();
  const auto [before, after] = std::ranges::mismatch(marks, now);
  return before == marks.end() ? fs::path()
                               : entries_[static_cast<std::size_t>(before - marks.begin())].path;
}

fs::path FileWatch::changed() const {
  for (const Entry& entry : entries_) {
    if (sandbox::way_to(entry.path) != entry.way || content_of(entry.path) != entry.content) {
      return entry.path;
    }
  }
  return {};
}

}  // namespace tools

#include "tools/hooks/outside_words.h"

#include "agent/text.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/known_programs.h"
#include "tools/permissions/plain_command.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/sandbox/way.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_longest_word = 1'000;
constexpr std::string_view k_ends_of_names = ":,;'\") ";
constexpr std::size_t k_longest_cluster = 8;  // of letters of options

// `--file=X`, `-IX`, `a:X`, what is quoted inside, and `../X` behind anything; a cluster of letters
// may end anywhere.
bool may_begin_here(std::string_view word, std::size_t at) {
  constexpr std::string_view k_openers = "=:,;'\"( ";
  const char before = at == 0 ? ' ' : word[at - 1];
  const std::string_view rest = word.substr(at);
  const bool is_up = (rest.starts_with("../") || rest == "..") && before != '/' && before != '.';
  return k_openers.contains(before) || is_up || (word.front() == '-' && at <= k_longest_cluster);
}

bool may_begin_a_name(std::string_view word, std::size_t at) {
  return word[at] == '/' || may_begin_here(word, at);
}

// `~`, `--file=~/x`: what it is, a shell or the program knows.
bool holds_home(const std::string& word) {
  return std::ranges::any_of(ends_of_word(word), [](auto end) { return end.starts_with('~'); });
}

// The text that a shell among them is to run, as of `env sh -ec TEXT`; empty: none.
std::string text_for_shell(const std::vector<std::string>& words) {
  const auto shell = std::ranges::find_if(
      words, [](const std::string& word) { return is_shell(base_name(word)); });
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

std::vector<std::string_view> ends_of_word(std::string_view word) {
  std::vector<std::string_view> ends{word};
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (may_begin_here(word, at)) {
      ends.push_back(word.substr(at));
    }
  }
  return ends;
}

std::string_view name_from_start(std::string_view word) {
  const auto is_up = [](const fs::path& part) { return part == ".."; };
  const auto is_from_here = [&](std::string_view end) {
    end = end.substr(0, end.find_first_of(k_ends_of_names));  // `..:lib`
    return !end.starts_with('/') &&
           (end.starts_with("./") || std::ranges::any_of(fs::path(end), is_up));
  };
  const auto ends = ends_of_word(word);
  const auto found = std::ranges::find_if(ends, is_from_here);
  return found == ends.end() ? std::string_view() : *found;
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
      for (std::string_view end : ends_of_word(word)) {
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
    const auto whole = ends_of_word(word);
    const auto look_at_names = [&](bool are_absolute) {
      for (std::size_t at = 0; at < word.size() && found.empty(); ++at) {
        if ((word[at] == '/') != are_absolute || !may_begin_a_name(word, at)) {
          continue;
        }
        const std::string_view name = word.substr(at);
        const std::string_view first = name.substr(0, name.find_first_of(k_ends_of_names));
        const bool is_all = std::ranges::find(whole, name) != whole.end();
        look_at(name, is_all);
        look_at(first, is_all);  // `/folder:/mount`
      }
    };
    look_at_names(true);  // of `-I/folder`, the folder is what is told
    look_at_names(false);
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

}  // namespace tools

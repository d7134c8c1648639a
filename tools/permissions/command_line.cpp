#include "tools/permissions/command_line.h"

#include "agent/text.h"
#include "tools/permissions/shell_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr int k_deepest = 12;                // programs that run programs
constexpr std::size_t k_most_words = 5'000;  // of a line, with those of the programs that it starts

// Programs that change the files which they are given.
constexpr auto k_writers = std::to_array<std::string_view>(
    {"chgrp",   "chmod",  "chown", "cp",    "dd",       "install", "ln",
     "mkdir",   "mkfifo", "mv",    "patch", "rm",       "rmdir",   "rsync",
     "setfacl", "shred",  "tee",   "touch", "truncate", "unlink"});

constexpr auto k_harmless_files = std::to_array<std::string_view>(
    {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"});

// As a rule reads it: a word that holds blanks in quotes, so that it is not taken for several.
std::string shown(const ShellCommand& command) {
  std::string text;
  for (const auto* words : {&command.assignments, &command.words}) {
    for (const std::string& word : *words) {
      text += text.empty() ? "" : " ";
      const bool is_split = word.empty() || word.find_first_of(" \t\n") != std::string::npos;
      text += is_split ? "'" + word + "'" : word;
    }
  }
  return text;
}

// What in a word may be a path: all of it, what stands behind `=` or `:`, or behind `-f`.
std::vector<std::string_view> paths_in(std::string_view word) {
  std::vector<std::string_view> paths{word};
  for (const std::size_t at : {word.find('='), word.rfind('='), word.rfind(':'), word.find('@')}) {
    if (at != std::string_view::npos && at + 1 < word.size()) {
      paths.push_back(word.substr(at + 1));
    }
  }
  if (word.size() > 2 && word[0] == '-' && word[1] != '-') {
    paths.push_back(word.substr(2));
  }
  return paths;
}

}  // namespace

CommandLine::CommandLine(std::string text, PathPattern::Folders folders)
    : text_(std::move(text)), folders_(std::move(folders)) {
  ShellScript script = read_shell(text_);
  for (std::string& why : script.unclear) {
    note(std::move(why));
  }
  for (ShellCommand& command : script.commands) {
    gather({.command = std::move(command)}, 0);
  }
}

void CommandLine::note(std::string why) {
  if (std::ranges::find(unclear_, why) == unclear_.end()) {
    unclear_.push_back(std::move(why));
  }
}

void CommandLine::gather(Part part, int depth) {
  words_ += part.command.words.size() + 1;
  if (depth > k_deepest || words_ > k_most_words) {
    note("it is too long or too deep");
    return;
  }
  if (!part.command.words.empty() && has_unknown(base_name(part.command.words.front()))) {
    note("the name of a command is only known when it runs");
  }
  Started started = started_by(part.command);
  part.is_clear = started.unclear.empty();
  part.is_wrapper = started.is_wrapper;
  const bool is_certain = part.is_certain;
  parts_.push_back(std::move(part));
  if (is_certain) {
    for (std::string& why : started.unclear) {
      note(std::move(why));
    }
  }
  for (Start& start : started.starts) {
    gather({.command = std::move(start.command),
            .is_certain = is_certain && start.how != Start::How::may_run,
            .is_read = start.how == Start::How::reads},
           depth + 1);
  }
}

Match CommandLine::forbidden_by(const TextPattern& commands) const {
  Match worst = Match::no;
  for (const Part& part : parts_) {
    Match match = commands.forbids(part.command.words);
    if (match == Match::yes && !part.is_certain) {
      match = Match::maybe;
    }
    worst = std::max(worst, match);
  }
  return worst;
}

// Where a relative path may begin: here, or in any folder that the line names and may change to.
std::vector<fs::path> CommandLine::starts() const {
  std::vector<fs::path> starts{folders_.cwd, folders_.home};
  for (const Part& part : parts_) {
    for (const std::string& word : part.command.words) {
      std::error_code error;
      const fs::path path = folders_.cwd / word;
      const bool is_new = std::ranges::find(starts, path) == starts.end();
      if (!has_unknown(word) && is_new && starts.size() < 32 && fs::is_directory(path, error)) {
        starts.push_back(path);
      }
    }
  }
  return starts;
}

Match CommandLine::forbidden_by(const PathPattern& paths,
                                std::string_view word,
                                const std::vector<fs::path>& starts) const {
  Match worst = Match::no;
  for (const std::string_view one : paths_in(word)) {
    const bool at_home = one == "~" || one.starts_with("~/");
    if (one.starts_with('~') && !at_home) {
      worst = std::max(worst, Match::maybe);  // another user's home, or `~+`
    }
    for (const fs::path& start : starts) {
      const fs::path path =
          at_home ? folders_.home / one.substr(std::min<std::size_t>(2, one.size())) : start / one;
      if (!has_unknown(one) ? paths.forbids(path, true)
                            : paths.may_forbid(path.lexically_normal().string())) {
        worst = std::max(worst, has_unknown(one) ? Match::maybe : Match::yes);
      }
    }
  }
  // What is unknown may lead up and down again, or be the whole of an absolute path.
  return word.contains(k_unknown) ? std::max(worst, Match::maybe) : worst;
}

Match CommandLine::forbidden_by(const PathPattern& paths, Effect effect) const {
  const std::vector<fs::path> from = starts();
  Match worst = Match::no;
  for (const Part& part : parts_) {
    const ShellCommand& command = part.command;
    for (const ShellFile& file : command.files) {
      if (file.writes == (effect == Effect::writes)) {
        worst = std::max(worst, forbidden_by(paths, file.path, from));
      }
    }
    const bool acts =
        effect == Effect::reads ||
        (!command.words.empty() &&
         std::ranges::find(k_writers, base_name(command.words.front())) != k_writers.end());
    for (const auto* words : {&command.assignments, &command.words}) {
      for (const std::string& word : *words) {
        const Match match = forbidden_by(paths, word, from);
        worst = std::max(worst, acts ? match : std::min(match, Match::maybe));
      }
    }
  }
  return worst;
}

bool CommandLine::is_exactly(const TextPattern& rule) const {
  return rule.is_literal() && agent::trimmed(text_) == agent::trimmed(rule.literal());
}

bool CommandLine::is_allowed(const std::function<bool(std::string_view)>& is_allowed,
                             const std::function<bool(const fs::path&)>& may_write) const {
  const bool moves = std::ranges::any_of(parts_, [](const Part& part) {
    const auto& words = part.command.words;
    return !words.empty() &&
           (words.front() == "cd" || words.front() == "pushd" || words.front() == "popd");
  });
  const bool writes_well = std::ranges::all_of(parts_, [&](const Part& part) {
    return std::ranges::all_of(part.command.files, [&](const ShellFile& file) {
      return !file.writes ||
             std::ranges::find(k_harmless_files, file.path) != k_harmless_files.end() ||
             (!has_unknown(file.path) && !file.path.starts_with('~') &&
              (!moves || file.path.starts_with('/')) && may_write(folders_.cwd / file.path));
    });
  });
  return unclear_.empty() && writes_well && std::ranges::all_of(parts_, [&](const Part& part) {
           const std::string text = shown(part.command);
           const bool is_transparent = part.is_wrapper && part.command.assignments.empty();
           return text.empty() || part.is_read ||
                  (part.is_clear && (is_transparent || is_allowed(text)));
         });
}

}  // namespace tools

#include "tools/permissions/command_line.h"

#include "agent/text.h"
#include "tools/permissions/plain_command.h"
#include "tools/permissions/program_options.h"
#include "tools/permissions/shell_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr int k_deepest = 12;                // programs that run programs
constexpr int k_most_entries = 20'000;       // of folders, for the wildcards of a line
constexpr std::size_t k_most_words = 5'000;  // of a line, with those of the programs that it starts

// Programs that change the files which they are given.
constexpr auto k_writers = std::to_array<std::string_view>(
    {"chgrp",   "chmod",  "chown", "cp",    "dd",       "install", "ln",
     "mkdir",   "mkfifo", "mv",    "patch", "rm",       "rmdir",   "rsync",
     "setfacl", "shred",  "tee",   "touch", "truncate", "unlink"});

bool is_part_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// "rm" in "/bin/rm", "a;rm x", "X=rm" and "-mrm", not in "--rm", "rmdir" or "list.rm".
bool names(std::string_view text, std::string_view name) {
  const bool is_option = text.size() > 2 && text[0] == '-' && text[1] != '-';
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || (is_option && at == 2) ||
         (!is_part_of_name(text[at - 1]) && text[at - 1] != '.')) &&
        (end == text.size() || !is_part_of_name(text[end]))) {
      return true;
    }
  }
  return false;
}

// The text as a shell that is given it may have it: without quotes.
std::string unquoted(std::string_view text) {
  std::string bare(text);
  std::erase_if(bare, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
  return bare;
}

// What such a shell puts in by itself may be any name.
bool has_expansion(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('$', at)) != std::string_view::npos; ++at) {
    const std::string_view next = text.substr(at + 1, 1);
    if (next == "{" || next == "(" || std::ranges::any_of(next, is_part_of_name)) {
      return true;
    }
  }
  return text.contains('`');
}

bool may_name(std::string_view text, std::string_view name) {
  return names(text, name) || names(unquoted(text), name) || has_expansion(text);
}

// Whether each name may stand in what a command is given, and that is more than data. The words of
// a wrapper are looked at as the command that they are; its variables are there for both.
bool names_all(const ShellCommand& command,
               bool is_wrapper,
               const std::vector<std::string>& wanted) {
  const auto are_in = [&](const std::vector<std::string>& texts, std::size_t from) {
    return std::ranges::all_of(wanted, [&](const std::string& name) {
      return std::any_of(texts.begin() + static_cast<std::ptrdiff_t>(std::min(from, texts.size())),
                         texts.end(),
                         [&](const std::string& text) { return may_name(text, name); });
    });
  };
  if (are_in(command.assignments, 0)) {
    return true;
  }
  return !is_wrapper && !command.words.empty() && !coverage_of(command.words).is_data &&
         (are_in(command.words, 1) || are_in(command.inputs, 0));
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

using Fit = CommandPattern::Fit;

// Beside those that only show or arrange data: no name leads elsewhere after them.
constexpr auto k_make_no_links = std::to_array<std::string_view>(
    {"[", "cd", "chmod", "mkdir", "rm", "rmdir", "sleep", "test", "touch"});

bool may_make_links(const PlainCommand& command) {
  const std::string_view program = base_name(command.words.front());
  return !coverage_of(command.words).is_data &&
         std::ranges::find(k_make_no_links, program) == k_make_no_links.end();
}

constexpr auto k_do_nothing = std::to_array<std::string_view>({":", "false", "true"});

Fit best_fit(std::span<const CommandPattern* const> rules,
             std::span<const std::string> words,
             const Coverage& coverage) {
  Fit best = Fit::no;
  for (const CommandPattern* rule : rules) {
    best = std::max(best, rule->fit(words, coverage.words));
  }
  return best;
}

// As a whole, or without what it stands behind (`nice`, `timeout 5`).
std::expected<void, std::string> covered_by(
    std::span<const CommandPattern* const> rules,
    const PlainCommand& command,
    const std::function<bool(std::string_view word)>& is_closed) {
  std::string why;
  for (const std::size_t start : command.starts) {
    const std::span<const std::string> words = std::span(command.words).subspan(start);
    Coverage coverage = coverage_of(words);
    for (std::size_t at = 0; at < words.size(); ++at) {
      coverage.words[at] = coverage.words[at] && !is_closed(words[at]);
    }
    const bool does_nothing =
        words.size() == 1 && std::ranges::find(k_do_nothing, words[0]) != k_do_nothing.end();
    const Fit fit = does_nothing ? Fit::yes : best_fit(rules, words, coverage);
    if (fit == Fit::yes && !coverage.runs_its_input) {
      return {};
    }
    if (fit == Fit::yes) {
      why = fmt::format("`{}` would run what it reads, which no rule can allow", words[0]);
    } else if (fit == Fit::but_for_options) {
      const auto open = std::ranges::find(coverage.words, false) - coverage.words.begin();
      why = fmt::format("`{}` of `{}` must stand in the rule; no `*` stands for it",
                        agent::one_line(words[static_cast<std::size_t>(open)]),
                        words[0]);
    } else if (why.empty()) {
      why = fmt::format("no rule allows `{}`", words[0]);
    }
  }
  return std::unexpected(std::move(why));
}

}  // namespace

std::string_view bare_line(std::string_view text) {
  constexpr std::string_view k_blanks = " \t\n";  // of a shell: a \r is a character
  const std::size_t first = std::min(text.find_first_not_of(k_blanks), text.size());
  const std::string_view bare = text.substr(first, text.find_last_not_of(k_blanks) + 1 - first);
  return bare.ends_with('\\') ? text : bare;
}

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

std::vector<const ShellCommand*> CommandLine::commands() const {
  std::vector<const ShellCommand*> commands;
  std::ranges::transform(
      parts_, std::back_inserter(commands), [](const Part& part) { return &part.command; });
  return commands;
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
            .is_certain = is_certain && start.how != Start::How::may_run},
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
  const std::vector<std::string> names = commands.names();
  const bool is_named = std::ranges::any_of(parts_, [&](const Part& part) {
    return !names.empty() && names_all(part.command, part.is_wrapper, names);
  });
  return is_named ? std::max(worst, Match::maybe) : worst;
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
                                const std::vector<fs::path>& starts,
                                int& to_look_at) const {
  Match worst = Match::no;
  for (const std::string_view one : paths_in(word)) {
    const bool at_home = one == "~" || one.starts_with("~/");
    if (one.starts_with('~') && !at_home) {
      worst = std::max(worst, Match::maybe);  // another user's home, or `~+`
    }
    for (const fs::path& start : starts) {
      const fs::path path =
          at_home ? folders_.home / one.substr(std::min<std::size_t>(2, one.size())) : start / one;
      if (!has_unknown(one) ? paths.forbids(path, true) : paths.may_forbid(path, to_look_at)) {
        worst = std::max(worst, has_unknown(one) ? Match::maybe : Match::yes);
      }
    }
  }
  // What is unknown may lead up and down again, or be the whole of an absolute path.
  const bool is_open = word.contains(k_unknown) || is_of_processes(word, starts);
  return is_open ? std::max(worst, Match::maybe) : worst;
}

// A wildcard may stand for `proc` where it is the first name of an absolute path.
bool CommandLine::is_of_processes(std::string_view word,
                                  const std::vector<fs::path>& starts) const {
  return std::ranges::any_of(paths_in(word), [&](std::string_view one) {
    return std::ranges::any_of(starts, [&](const fs::path& start) {
      const fs::path path = start / one;
      const fs::path plain = path.lexically_normal().relative_path();
      return leads_through_processes(path) ||
             (!plain.empty() && has_unknown(plain.begin()->string()));
    });
  });
}

Match CommandLine::forbidden_by(const PathPattern& paths, Effect effect) const {
  const std::vector<fs::path> from = starts();
  int to_look_at = k_most_entries;
  Match worst = Match::no;
  for (const Part& part : parts_) {
    const ShellCommand& command = part.command;
    for (const ShellFile& file : command.files) {
      if (file.writes == (effect == Effect::writes)) {
        worst = std::max(worst, forbidden_by(paths, file.path, from, to_look_at));
      }
    }
    const bool acts =
        effect == Effect::reads ||
        (!command.words.empty() &&
         std::ranges::find(k_writers, base_name(command.words.front())) != k_writers.end());
    for (const auto* words : {&command.assignments, &command.words}) {
      for (const std::string& word : *words) {
        const Match match = forbidden_by(paths, word, from, to_look_at);
        worst = std::max(worst, acts ? match : std::min(match, Match::maybe));
      }
    }
  }
  return worst;
}

bool CommandLine::is_exactly(const TextPattern& rule) const {
  return rule.is_literal() && bare_line(text_) == bare_line(rule.literal());
}

std::expected<void, std::string> CommandLine::allowed_by(
    std::span<const CommandPattern* const> rules,
    const std::function<bool(const fs::path&)>& may_write) const {
  const auto line = read_plain(text_);
  if (!line) {
    return std::unexpected(fmt::format("no rule with wildcards allows it: {}", line.error()));
  }
  const std::vector<fs::path> from = starts();
  const auto is_closed = [&](std::string_view word) { return is_of_processes(word, from); };
  const auto makes_links = std::ranges::find_if(*line, may_make_links);
  const auto how_many = std::ranges::count_if(*line, may_make_links);
  for (const PlainCommand& command : *line) {
    const bool is_alone = how_many == 0 || (how_many == 1 && &*makes_links == &command);
    for (const ShellFile& file : command.files) {
      if (file.writes && file.path != "/dev/null" && !is_alone) {
        return std::unexpected(
            fmt::format("no rule allows that a line writes `{}` in which `{}` may "
                        "make a link of it",
                        file.path,
                        makes_links->words.front()));
      }
      if (is_closed(file.path)) {
        return std::unexpected(fmt::format("`{}` is a place that processes have", file.path));
      }
      if (file.writes && file.path != "/dev/null" && !may_write(folders_.cwd / file.path)) {
        return std::unexpected(fmt::format("no rule allows that it writes `{}`", file.path));
      }
    }
    if (auto covered = covered_by(rules, command, is_closed); !covered) {
      return covered;
    }
  }
  return {};
}

}  // namespace tools

// What permissions can say of a command line: which of its commands and paths a rule forbids, and
// whether rules allow all of it.
#pragma once
#include "tools/permissions/command_pattern.h"
#include "tools/permissions/path_pattern.h"
#include "tools/permissions/shell_script.h"
#include "tools/permissions/text_pattern.h"

#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Without the blanks around it; those behind a backslash may be part of a name.
std::string_view bare_line(std::string_view text);

class CommandLine {
 public:
  // Reads it; nothing is run. The folders are where relative paths and `~` lead.
  CommandLine(std::string text, PathPattern::Folders folders);

  // Why it cannot be said what it runs; empty: it can. No rule on its commands or paths is then
  // certain to hold.
  const std::vector<std::string>& unclear() const { return unclear_; }

  // Its commands, and those that they start or may start.
  std::vector<const ShellCommand*> commands() const;

  // Yes where it is plainly seen to run what the rule forbids; maybe where the program's name
  // stands in it as more than data.
  Match forbidden_by(const TextPattern& commands) const;
  enum class Effect : bool { reads, writes };
  // A path that a command is given may be read by it, and written where the command is known to.
  Match forbidden_by(const PathPattern& paths, Effect effect) const;

  // Whether the rule stands for this very line, character for character.
  bool is_exactly(const TextPattern& rule) const;
  // Nothing where the line is a plain one (plain_command.h), each of its commands is covered by one
  // of the rules, and each file that it writes is one of which `may_write` says so; else why not.
  std::expected<void, std::string> allowed_by(
      std::span<const CommandPattern* const> rules,
      const std::function<bool(const std::filesystem::path& file)>& may_write) const;

 private:
  struct Part {
    ShellCommand command;
    bool is_certain = true;   // else it may run, depending on what options mean
    bool is_wrapper = false;  // what it starts is all there is
  };

  void gather(Part part, int depth);
  void note(std::string why);
  std::vector<std::filesystem::path> starts() const;
  Match forbidden_by(const PathPattern& paths,
                     std::string_view word,
                     const std::vector<std::filesystem::path>& starts,
                     int& to_look_at) const;
  bool is_of_processes(std::string_view word,
                       const std::vector<std::filesystem::path>& starts) const;

  std::string text_;
  PathPattern::Folders folders_;
  std::vector<Part> parts_;  // its commands, and those that they start
  std::size_t words_ = 0;    // in all of them
  std::vector<std::string> unclear_;
};

}  // namespace tools

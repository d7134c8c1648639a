// What permissions can say of a command line: which of its commands and paths a rule forbids, and
// whether rules allow all of it.
#pragma once
#include "tools/permissions/path_pattern.h"
#include "tools/permissions/shell_script.h"
#include "tools/permissions/text_pattern.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

class CommandLine {
 public:
  // Reads it; nothing is run. The folders are where relative paths and `~` lead.
  CommandLine(std::string text, PathPattern::Folders folders);

  // Why it cannot be said what it runs; empty: it can. No rule on its commands or paths is then
  // certain to hold.
  const std::vector<std::string>& unclear() const { return unclear_; }

  Match forbidden_by(const TextPattern& commands) const;
  enum class Effect : bool { reads, writes };
  // A path that a command is given may be read by it, and written where the command is known to.
  Match forbidden_by(const PathPattern& paths, Effect effect) const;

  // Whether the rule stands for this very line, character for character.
  bool is_exactly(const TextPattern& rule) const;
  // Whether every command is one that `is_allowed` knows (the words with a blank between them), and
  // every file that is written one of which `may_write` says so. Never where something is unclear.
  bool is_allowed(const std::function<bool(std::string_view command)>& is_allowed,
                  const std::function<bool(const std::filesystem::path& file)>& may_write) const;

 private:
  struct Part {
    ShellCommand command;
    bool is_certain = true;  // else it may run, depending on what options mean
    bool is_read = false;    // a file that is read as a program
    bool is_clear = true;    // all that it starts is in here, too
    bool is_wrapper = false;
  };

  void gather(Part part, int depth);
  void note(std::string why);
  std::vector<std::filesystem::path> starts() const;
  Match forbidden_by(const PathPattern& paths,
                     std::string_view word,
                     const std::vector<std::filesystem::path>& starts) const;

  std::string text_;
  PathPattern::Folders folders_;
  std::vector<Part> parts_;  // its commands, and those that they start
  std::size_t words_ = 0;    // in all of them
  std::vector<std::string> unclear_;
};

}  // namespace tools

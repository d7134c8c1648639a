// What a command line would run, read as a shell reads it, and nothing run: every simple command,
// those in substitutions, subshells and loops included. Meant for permissions: where shells differ,
// or only a running shell knows, it says so instead of guessing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Stands in a word for text that is known only when the shell runs: `$x`, `$(…)`, `{a,b}`. It may
// also be several words, or none.
constexpr char k_unknown = '\x01';
// The same for `*` and `?`: part of a file's name, without a slash.
constexpr char k_unknown_name = '\x02';

inline bool is_unknown(char c) {
  return c == k_unknown || c == k_unknown_name;
}
inline bool has_unknown(std::string_view word) {
  return word.find_first_of("\x01\x02") != std::string_view::npos;
}

struct ShellFile {
  std::string path;  // as a word
  bool writes = false;
};

struct ShellCommand {
  std::vector<std::string> assignments = {};  // "A=b", in front of the name
  std::vector<std::string> words = {};        // without their quotes; the name first; may be empty
  std::vector<ShellFile> files = {};          // redirections to and from files
  std::vector<std::string> inputs = {};       // here-documents and here-strings
  bool is_behind_pipe = false;                // its own, or that of what it stands in
};

struct ShellScript {
  std::vector<ShellCommand> commands;       // in the order in which they stand there
  std::vector<std::string> loop_variables;  // of `for` and `select`
  std::vector<std::string> unclear;         // what was not understood; empty: all of it was
};

ShellScript read_shell(std::string_view text);

}  // namespace tools

// Programs that run other programs: what a simple command starts in turn (`sudo rm`, `sh -c …`,
// `find -exec …`), from tables as data.
#pragma once
#include "tools/permissions/shell_script.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct Start {
  enum class How : std::uint8_t {
    runs,     // it runs this, or reads it as a program
    may_run,  // or this, depending on what its options mean
  };
  ShellCommand command;
  How how = How::runs;
};

struct Started {
  std::vector<Start> starts;
  std::vector<std::string> unclear;  // what it runs and cannot be seen here
  bool is_wrapper = false;           // it does nothing of its own: what it runs is all there is
};

Started started_by(const ShellCommand& command);

// What a shell is told to run, by its words.
struct ToldShell {
  std::size_t at = 1;         // of its line or its script; behind the last word: it has neither
  bool has_line = false;      // `-c`
  bool reads_input = false;   // `-s`
  bool is_understood = true;  // else an option may be anything
};

// The shell's name first.
ToldShell told_shell(std::span<const std::string> words);

// What a pipe or a descriptor brings, by its name: `-`, `/dev/stdin`.
bool is_known_input(std::string_view word);

// By its name without a path: whether it runs the rest of its words, as `nice` and `sudo` do.
bool starts_the_rest(std::string_view program);

// By its name without a path, which may end with a version: a shell, or another one whose first
// word that is no option is a script, and no command of its own.
bool runs_its_first_word(std::string_view program);

// A shell, or another program that runs a script, or else what it reads; likewise.
bool is_interpreter(std::string_view program);

// "rm" of "/bin/rm".
std::string_view base_name(std::string_view program);

}  // namespace tools

// The one table of commands and options. Parsing, help, man pages and completions are made from
// it; to add a command is to add a row here and a file commands/NAME.cpp.
#pragma once
#include "agent/result.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cli {

struct Parsed;
struct Context;

// What a value is: how it is checked, and what a shell completes there.
enum class Kind : std::uint8_t {
  flag,       // no value
  text,       // anything but the empty string
  choice,     // one of `choices`
  duration,   // 90s, 10m: more than nothing
  count,      // a whole number from 1; 500k
  number,     // a whole number, 0 as well
  money,      // US dollars: more than nothing
  key_value,  // K=V
  file,
  directory,
  agent,  // an agent file
  tool,   // the name of a built-in tool
  code,   // an exit code, its name, or an error code
  topic,  // what `errand help` shows: a topic of the manual, or the first word of a command
};

struct Option {
  std::string_view name;        // "--param"
  std::string_view short_name;  // "-P", or empty
  std::string_view value;       // "K=V"; empty: a flag
  Kind kind = Kind::flag;
  std::string_view environment;  // "ERRAND_MODEL", or empty; the option wins over it
  std::string_view help;         // one line for --help and the completions
  std::string_view details;      // what else the man page says; may be empty
  std::span<const std::string_view> choices = {};
  std::span<const std::string_view> excludes = {};  // options, or the name of a positional
  bool repeated = false;
  bool hidden = false;
  bool lasts = false;  // of a run: it counts when that is carried on, too
};

struct Positional {
  std::string_view name;  // "AGENT"
  Kind kind = Kind::text;
  std::string_view help;
  std::span<const std::string_view> choices = {};
  bool required = false;
  bool repeated = false;  // only the last one
};

struct Example {
  std::string_view line;
  std::string_view says;
};

struct Command {
  std::string_view name;     // "run", "tools call"
  std::string_view summary;  // one line, no period
  std::string_view description;
  std::span<const Positional> positionals;
  std::span<const Option> options;
  std::span<const Example> examples;
  // The exit code of an ending that is no error, normally 0; everything else is the error.
  agent::Result<int> (*run)(const Parsed&, Context&) = nullptr;
  bool is_work = false;  // needs descriptors and memory, and hears signals
  bool hidden = false;
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);               // nullptr where there is none
std::vector<const Command*> commands_of(std::string_view group);  // "tools": tools list, tools call
const Option* find_option(const Command& command, std::string_view name);  // either spelling

// -h/--help, which every command has.
const Option& help_option();

// Commands that are planned but not built: refused as such, not as typing errors.
std::span<const std::string_view> planned_commands();

// A variable that the program reads besides those of the options.
struct Variable {
  std::string_view name;
  std::string_view help;
};
std::span<const Variable> variables();

// Names that other programs use for what this one calls otherwise: "--json" is "-o json".
struct OtherName {
  std::string_view theirs;
  std::string_view ours;
};
std::span<const OtherName> other_names();

}  // namespace cli

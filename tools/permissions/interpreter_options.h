// What an interpreter is told to run: of each the options are known that may stand in front of its
// script. Behind any other nobody can tell which word is the script and which is code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// A program that takes a program in a language of its own: in its options, or from stdin.
struct Interpreter {
  std::string_view name;       // without a version
  std::string_view letters;    // of options whose value is code
  std::string_view words;      // the same, long, separated by blanks
  std::string_view asks = {};  // letters with which it reads more behind its script, from stdin
};

struct ToldProgram {
  enum class What : std::uint8_t {
    script,
    module,   // of Python
    code,     // in an option
    input,    // what it reads
    nothing,  // it shows something, or serves
    unknown,  // an option may be any of these
  };
  What what = What::script;
  std::size_t at = 1;                         // of the script, or of the words for the module
  std::string_view module = {};               // its name
  std::vector<std::string_view> values = {};  // of options, those that may be a path
  bool reads_more = false;                    // from its input, behind its script
};

// The name of the interpreter first. What it returns points into the words.
ToldProgram told_program(const Interpreter& interpreter, std::span<const std::string> words);

}  // namespace tools

// What a `*` in a rule that allows may stand for. Of programs with options that write files, run
// other programs or change the folder, a table names the options that do not: a `*` covers those
// and no other; the rest must stand in the rule. Of all other programs it covers everything.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct Coverage {
  std::vector<bool> words;  // which of a command's words a `*` may stand for
  // It runs what it reads from its input, which no rule can speak of.
  bool runs_its_input = false;
  bool is_listed = false;  // its options are known
  // An option, or a script, that is none of these and may be anything, of the program itself.
  bool has_unknown = false;
  // All of its words are data to it: it runs none of them, and none changes what it runs.
  bool is_data = false;
};

// The words as of PlainCommand, the program's name first.
Coverage coverage_of(std::span<const std::string> words);

// It does nothing but show or arrange data, whatever its options.
bool is_plain_program(std::string_view program);
std::span<const std::string_view> plain_programs();

enum class OptionKind : std::uint8_t { unknown, flag, with_value };

// How an option stands in a list of those of a program, between blanks: "--reverse --key= -name=".
// One that ends in `=` takes a value, in the same word or the next one; in `[=`, in the same word
// if at all.
OptionKind kind_in(std::string_view list, std::string_view name, bool has_value);

}  // namespace tools

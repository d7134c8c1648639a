// What is known of programs that run other programs, or code: tables, looked up by the name of a
// program without its path.
#pragma once
#include "tools/permissions/interpreter_options.h"

#include <cstddef>
#include <string_view>

namespace tools {

// A program that runs the rest of its arguments.
struct Wrapper {
  std::string_view name;
  std::string_view with_value;  // the letters of options that take one
  std::size_t operands = 0;     // in front of the command
  bool is_plain = false;        // without options it changes nothing about what the command does
};
const Wrapper* find_wrapper(std::string_view program);

// By its name, also that of another build, or of another program for the same language: `jruby`.
const Interpreter* find_interpreter(std::string_view program);

// Of Python, one of a package whose modules run code which they are told, or read.
bool is_code_module(std::string_view package);

// A program one of whose commands runs the rest of its arguments.
struct Runner {
  std::string_view names;     // without a version; these lists are separated by blanks
  std::string_view commands;  // none: it runs them itself
  // Known not to be a command; as in the table of program_options.cpp.
  std::string_view options = {};
  std::string_view starts = {};   // what they are the words of, in front of them
  bool is_behind_dashes = false;  // what stands in front of `--` is none of them
  std::size_t operands = 0;       // in front of the program
};
const Runner* find_runner(std::string_view program);

// Variables from which a program takes code, or which program to run.
struct CodeVariable {
  std::string_view name;
  std::string_view options_of = {};  // the interpreter that reads it as options of its own
  std::string_view harmless = {};    // values, separated by blanks
  bool may_be_name = false;          // a plain one is no more than that
};
const CodeVariable* find_code_variable(std::string_view name);

// Options, or commands, by which a program that is none of the above runs code all the same.
struct CodeOption {
  std::string_view name;
  std::string_view words;  // separated by blanks; "x=" is a beginning, a lone "*" any argument
  // getopt's ways: `--to-com` for `--to-command`, a letter among others, its value in the same word
  bool is_abbreviated = false;
};
const CodeOption* find_code_option(std::string_view program);

// Whether its input is data to it, wherever a word names it; beside those that only show data.
bool reads_data(std::string_view program);

// By its name, which may end with a version.
bool is_shell(std::string_view program);

// "python" of "python3.11".
std::string_view without_version(std::string_view name);

// Of a list as in these tables, separated by blanks: "x=" is a beginning, a lone "*" any word.
bool is_in(std::string_view list, std::string_view word);

}  // namespace tools

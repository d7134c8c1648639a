#include "tools/hooks/shell_built_ins.h"

#include "tools/permissions/known_programs.h"
#include "tools/permissions/shell_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <span>

namespace tools {
namespace {

enum class Kind {
  harmless,
  with_options,  // harmless with these options
  with_words,    // harmless with these words up to a `--`
  sets,          // the variables that its words name, with these options
  exports,       // them, too
  unsets,
  takes_a_line,  // all of its words
  traps,         // its first word is a line
  reads_a_file,  // of commands
  other,
};
using enum Kind;

struct BuiltIn {
  std::string_view name;
  Kind kind;
  std::string_view allowed = "--";  // options or words
};

// All of them, not only those that do harm: what is missing here is a program.
constexpr auto k_built_ins = std::to_array<BuiltIn>({
    {"-", other},
    {".", reads_a_file},
    {":", harmless},
    {"[", harmless},
    {"[[", harmless},
    {"alias", other},
    {"autoload", other},
    {"bg", harmless},
    {"bind", other},
    {"bindkey", other},
    {"break", harmless},
    {"bye", harmless},
    {"caller", harmless},
    {"cd", harmless},  // for names: where files are looked for is read elsewhere
    {"chdir", harmless},
    {"compgen", other},
    {"complete", other},
    {"compopt", other},
    {"continue", harmless},
    {"declare", sets, "[-+][aAlru]+|--"},
    {"dirs", other},
    {"disable", other},
    {"disown", harmless},
    {"echo", harmless},
    {"echotc", harmless},
    {"echoti", harmless},
    {"emulate", other},
    {"enable", other},
    {"enum", other},
    {"eval", takes_a_line},
    {"exec", harmless},  // it ends the shell, or redirects
    {"exit", harmless},
    {"export", exports},
    {"false", harmless},
    {"fc", other},
    {"fg", harmless},
    {"float", other},
    {"functions", other},
    {"getln", other},
    {"getopts", sets},
    {"hash", other},
    {"help", harmless},
    {"hist", other},
    {"history", other},
    {"integer", other},
    {"jobs", harmless},
    {"kill", harmless},
    {"let", other},
    {"limit", harmless},
    {"local", sets, "[-+][aAlru]+|--"},
    {"log", harmless},
    {"logout", harmless},
    {"mapfile", sets, "-[dnOsu][0-9]*|-t|--"},
    {"nameref", other},
    {"newgrp", harmless},
    {"nocorrect", other},
    {"noglob", other},
    {"popd", other},
    {"print", with_options, "-[nrR]+|--"},
    {"printf", with_options},
    {"private", sets, "[-+][aAlru]+|--"},
    {"pushd", other},
    {"pushln", other},
    {"pwd", harmless},
    {"r", other},
    {"read", sets, "-.*"},
    {"readarray", sets, "-[dnOsu][0-9]*|-t|--"},
    {"readonly", sets, "-[aA]|--"},
    {"redirect", harmless},
    {"rehash", other},
    {"return", harmless},
    {"sched", other},
    {"set",
     with_words,
     "[-+][befnuvxBCE]*o?|errexit|errtrace|monitor|noclobber|noglob|nounset|pipefail|verbose|"
     "xtrace"},
    {"setopt", other},
    {"shift", harmless},
    {"shopt", with_words, "-[squ]+|dotglob|extglob|failglob|globstar|inherit_errexit|nullglob"},
    {"source", reads_a_file},
    {"stop", harmless},
    {"suspend", harmless},
    {"test", harmless},
    {"times", harmless},
    {"trap", traps},
    {"true", harmless},
    {"ttyctl", harmless},
    {"type", harmless},
    {"typeset", sets, "[-+][aAlru]+|--"},
    {"ulimit", harmless},
    {"umask", harmless},
    {"unalias", other},
    {"unfunction", other},
    {"unhash", other},
    {"unlimit", harmless},
    {"unset", unsets},
    {"unsetopt", other},
    {"vared", other},
    {"wait", with_options, "-[nf]+|--"},
    {"whence", harmless},
    {"where", harmless},
    {"which", harmless},
    {"zcompile", other},
    {"zle", other},
    {"zmodload", other},
    {"zparseopts", other},
    {"zregexparse", other},
    {"zstyle", other},
});
static_assert(std::ranges::is_sorted(k_built_ins, {}, &BuiltIn::name));

constexpr int k_deepest = 4;  // of `eval` and `trap` in one another

using Words = std::span<const std::string>;

const BuiltIn* built_in(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(k_built_ins, name, {}, &BuiltIn::name);
  return found != k_built_ins.end() && found->name == name ? found : nullptr;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && (word.front() == '-' || word.front() == '+');
}

// By a shell, or by the programs of the line.
bool may_be_heeded(std::string_view name, const agent::Environment& known) {
  constexpr auto k_of_shells = std::to_array<std::string_view>({"ENV", "IFS", "PS4", "SHELL"});
  return !is_own_variable(name) &&
         (known.contains(name) || name.contains("PATH") || name.starts_with("BASH") ||
          std::ranges::find(k_of_shells, name) != k_of_shells.end() ||
          find_code_variable(name) != nullptr);
}

std::string sets_variable(std::string_view name) {
  return fmt::format("it sets `{}`, which programs may heed", name);
}

// What it assigns is looked at where the line is read: not here.
std::string changes_variables(const BuiltIn& one, Words words, const agent::Environment& known) {
  for (const std::string& word : words) {
    if (has_unknown(word.substr(0, word.find('=')))) {
      return "it sets a variable whose name only a running shell knows";
    }
    if (!shell::is_name(word)) {
      continue;
    }
    const bool is_heeded = one.name == "readonly" ? false
                           : one.kind == exports  ? is_own_variable(word) || !known.contains(word)
                           : one.kind == unsets   ? word == "PATH"
                                                  : may_be_heeded(word, known);
    if (is_heeded) {
      return sets_variable(word);
    }
  }
  return {};
}

bool is_allowed(const BuiltIn& one, Words words) {
  const RE2 allowed(one.allowed);
  for (const std::string& word : words) {
    if (word == "--") {
      return true;
    }
    const bool is_operand = one.kind != with_words && !is_option(word);
    if (is_operand && one.kind == with_options) {
      return true;
    }
    if (!is_operand && !RE2::FullMatch(word, allowed)) {
      return false;
    }
  }
  return true;
}

// `trap LINE SIGNAL`; empty: it has none.
std::string_view trapped(Words words) {
  const auto line =
      std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
  return line == words.end() ? std::string_view() : std::string_view(*line);
}

// Without what says that a built-in is meant. `command -v` runs nothing.
Words without_wrappers(Words words) {
  while (!words.empty() &&
         (words.front() == "builtin" || words.front() == "command" || words.front() == "time")) {
    words = words.subspan(1);
    if (!words.empty() && (words.front() == "-v" || words.front() == "-V")) {
      return {};
    }
    while (!words.empty() && is_option(words.front())) {
      words = words.subspan(1);
    }
  }
  return words;
}

std::string changes_names(const ShellScript& line, const agent::Environment& known, int depth);

std::string changes_names(Words words, const agent::Environment& known, int depth) {
  words = without_wrappers(words);
  if (words.empty()) {
    return {};
  }
  const BuiltIn* const one = built_in(words.front());
  if (one == nullptr) {
    return {};
  }
  const Words rest = words.subspan(1);
  switch (one->kind) {
    case harmless:
      return {};
    case takes_a_line: {
      const bool has_dashes = !rest.empty() && rest.front() == "--";
      return changes_names(
          read_shell(fmt::format("{}", fmt::join(rest.subspan(has_dashes ? 1 : 0), " "))),
          known,
          depth + 1);
    }
    case traps:
      return changes_names(read_shell(trapped(rest)), known, depth + 1);
    case reads_a_file:
      return fmt::format("the file of its `{}` says what the other names mean", one->name);
    case other:
      break;
    case with_options:
    case with_words:
      if (is_allowed(*one, rest)) {
        return {};
      }
      break;
    case sets:
    case exports:
    case unsets:
      if (is_allowed(*one, rest)) {
        return changes_variables(*one, rest, known);
      }
      break;
  }
  return fmt::format("its `{}` may change what the other names mean", one->name);
}

std::string changes_names(const ShellScript& line, const agent::Environment& known, int depth) {
  if (depth > k_deepest) {
    return "it is nested too deeply";
  }
  for (const std::string& name : line.loop_variables) {
    if (may_be_heeded(name, known)) {
      return sets_variable(name);
    }
  }
  for (const ShellCommand& one : line.commands) {
    if (std::string why = changes_names(one.words, known, depth); !why.empty()) {
      return why;
    }
  }
  return {};
}

}  // namespace

bool is_shell_built_in(std::string_view name) {
  return built_in(name) != nullptr;
}

bool is_own_variable(std::string_view name) {
  return std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string changes_names(const ShellScript& line, const agent::Environment& known) {
  const auto told_a_line = [](const ShellCommand& one) {
    return !one.words.empty() && (one.words.front() == "eval" || one.words.front() == "trap");
  };
  if (line.commands.size() > 1 || !line.loop_variables.empty()) {
    return changes_names(line, known, 0);
  }
  const bool has_more =  // a lone `eval` or `trap` changes names for the rest of its own line
      !line.commands.empty() && told_a_line(line.commands.front()) &&
      read_shell(fmt::format("{}", fmt::join(line.commands.front().words, " "))).commands.size() >
          1;
  return has_more ? changes_names(line, known, 0) : std::string();
}

}  // namespace tools

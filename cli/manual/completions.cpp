#include "cli/manual/completions.h"

#include "agent/error.h"
#include "agent/outcome.h"
#include "cli/manual/topics.h"
#include "cli/options.h"
#include "tools/builtin/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace cli {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<const Command*> visible() {
  std::vector<const Command*> list;
  for (const Command& command : commands()) {
    if (!command.hidden) {
      list.push_back(&command);
    }
  }
  return list;
}

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> list;
  for (const Option& option : command.options) {
    list.push_back(&option);
  }
  list.push_back(&help_option());
  return list;
}

std::string first_word(std::string_view name) {
  return std::string(name.substr(0, name.find(' ')));
}

std::string second_word(std::string_view name) {
  const auto space = name.find(' ');
  return space == std::string_view::npos ? std::string() : std::string(name.substr(space + 1));
}

struct FirstWord {
  std::string name;
  std::string summary;
};

std::vector<FirstWord> first_words() {
  std::vector<FirstWord> list;
  for (const Command* command : visible()) {
    const std::string name = first_word(command->name);
    if (list.empty() || list.back().name != name) {
      list.push_back({name, std::string(command->summary)});
    } else {
      list.back().summary += ", " + std::string(command->summary);
    }
  }
  return list;
}

// The words that a value of this kind can be; empty where only the shell knows (files), or nobody.
Words values_of(Kind kind, std::span<const std::string_view> choices) {
  Words words(choices.begin(), choices.end());
  if (kind == Kind::tool) {
    for (const auto& name : tools::builtin_names()) {
      words.emplace_back(name);
    }
  } else if (kind == Kind::code) {
    for (const agent::ExitRow& row : agent::exit_table()) {
      words.push_back(std::to_string(row.exit_code));
      words.emplace_back(row.name);
    }
    for (const agent::CodeRow& row : agent::error_table()) {
      words.emplace_back(row.name);
    }
  } else if (kind == Kind::topic) {
    for (const FirstWord& command : first_words()) {
      words.push_back(command.name);
    }
    for (const Topic& topic : help_topics()) {
      if (std::ranges::find(words, topic.name) == words.end()) {
        words.emplace_back(topic.name);
      }
    }
  }
  return words;
}

// ---- bash ----

std::string bash_values(Kind kind, std::span<const std::string_view> choices) {
  if (kind == Kind::agent) {
    return "_errand_agents";
  }
  if (kind == Kind::file) {
    return "_errand_files";
  }
  if (kind == Kind::directory) {
    return "_errand_directories";
  }
  const Words words = values_of(kind, choices);
  return words.empty() ? ":" : fmt::format("_errand_words '{}'", joined(words));
}

std::string bash_spellings(const Option& option) {
  return option.short_name.empty() ? std::string(option.name)
                                   : fmt::format("{}|{}", option.short_name, option.name);
}

// What follows an option that wants a value; also which options want one.
std::string bash_option_values(const Command& command) {
  std::string cases;
  for (const Option& option : command.options) {
    if (option.kind != Kind::flag) {
      cases += fmt::format(
          "        {}) {} ;;\n", bash_spellings(option), bash_values(option.kind, option.choices));
    }
  }
  return cases;
}

std::string bash_positionals(const Command& command) {
  std::string cases;
  int at = 0;
  for (const Positional& positional : command.positionals) {
    const std::string values = bash_values(positional.kind, positional.choices);
    cases +=
        fmt::format("        {}) {} ;;\n", positional.repeated ? "*" : std::to_string(at), values);
    ++at;
  }
  if (command.positionals.empty() || !command.positionals.back().repeated) {
    cases += "        *) ;;\n";
  }
  return cases;
}

std::string bash_command(const Command& command) {
  Words names;
  std::string with_value;
  for (const Option* option : options_of(command)) {
    names.emplace_back(option->name);
    if (!option->short_name.empty()) {
      names.emplace_back(option->short_name);
    }
    if (option->kind != Kind::flag) {
      with_value += (with_value.empty() ? "" : "|") + bash_spellings(*option);
    }
  }
  return fmt::format(
      "    '{}')\n"
      "      options='{}'\n"
      "      valued='{}'\n"
      "      _errand_scan\n"
      "      case $option in\n{}        *) matched=no ;;\n      esac\n"
      "      [[ $matched = yes ]] && return\n"
      "      [[ $current = -* && $dashes = no ]] && {{ _errand_words \"$options\"; return; }}\n"
      "      case $position in\n{}      esac\n"
      "      ;;\n",
      command.name,
      joined(names),
      with_value.empty() ? "" : fmt::format("|{}|", with_value),
      bash_option_values(command),
      bash_positionals(command));
}

constexpr std::string_view k_bash_head =
    R"bash(# bash completion of errand; made by `errand completions bash`.

_errand_words() {
  local word
  for word in $1; do
    [[ $word = "$current"* ]] && COMPREPLY+=("$word")
  done
}

_errand_files() {
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do
    COMPREPLY+=("$file")
  done < <(compgen -f -- "$current")
}

_errand_directories() {
  local directory
  compopt -o filenames 2>/dev/null
  while IFS= read -r directory; do
    COMPREPLY+=("$directory")
  done < <(compgen -d -- "$current")
}

_errand_agents() {
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do
    if [[ -d $file || $file = *.yaml || $file = *.yml || $file = *.md ]]; then
      COMPREPLY+=("$file")
    fi
  done < <(compgen -f -- "$current")
}

# What stands before the cursor: the option that waits for its value, if there is one, and how many
# arguments that are no options.
_errand_scan() {
  local index word
  option='' position=0 dashes=no matched=yes
  for ((index = first; index < ${#words[@]}; ++index)); do
    word=${words[index]}
    if [[ -n $option ]]; then
      option=''
    elif [[ $dashes = no && $word = -- ]]; then
      dashes=yes
    elif [[ $dashes = no && $word = -?* ]]; then
      [[ $valued = *"|$word|"* ]] && option=$word
    else
      position=$((position + 1))
    fi
  done
}

_errand() {
  local current index command first option valued options position dashes matched
  local -a words=()
  COMPREPLY=()
  # bash makes words of their own of the = in --option=value
  for ((index = 1; index < COMP_CWORD; ++index)); do
    [[ ${COMP_WORDS[index]} = = ]] || words+=("${COMP_WORDS[index]}")
  done
  current=${COMP_WORDS[COMP_CWORD]}
  [[ $current = = ]] && current=''
  command=${words[0]-}
  first=1
)bash";

std::string bash_groups() {
  std::string text;
  std::vector<std::string> done;
  for (const Command* command : visible()) {
    const std::string group = first_word(command->name);
    if (second_word(command->name).empty() || std::ranges::find(done, group) != done.end()) {
      continue;
    }
    Words members;
    for (const Command* other : visible()) {
      if (first_word(other->name) == group) {
        members.push_back(second_word(other->name));
      }
    }
    text += fmt::format(
        "  if [[ $command = {0} ]]; then\n"
        "    if [[ ${{#words[@]}} -lt 2 ]]; then\n"
        "      _errand_words '{1}'\n"
        "      return\n"
        "    fi\n"
        "    command=\"{0} ${{words[1]}}\"\n"
        "    first=2\n"
        "  fi\n",
        group,
        joined(members));
    done.push_back(group);
  }
  return text;
}

// ---- zsh ----

std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    if (byte == '\'') {
      escaped += "'\\''";
    } else if (byte == '[' || byte == ']' || byte == ':' || byte == '\\') {
      escaped += {'\\', byte};
    } else {
      escaped += byte;
    }
  }
  return escaped;
}

std::string zsh_values(Kind kind, std::span<const std::string_view> choices) {
  if (kind == Kind::agent) {
    return "_files -g \"*.(yaml|yml|md)\"";
  }
  if (kind == Kind::file) {
    return "_files";
  }
  if (kind == Kind::directory) {
    return "_files -/";
  }
  const Words words = values_of(kind, choices);
  return words.empty() ? " " : fmt::format("({})", joined(words));
}

std::string zsh_option(const Option& option) {
  const bool has_short = !option.short_name.empty();
  const std::string repeats = option.repeated ? "*" : "";
  const std::string value =
      option.kind == Kind::flag
          ? ""
          : fmt::format(":{}:{}", zsh_text(option.value), zsh_values(option.kind, option.choices));
  const auto one = [&](std::string_view name, bool is_long) {
    const std::string_view joint = value.empty() ? "" : is_long ? "=" : "+";
    const std::string excluded =
        option.repeated || !has_short ? "" : fmt::format("({} {})", option.short_name, option.name);
    return fmt::format(
        "        '{}{}{}{}[{}]{}'", excluded, repeats, name, joint, zsh_text(option.help), value);
  };
  return (has_short ? one(option.short_name, false) + " \\\n" : "") + one(option.name, true);
}

std::string zsh_positional(const Positional& positional, int index) {
  const std::string where = positional.repeated ? "*" : std::to_string(index);
  return fmt::format("        '{}:{}:{}'",
                     where,
                     zsh_text(positional.name),
                     zsh_values(positional.kind, positional.choices));
}

std::string zsh_command(const Command& command) {
  Words lines;
  for (const Option* option : options_of(command)) {
    lines.push_back(zsh_option(*option));
  }
  int index = 1;
  for (const Positional& positional : command.positionals) {
    lines.push_back(zsh_positional(positional, index++));
  }
  return fmt::format("    '{}')\n      _arguments -s -S \\\n{}\n      ;;\n",
                     command.name,
                     fmt::join(lines, " \\\n"));
}

std::string zsh_list(const std::vector<FirstWord>& list, std::string_view indent) {
  std::string text;
  for (const FirstWord& word : list) {
    text += fmt::format("{}'{}:{}'\n", indent, word.name, zsh_text(word.summary));
  }
  return text;
}

std::string zsh_groups() {
  std::string text;
  for (const FirstWord& group : first_words()) {
    std::vector<FirstWord> members;
    for (const Command* command : visible()) {
      if (first_word(command->name) == group.name && !second_word(command->name).empty()) {
        members.push_back({second_word(command->name), std::string(command->summary)});
      }
    }
    if (!members.empty()) {
      text += fmt::format(
          "  if [[ $command = {0} ]]; then\n"
          "    if (( CURRENT == 2 )); then\n"
          "      commands=(\n{1}      )\n"
          "      _describe 'command' commands\n"
          "      return\n"
          "    fi\n"
          "    command=\"{0} $words[2]\"\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "  fi\n",
          group.name,
          zsh_list(members, "        "));
    }
  }
  return text;
}

// ---- fish ----

std::string fish_text(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    if (byte == '\'' || byte == '\\') {
      escaped += '\\';
    }
    escaped += byte;
  }
  return escaped;
}

std::string fish_values(Kind kind, std::span<const std::string_view> choices) {
  if (kind == Kind::agent) {
    return " -k -a '(__errand_agents)'";
  }
  if (kind == Kind::file) {
    return " -F";
  }
  if (kind == Kind::directory) {
    return " -a '(__fish_complete_directories)'";
  }
  const Words words = values_of(kind, choices);
  return words.empty() ? "" : fmt::format(" -a '{}'", joined(words));
}

std::string fish_condition(const Command& command) {
  return fmt::format("complete -c errand -n '__errand_using {}'", command.name);
}

std::string fish_command(const Command& command) {
  std::string text;
  for (const Option* option : options_of(command)) {
    const std::string short_name =
        option->short_name.empty() ? "" : fmt::format(" -s {}", option->short_name.substr(1));
    const std::string value = option->kind == Kind::flag ? ""
                              : option->kind == Kind::file
                                  ? " -r -F"
                                  : " -x" + fish_values(option->kind, option->choices);
    text += fmt::format("{}{} -l {}{} -d '{}'\n",
                        fish_condition(command),
                        short_name,
                        option->name.substr(2),
                        value,
                        fish_text(option->help));
  }
  for (const Positional& positional : command.positionals) {
    const std::string values = fish_values(positional.kind, positional.choices);
    if (!values.empty()) {
      text += fmt::format("{}{}\n", fish_condition(command), values);
    }
  }
  return text;
}

constexpr std::string_view k_fish_head =
    R"fish(# fish completion of errand; made by `errand completions fish`.

function __errand_agents
    set -l start (commandline -ct)
    for file in $start*.yaml $start*.yml $start*.md $start*/
        echo $file
    end
end

# True where the command line begins with these words.
function __errand_using
    set -l words (commandline -opc)
    set -e words[1]
    for word in $argv
        test "$words[1]" = "$word"; or return 1
        set -e words[1]
    end
    return 0
end

function __errand_at
    set -l words (commandline -opc)
    test (count $words) -eq (math 1 + (count $argv)); and __errand_using $argv
end

complete -c errand -f
complete -c errand -n __errand_at -s h -l help -d 'show this help'
complete -c errand -n __errand_at -s V -l version -d 'print the version'
)fish";

}  // namespace

std::string bash_completions() {
  Words names;
  for (const FirstWord& word : first_words()) {
    names.push_back(word.name);
  }
  std::string text(k_bash_head);
  text += fmt::format(
      "  if [[ ${{#words[@]}} -eq 0 ]]; then\n"
      "    _errand_words '{} --help --version'\n"
      "    return\n"
      "  fi\n",
      joined(names));
  text += bash_groups();
  text += "  case $command in\n";
  for (const Command* command : visible()) {
    text += bash_command(*command);
  }
  return text + "    *) ;;\n  esac\n}\n\ncomplete -F _errand errand\n";
}

std::string zsh_completions() {
  std::string text = fmt::format(
      "#compdef errand\n"
      "# zsh completion of errand; made by `errand completions zsh`.\n\n"
      "_errand() {{\n"
      "  local curcontext=$curcontext command\n"
      "  local -a commands\n"
      "  if (( CURRENT == 2 )); then\n"
      "    commands=(\n{}    )\n"
      "    _describe 'command' commands\n"
      "    _arguments '(-h --help)'{{-h,--help}}'[show this help]' "
      "'(-V --version)'{{-V,--version}}'[print the version]'\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  command=$words[1]\n",
      zsh_list(first_words(), "      "));
  text += zsh_groups();
  text += "  case $command in\n";
  for (const Command* command : visible()) {
    text += zsh_command(*command);
  }
  return text +
         "  esac\n}\n\n"
         "if [[ $funcstack[1] = _errand ]]; then\n"
         "  _errand \"$@\"\n"
         "else\n"
         "  compdef _errand errand\n"
         "fi\n";
}

std::string fish_completions() {
  std::string text(k_fish_head);
  for (const FirstWord& word : first_words()) {
    text += fmt::format(
        "complete -c errand -n __errand_at -a {} -d '{}'\n", word.name, fish_text(word.summary));
  }
  for (const Command* command : visible()) {
    if (const std::string second = second_word(command->name); !second.empty()) {
      text += fmt::format("complete -c errand -n '__errand_at {}' -a {} -d '{}'\n",
                          first_word(command->name),
                          second,
                          fish_text(command->summary));
    }
  }
  for (const Command* command : visible()) {
    text += fish_command(*command);
  }
  return text;
}

}  // namespace cli

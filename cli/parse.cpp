#include "cli/parse.h"

#include "agent/duration.h"
#include "agent/money.h"
#include "agent/text.h"
#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cli {
namespace {

using agent::Result;
using Words = std::vector<std::string>;

std::unexpected<agent::Error> refuse(std::string message, std::string help) {
  return agent::fail(agent::Code::cli_usage, std::move(message), std::move(help));
}

std::string joined(std::span<const std::string_view> words, std::string_view between = ", ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::optional<std::string_view> our_name(std::string_view theirs) {
  const auto found = std::ranges::find(other_names(), theirs, &OtherName::theirs);
  return found == other_names().end() ? std::nullopt : std::optional(found->ours);
}

std::string see_help(const Command& command) {
  return fmt::format("`errand {} --help` shows them all", command.name);
}

// ---- which command ----

std::vector<std::string_view> visible_commands() {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    if (!command.hidden) {
      names.push_back(command.name);
    }
  }
  return names;
}

// The second words of the commands whose first word is `group`.
std::vector<std::string_view> members(std::string_view group) {
  std::vector<std::string_view> names;
  for (const Command* command : commands_of(group)) {
    names.push_back(command->name.substr(group.size() + 1));
  }
  return names;
}

std::unexpected<agent::Error> unknown_command(std::string_view name) {
  if (std::ranges::find(planned_commands(), name) != planned_commands().end()) {
    return refuse(fmt::format("`errand {}` is not yet supported", name),
                  fmt::format("this version has: {}", joined(visible_commands())));
  }
  const auto names = visible_commands();
  std::string help = fmt::format("the commands are: {}", joined(names));
  std::vector<std::string_view> candidates = names;
  candidates.push_back("tools");
  if (const auto ours = our_name(name)) {
    help = fmt::format("did you mean `errand {}`?", *ours);
  } else if (const auto near = agent::nearest(name, candidates)) {
    help = fmt::format("did you mean `errand {}`?", *near);
  } else if (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".md")) {
    help = fmt::format("`errand run {}` runs an agent", name);
  }
  return refuse(fmt::format("unknown command `{}`", name), std::move(help));
}

std::unexpected<agent::Error> option_before_command(std::string_view option) {
  for (const Command& command : commands()) {
    if (!command.hidden && find_option(command, option.substr(0, option.find('='))) != nullptr) {
      return refuse(fmt::format("`{}` comes before the command", option),
                    fmt::format("options follow it: `errand {} {}`", command.name, option));
    }
  }
  return refuse(fmt::format("unknown option `{}`", option),
                "`errand --help` shows the commands; their options follow them");
}

struct Chosen {
  const Command* command;
  std::span<const std::string> rest;
};

Result<Chosen> choose_in_group(std::string_view group,
                               std::span<const std::string> rest,
                               std::span<const std::string_view> names) {
  if (rest.empty()) {
    return refuse(fmt::format("`errand {}` wants one of: {}", group, joined(names)),
                  fmt::format("for example `errand {} {}`", group, names.front()));
  }
  const std::string& word = rest.front();
  if (const Command* command = find_command(fmt::format("{} {}", group, word))) {
    return Chosen{command, rest.subspan(1)};
  }
  const auto near = agent::nearest(word, names);
  return refuse(fmt::format("unknown command `{} {}`", group, word),
                near ? fmt::format("did you mean `errand {} {}`?", group, *near)
                     : fmt::format("`errand {} {} …`", group, joined(names, "|")));
}

Result<Chosen> choose(std::span<const std::string> arguments) {
  const std::string& word = arguments.front();
  const auto rest = arguments.subspan(1);
  if (word == "--version" || word == "-V") {
    return Chosen{find_command("version"), rest};
  }
  if (const Command* command = find_command(word); command != nullptr && !word.contains(' ')) {
    return Chosen{command, rest};
  }
  if (const auto names = members(word); !names.empty()) {
    return choose_in_group(word, rest, names);
  }
  if (word.size() > 1 && word.starts_with('-')) {
    return option_before_command(word);
  }
  return unknown_command(word);
}

// ---- options ----

std::string spelling(const Option& option) {
  return option.value.empty() ? std::string(option.name)
                              : fmt::format("{} {}", option.name, value_name(option));
}

std::unexpected<agent::Error> unknown_option(const Command& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option& option : command.options) {
    names.push_back(option.name);
  }
  std::string help = see_help(command);
  if (const auto ours = our_name(name);
      ours && find_option(command, ours->substr(0, ours->find(' '))) != nullptr) {
    help = fmt::format("did you mean `{}`?", *ours);
  } else if (const auto near = agent::nearest(name, names)) {
    help = fmt::format("did you mean `{}`?", *near);
  } else if (!command.positionals.empty() && command.positionals.back().kind == Kind::text) {
    help += "; an argument that begins with a dash follows `--`";
  }
  return refuse(fmt::format("unknown option `{}` of `errand {}`", name, command.name),
                std::move(help));
}

std::unexpected<agent::Error> without_value(const Option& option) {
  return refuse(fmt::format("`{}` needs a value", option.name),
                fmt::format("`{}`: {}", spelling(option), option.help));
}

// CLI11 would take the next word for the value in `--name=`; and `--` ends options here, always.
struct Prepared {
  Words words;
  Words after_dashes;
};

Prepared prepare(std::span<const std::string> arguments) {
  Prepared prepared;
  const auto dashes = std::ranges::find(arguments, "--");
  for (auto word = arguments.begin(); word != dashes; ++word) {
    if (word->starts_with("--") && word->find('=') == word->size() - 1) {
      prepared.words.push_back(word->substr(0, word->size() - 1));
      prepared.words.emplace_back();
    } else {
      prepared.words.push_back(*word);
    }
  }
  if (dashes != arguments.end()) {
    prepared.after_dashes.assign(dashes + 1, arguments.end());
  }
  return prepared;
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !agent::is_digit(word[1]);
}

void declare(CLI::App& app, const Option& option) {
  const std::string names = option.short_name.empty()
                                ? std::string(option.name)
                                : fmt::format("{},{}", option.short_name, option.name);
  if (option.kind == Kind::flag) {
    app.add_flag(names);
    return;
  }
  app.add_option(names)->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
}

Result<void> take(const CLI::App& app, const Option& option, Parsed& parsed) {
  const Words given = app.get_option(std::string(option.name))->results();
  if (option.kind == Kind::flag) {
    const auto odd = std::ranges::find_if(given, [](const auto& word) { return word != "true"; });
    if (odd != given.end()) {
      return refuse(fmt::format("`{}` takes no value", option.name),
                    fmt::format("`{}` alone: {}", option.name, option.help));
    }
  }
  if (given.size() > 1 && !option.repeated) {
    return refuse(fmt::format("`{}` is given {} times", option.name, given.size()), "give it once");
  }
  if (!given.empty()) {
    parsed.values[std::string(option.name)] = given;
  }
  return {};
}

// What CLI11 does not know as an option, in order: the positionals, or a typing error.
Result<void> take_rest(const Words& words, const Command& command, Parsed& parsed) {
  for (const std::string& word : words) {
    if (looks_like_option(word)) {
      return unknown_option(command, word);
    }
    parsed.positionals.push_back(word);
  }
  return {};
}

// The one way in which CLI11 refuses what it was given here: the last option lacks its value.
std::unexpected<agent::Error> refused(const Command& command, const Words& words) {
  const std::string_view last = words.empty() ? std::string_view{} : words.back();
  if (const Option* option = find_option(command, last)) {
    return without_value(*option);
  }
  if (const Option* option = last.size() > 2 && last[1] != '-'
                                 ? find_option(command, fmt::format("-{}", last.back()))
                                 : nullptr) {  // -qo
    return without_value(*option);
  }
  return refuse(fmt::format("cannot read the options of `errand {}`", command.name),
                see_help(command));
}

Result<void> read_options(std::span<const std::string> arguments, Parsed& parsed) {
  const Command& command = *parsed.command;
  const Prepared prepared = prepare(arguments);
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  declare(app, help_option());
  for (const Option& option : command.options) {
    declare(app, option);
  }
  try {
    app.parse(Words(prepared.words.rbegin(), prepared.words.rend()));
  } catch (const CLI::Error&) {
    return refused(command, prepared.words);
  }
  parsed.help = app.count(std::string(help_option().name)) > 0;
  for (const Option& option : command.options) {
    TRY(take(app, option, parsed));
  }
  TRY(take_rest(app.remaining(), command, parsed));
  parsed.positionals.insert(
      parsed.positionals.end(), prepared.after_dashes.begin(), prepared.after_dashes.end());
  return {};
}

// ---- the environment ----

std::optional<bool> switch_from(std::string_view text) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") {
    return true;
  }
  if (text == "0" || text == "false" || text == "no" || text == "off") {
    return false;
  }
  return std::nullopt;
}

Result<void> read_environment(const agent::Environment& environment, Parsed& parsed) {
  for (const Option& option : parsed.command->options) {
    const auto found = environment.find(option.environment);
    if (option.environment.empty() || parsed.has(option.name) || found == environment.end() ||
        found->second.empty()) {
      continue;
    }
    std::string value = found->second;
    if (option.kind == Kind::flag) {
      const auto is_on = switch_from(value);
      if (!is_on) {
        return refuse(fmt::format("the variable {} is `{}`", option.environment, value),
                      "1 switches it on, 0 switches it off");
      }
      if (!*is_on) {
        continue;
      }
      value = "true";
    }
    parsed.of_variables.emplace(option.name, option.environment);
    parsed.values[std::string(option.name)] = {std::move(value)};
  }
  return {};
}

// ---- values ----

std::unexpected<agent::Error> wrong_choice(std::string_view what,
                                           std::string_view value,
                                           std::span<const std::string_view> choices) {
  std::string help = fmt::format("one of: {}", joined(choices));
  const auto ours = our_name(value);
  if (ours && std::ranges::find(choices, *ours) != choices.end()) {
    help += fmt::format("; did you mean `{}`?", *ours);
  } else if (const auto near = agent::nearest(value, choices)) {
    help += fmt::format("; did you mean `{}`?", *near);
  }
  return refuse(fmt::format("`{}` is not a value of {}", value, what), std::move(help));
}

Result<void> check_value(const std::string& what,
                         Kind kind,
                         std::span<const std::string_view> choices,
                         const std::string& value) {
  if (kind == Kind::choice && std::ranges::find(choices, value) == choices.end()) {
    return wrong_choice(what, value, choices);
  }
  if (kind == Kind::duration) {
    const auto time = agent::parse_duration(value);
    if (!time || time->count() <= 0) {
      return refuse(fmt::format("`{}` is not a duration for {}", value, what),
                    "a number above 0 with a unit, 100 years at most: 500ms, 90s, 10m, 1h30m, 7d");
    }
  }
  if (kind == Kind::count) {
    const auto count = agent::parse_count(value);
    if (!count || *count < 1) {
      return refuse(fmt::format("`{}` is not a count for {}", value, what),
                    what.contains("--max-") ? "a whole number from 1; leave it out for no limit"
                                            : "a whole number from 1");
    }
  }
  if (kind == Kind::number && !agent::parse_count(value)) {
    return refuse(fmt::format("`{}` is not a number for {}", value, what), "a whole number from 0");
  }
  if (kind == Kind::money) {
    const auto amount = agent::Money::parse(value);
    if (!amount || *amount == agent::Money{}) {
      return refuse(fmt::format("`{}` is not an amount for {}", value, what),
                    "US dollars above 0, such as 0.25; leave it out for no limit");
    }
  }
  if (kind == Kind::key_value && (value.find('=') == std::string::npos || value.front() == '=')) {
    return refuse(fmt::format("`{}` is not a K=V pair for {}", value, what),
                  "a name, `=` and a value: `target=main`");
  }
  if (value.empty()) {
    return refuse(fmt::format("the value of {} is empty", what),
                  "give it a value, or leave it out");
  }
  return {};
}

Result<void> check_values(const Parsed& parsed) {
  for (const Option& option : parsed.command->options) {
    if (option.kind == Kind::flag) {
      continue;
    }
    const auto variable = parsed.of_variables.find(option.name);
    const std::string what = variable == parsed.of_variables.end()
                                 ? fmt::format("`{}`", option.name)
                                 : fmt::format("the variable {}", variable->second);
    for (const std::string& value : parsed.all(option.name)) {
      TRY(check_value(what, option.kind, option.choices, value));
    }
  }
  return {};
}

// ---- what goes together ----

bool is_given(const Parsed& parsed, std::string_view name) {
  if (name.starts_with('-')) {
    return parsed.has(name);
  }
  const auto positional = std::ranges::find(parsed.command->positionals, name, &Positional::name);
  const auto index = std::distance(parsed.command->positionals.begin(), positional);
  return parsed.positionals.size() > static_cast<std::size_t>(index);
}

Result<void> check_exclusions(const Parsed& parsed) {
  for (const Option& option : parsed.command->options) {
    for (const std::string_view other : option.excludes) {
      if (parsed.has(option.name) && is_given(parsed, other)) {
        return refuse(fmt::format("`{}` and `{}` cannot be used together", option.name, other),
                      "give one of them");
      }
    }
  }
  return {};
}

Result<void> check_positionals(const Parsed& parsed) {
  const Command& command = *parsed.command;
  const auto& table = command.positionals;
  const std::string how = fmt::format("usage: {}", usage(command));
  if (parsed.positionals.size() > table.size() && (table.empty() || !table.back().repeated)) {
    return refuse(
        fmt::format(
            "`errand {}` does not take `{}`", command.name, parsed.positionals[table.size()]),
        how);
  }
  for (std::size_t at = 0; at < table.size(); ++at) {
    if (table[at].required && parsed.positionals.size() <= at) {
      return refuse(
          fmt::format("`errand {}` needs {}: {}", command.name, table[at].name, table[at].help),
          how);
    }
  }
  for (std::size_t at = 0; at < parsed.positionals.size(); ++at) {
    const Positional& positional = table[std::min(at, table.size() - 1)];
    if (positional.kind == Kind::choice) {
      TRY(check_value(std::string(positional.name),
                      positional.kind,
                      positional.choices,
                      parsed.positionals[at]));
    }
  }
  return {};
}

bool is_help(std::string_view word) {
  return word == help_option().name || word == help_option().short_name;
}

}  // namespace

bool Parsed::has(std::string_view name) const {
  return values.find(name) != values.end();
}

bool Parsed::is_given(std::string_view name) const {
  return has(name) && !of_variables.contains(name);
}

std::size_t Parsed::count(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second.size();
}

std::optional<std::string> Parsed::value(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second.back());
}

std::vector<std::string> Parsed::all(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? Words{} : found->second;
}

Result<Parsed> parse(std::span<const std::string> arguments,
                     const agent::Environment& environment) {
  Parsed parsed;
  if (arguments.empty()) {
    return refuse("no command is given",
                  "`errand run AGENT.yaml \"what to do\"`; `errand --help` shows the rest");
  }
  const bool is_group_help = arguments.size() == 2 && is_help(arguments[1]) &&
                             find_command(arguments[0]) == nullptr &&
                             !commands_of(arguments[0]).empty();
  if (is_help(arguments.front()) || is_group_help) {
    parsed.help = true;
    parsed.group = is_group_help ? arguments.front() : std::string();
    return parsed;
  }
  TRY_ASSIGN(const Chosen chosen, choose(arguments));
  parsed.command = chosen.command;
  if (chosen.rest.empty() && chosen.command->positionals.empty() &&
      chosen.command->options.size() <= 1) {
    return parsed;  // --version: nothing to read, and nothing of a parser to build
  }
  if (chosen.rest.size() == 1 && is_help(chosen.rest.front())) {
    parsed.help = true;
    return parsed;
  }
  TRY(read_options(chosen.rest, parsed));
  if (parsed.help) {
    return parsed;
  }
  TRY(read_environment(environment, parsed));
  TRY(check_values(parsed));
  TRY(check_exclusions(parsed));
  TRY(check_positionals(parsed));
  return parsed;
}

}  // namespace cli

#include "cli/help.h"

#include "agent/text.h"
#include "cli/manual/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cli {
namespace {

constexpr std::size_t k_width = 80;
constexpr std::size_t k_gap = 2;
constexpr std::size_t k_widest_name = 26;  // a longer one has its text on the next line

struct Row {
  std::string name;
  std::string text;
};

// Two columns, the second one wrapped.
std::string table(const std::vector<Row>& rows) {
  std::size_t widest = 0;
  for (const Row& row : rows) {
    widest = std::max(widest, std::min(agent::character_count(row.name), k_widest_name));
  }
  const std::size_t indent = widest + 2 * k_gap;
  std::string text;
  for (const Row& row : rows) {
    const std::size_t used = k_gap + agent::character_count(row.name);
    text += std::string(k_gap, ' ') + row.name;
    text += agent::character_count(row.name) > k_widest_name ? "\n" + std::string(indent, ' ')
                                                             : std::string(indent - used, ' ');
    text += wrapped(row.text, k_width - indent, indent) + "\n";
  }
  return text;
}

std::string positional_usage(const Positional& positional) {
  constexpr std::size_t k_longest = 60;
  const std::string choices = fmt::format("{}", fmt::join(positional.choices, "|"));
  const std::string name =
      choices.empty() || choices.size() > k_longest ? std::string(positional.name) : choices;
  const std::string dots = positional.repeated ? "…" : "";
  return positional.required ? name + dots : "[" + name + dots + "]";
}

std::string option_name(const Option& option) {
  const std::string value = option.value.empty() ? "" : " " + std::string(option.value);
  return option.short_name.empty() ? fmt::format("    {}{}", option.name, value)
                                   : fmt::format("{}, {}{}", option.short_name, option.name, value);
}

std::string examples(const Command& command) {
  std::string text;
  for (const Example& example : command.examples) {
    text += fmt::format("  {}\n      {}\n", example.line, example.says);
  }
  return text.empty() ? text : "Examples:\n" + text + "\n";
}

std::string arguments(const Command& command) {
  std::vector<Row> rows;
  for (const Positional& positional : command.positionals) {
    rows.push_back({std::string(positional.name), std::string(positional.help)});
  }
  return rows.empty() ? std::string() : "Arguments:\n" + table(rows) + "\n";
}

std::string options(const Command& command) {
  std::vector<Row> rows;
  for (const Option& option : command.options) {
    const std::string variable =
        option.environment.empty() ? "" : fmt::format(" [{}]", option.environment);
    rows.push_back({option_name(option), std::string(option.help) + variable});
  }
  rows.push_back({option_name(help_option()), std::string(help_option().help)});
  return "Options:\n" + table(rows);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  const auto break_line = [&] {
    lines += "\n" + std::string(indent, ' ');
    used = 0;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (used > 0 && used + 1 + agent::character_count(word) > width) {
      break_line();
    }
    if (used > 0 && !word.empty()) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += agent::character_count(word);
    if (end < text.size() && text[end] == '\n') {
      break_line();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string value_name(const Option& option) {
  return option.choices.empty() ? std::string(option.value)
                                : fmt::format("{}", fmt::join(option.choices, "|"));
}

std::string usage(const Command& command) {
  std::string text = fmt::format("errand {}", command.name);
  text += command.options.size() > 1 ? " [OPTIONS]" : "";
  if (command.options.size() == 1) {
    const Option& option = command.options.front();
    const std::string_view name = option.short_name.empty() ? option.name : option.short_name;
    text += option.value.empty() ? fmt::format(" [{}]", name)
                                 : fmt::format(" [{} {}]", name, value_name(option));
  }
  for (const Positional& positional : command.positionals) {
    text += " " + positional_usage(positional);
  }
  return text;
}

std::string help(const Command& command) {
  return fmt::format("{}Usage: {}\n\n{}\n\n{}{}",
                     examples(command),
                     usage(command),
                     wrapped(command.description, k_width, 0),
                     arguments(command),
                     options(command));
}

std::string group_help(std::string_view group) {
  std::vector<Row> rows;
  for (const Command* command : commands_of(group)) {
    rows.push_back({std::string(command->name), std::string(command->summary)});
  }
  return rows.empty() ? std::string()
                      : fmt::format(
                            "Usage: errand {0} COMMAND [OPTIONS] [ARGUMENTS]\n\n"
                            "Commands:\n{1}\n"
                            "`errand {0} COMMAND --help` explains a command.\n",
                            group,
                            table(rows));
}

std::string topic_list() {
  std::vector<Row> rows;
  for (const Topic& topic : help_topics()) {
    rows.push_back({std::string(topic.name), std::string(topic.summary)});
  }
  return table(rows);
}

std::string help() {
  std::vector<Row> rows;
  for (const Command& command : commands()) {
    if (!command.hidden) {
      rows.push_back({std::string(command.name), std::string(command.summary)});
    }
  }
  return fmt::format(
      "errand runs an AI agent that a file describes, and never lies about how the run\n"
      "ended.\n\n"
      "Examples:\n"
      "  errand init                                  a first agent.yaml\n"
      "  errand run agent.yaml \"Why does it fail?\"    one run, the answer on stdout\n"
      "  errand exit-codes $?                         what the last ending means\n\n"
      "Usage: errand COMMAND [OPTIONS] [ARGUMENTS]\n\n"
      "Commands:\n{}\n"
      "Options:\n{}\n"
      "Topics, which `errand help TOPIC` explains:\n{}\n"
      "`errand COMMAND --help` explains a command. Manual pages: errand(1),\n"
      "errand-agent(5), errand-test(5), errand-exit-codes(7), errand-hooks(7).\n",
      table(rows),
      table({{option_name(help_option()), std::string(help_option().help)},
             {"-V, --version", "print the version"}}),
      topic_list());
}

}  // namespace cli

// `errand completions`, `errand man`, `errand help` and `errand --version`: what the program says
// about itself.
#include "cli/manual/completions.h"

#include "agent/event.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/manual/man.h"
#include "cli/manual/topics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cli {

agent::Result<int> command_completions(const Parsed& parsed, Context& context) {
  const std::string& shell = parsed.positionals.front();
  context.out << (shell == "bash"  ? bash_completions()
                  : shell == "zsh" ? zsh_completions()
                                   : fish_completions());
  return 0;
}

agent::Result<int> command_man(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const std::string page, man_page(parsed.positionals.front()));
  context.out << page;
  return 0;
}

namespace {

std::unexpected<agent::Error> unknown_topic(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Topic& topic : help_topics()) {
    names.push_back(topic.name);
  }
  std::string list = fmt::format("the topics are: {}", fmt::join(names, ", "));
  if (std::ranges::find(planned_commands(), name) != planned_commands().end()) {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("`errand {}` is not yet supported", name),
                       std::move(list));
  }
  for (const Command& command : commands()) {
    names.push_back(command.name);
  }
  if (const auto near = agent::nearest(name, names)) {
    list = fmt::format("did you mean `errand help {}`? {}", *near, list);
  }
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("there is no topic and no command `{}`", name),
                     std::move(list));
}

}  // namespace

agent::Result<int> command_help(const Parsed& parsed, Context& context) {
  const std::string name = fmt::format("{}", fmt::join(parsed.positionals, " "));
  if (name.empty()) {
    context.out << help();
    return 0;
  }
  const Topic* topic = find_topic(name);
  const Command* command = find_command(name);
  std::string text = command != nullptr ? help(*command) : group_help(name);
  if (topic != nullptr) {
    TRY_ASSIGN(const std::string page, topic_text(*topic, context.color_out));
    context.has_styles = context.color_out;
    text += (text.empty() ? "" : "\n") + page;
  }
  if (text.empty()) {
    return unknown_topic(name);
  }
  context.out << text;
  return 0;
}

agent::Result<int> command_version(const Parsed& parsed, Context& context) {
  if (parsed.value("--output") == "json") {
    const agent::Json json = {{"version", ERRAND_VERSION},
                              {"exit_codes", agent::k_exit_code_contract},
                              {"schemas", {agent::k_result_schema, agent::k_event_schema}}};
    context.out << agent::dump(json) << "\n";
    return 0;
  }
  context.out << "errand " << ERRAND_VERSION << "\n";
  return 0;
}

}  // namespace cli

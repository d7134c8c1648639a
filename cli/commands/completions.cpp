// `errand completions`, `errand man`, `errand help` and `errand --version`: what the program says
// about itself.
#include "cli/manual/completions.h"

#include "agent/event.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/manual/man.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

agent::Result<int> command_help(const Parsed& parsed, Context& context) {
  const std::string name = fmt::format("{}", fmt::join(parsed.positionals, " "));
  const auto is_group = [&](const Command& command) {
    return command.name.starts_with(name + " ");
  };
  if (name.empty()) {
    context.out << help();
    return 0;
  }
  if (const Command* command = find_command(name)) {
    context.out << help(*command);
    return 0;
  }
  if (std::ranges::any_of(commands(), is_group)) {
    for (const Command& command : commands()) {
      if (is_group(command)) {
        context.out << fmt::format("  {:<40}{}\n", usage(command), command.summary);
      }
    }
    return 0;
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    names.push_back(command.name);
  }
  const auto near = agent::nearest(name, names);
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("there is no command `{}`", name),
                     near ? fmt::format("did you mean `errand help {}`?", *near)
                          : "`errand help` lists the commands");
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

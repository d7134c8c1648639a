// `errand run`: from an agent file and a prompt to one named ending.
#include "cli/agent_choice.h"
#include "cli/commands/commands.h"
#include "cli/find_run.h"
#include "cli/flow_part.h"
#include "cli/known_names.h"
#include "cli/run_identity.h"
#include "cli/start_run.h"
#include "cli/user_folders.h"
#include "config/load.h"

#include <filesystem>
#include <string>
#include <utility>

namespace cli {
namespace {

using agent::Result;

// Where the agent wants its runs kept. What is wrong with its file is told when it is loaded.
std::filesystem::path store_of(const AgentChoice& choice, const Context& context) {
  const auto report = config::load_agent(choice.file, context.environment, known_names());
  return report.agent ? cli::store_of(*report.agent, context.environment)
                      : default_journal(context.environment);
}

Result<RunSource> source_of(Parsed& parsed, Context& context) {
  const std::string session = parsed.value("--session").value_or("");
  TRY_ASSIGN(auto agent, choose_agent(parsed, context.cwd));
  if (parsed.has("--from") || parsed.has("--only")) {
    return part_of_flow(std::move(agent), parsed, context);
  }
  if (session.empty()) {
    return RunSource{.agent = std::move(agent)};
  }
  if (parsed.has("--no-session") || parsed.has("--replay")) {
    return agent::fail(agent::Code::cli_usage,
                       "`--session` names a run that is kept, and this one is not",
                       "leave out `--no-session` and `--replay`");
  }
  TRY(check_name(session, "run"));
  TRY_ASSIGN(auto earlier, find_session(store_of(agent, context), session, context));
  if (!earlier) {
    return RunSource{.agent = std::move(agent), .session = session};
  }
  const bool has_message =
      !agent.prompt.empty() || parsed.has("--prompt") || parsed.has("--prompt-file");
  return carried_on_anew(*std::move(earlier), std::move(agent), has_message, context.environment);
}

}  // namespace

Result<int> command_run(const Parsed& parsed, Context& context) {
  return start_run(parsed, context, source_of);
}

}  // namespace cli

// From a command line and an agent file to all that is decided before the first request.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/loop.h"
#include "agent/run_plan.h"
#include "agent/spec.h"
#include "agent/store/owner.h"
#include "agent/toolbox.h"
#include "cli/agent_choice.h"
#include "cli/agents_above.h"
#include "cli/commands/commands.h"
#include "cli/mcp_lock.h"
#include "cli/recorded_run.h"
#include "cli/settings.h"
#include "config/prompt.h"
#include "providers/recording/cassette.h"
#include "providers/registry.h"
#include "tools/mcp/servers.h"

#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

// Whose run it is to be, and what of it is recorded.
struct RunSource {
  AgentChoice agent;
  std::optional<RecordedRun> earlier;  // to be carried on
  bool is_by_record = false;           // the agent is the recorded one, not its file
  bool says_own_prompt = true;         // the agent's, where the command line has none
  std::string session;                 // what the run is called; may be empty
  // Where the paths of the command line start; empty: the working folder.
  std::filesystem::path paths_from = {};
  std::map<std::string, agent::GivenAnswer> answers = {};  // to the calls of a parked run
  std::optional<RecordedRun> taken = {};  // of a part of a flow: what its other steps have brought
  std::string input_sha256 = {};          // as MadeFrom's
  // Of a run that is carried on by itself: those that it worked for. It stays below their rights.
  AgentsAbove above = {};
  std::vector<agent::store::RunClaim> beside_commands = {};  // claim_beside_commands()
};

struct Plan {
  agent::AgentSpec agent;
  ReadLock tool_lock = {};  // of an agent that has MCP servers
  Settings settings;
  config::Rendered text;
  std::optional<tools::mcp::ChosenPrompt> use;  // whose messages come before the text's prompt
  std::vector<agent::OpeningMessage> opening;   // they, once they are known
  std::vector<providers::Choice> chain;         // the model, then its fallbacks
  std::vector<providers::Choice> judges;  // those of the guardrails that have a model of their own
  std::vector<providers::Choice> summarizer;    // one; none: the model itself
  std::map<std::string, std::int64_t> windows;  // tokens, of those of these models that are known
  // What goes to a server without anybody's word: to be settled before the first request.
  std::vector<providers::KeyRequest> key_requests;
  std::optional<providers::KeyHosts> key_hosts;  // what the user has allowed
  std::vector<agent::Warning> warnings;
  std::filesystem::path script_folder;  // where paths of replay scripts start
  bool reads_stdin = false;
  // Without texts. Of a flow, one a step, which says nothing where that is a command and is a flow
  // where that is one; else one a sub-agent, and then the team.
  std::vector<Plan> members;
  std::map<std::string, std::string> parameters;  // of a flow

  bool is_flow() const { return !agent.steps.empty(); }
  // The agents to whom the conversation can come from this one, by hand-overs, each once. One of
  // them has none of its own.
  std::span<const Plan> team() const {
    return is_flow() ? std::span<const Plan>()
                     : std::span(members).subspan(agent.sub_agents.size());
  }
  const providers::Resolved& model() const { return chain.front().resolved; }
  // Whether the conversation is made shorter before it is too long.
  bool manages_context() const;
};

// `recording` answers in place of the servers, where there is one; its error is the plan's. Every
// mistake of the agent file or of a config.yaml, or the first one of anything else. `on_limits` is
// called before a prompt is read that may be long in coming.
std::expected<Plan, std::vector<agent::Error>> prepare(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const agent::Result<std::optional<providers::Cassette>>& recording,
    const std::function<void(const agent::Limits&)>& on_limits);

// The same for runs that are told later what they are about: `text` is empty, and no prompt is
// read.
std::expected<Plan, std::vector<agent::Error>> prepare_agent(const Parsed& parsed,
                                                             const RunSource& source,
                                                             const Context& context);

// The limits that a command line names, in place of the agent's. cli.usage.
agent::Result<void> apply_limits(const Parsed& parsed, agent::Limits& limits);

// What of a flow's command line its agents are begun with: its limits, its prompt and its name are
// the whole's.
Parsed command_line_of_members(Parsed parsed);

// Whether the path, as an agent's `file`, is that file.
bool is_same_file(const std::string& one, const std::filesystem::path& other);

// Those of the command line. cli.usage.
agent::Result<std::map<std::string, std::string>> parameters_of(const Parsed& parsed);

// What `--use` names of these servers; nullopt: there is none. cli.usage.
agent::Result<std::optional<tools::mcp::ChosenPrompt>> chosen_prompt(const Parsed& parsed,
                                                                     const agent::AgentSpec& agent);

// Of those models whose price is known, by their names.
std::map<std::string, agent::Price> prices_of(std::span<const providers::Choice> choices,
                                              agent::Clock::Wall now);

// What of it the loop goes by, with the prices that hold `now`.
agent::RunPlan run_plan(const Plan& prepared,
                        const agent::Toolbox& toolbox,
                        agent::Clock::Wall now);

}  // namespace cli

// From a command line and an agent file to all that is decided before the first request.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/loop.h"
#include "agent/run_plan.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "cli/agent_choice.h"
#include "cli/commands/commands.h"
#include "cli/recorded_run.h"
#include "cli/settings.h"
#include "config/prompt.h"
#include "providers/recording/cassette.h"
#include "providers/registry.h"

#include <expected>
#include <filesystem>
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
  std::string input_sha256 = {};                           // as MadeFrom's
};

struct Plan {
  agent::AgentSpec agent;
  Settings settings;
  config::Rendered text;
  std::vector<providers::Choice> chain;   // the model, then its fallbacks
  std::vector<providers::Choice> judges;  // those of the guardrails that have a model of their own
  std::vector<providers::Choice> summarizer;    // one; none: the model itself
  std::map<std::string, std::int64_t> windows;  // tokens, of those of these models that are known
  // What goes to a server without anybody's word: to be settled before the first request.
  std::vector<providers::KeyRequest> key_requests;
  std::vector<agent::Warning> warnings;
  std::filesystem::path script_folder;  // where paths of replay scripts start
  bool reads_stdin = false;

  const providers::Resolved& model() const { return chain.front().resolved; }
  // Whether the conversation is made shorter before it is too long.
  bool manages_context() const;
};

// `recording` answers in place of the servers, where there is one; its error is the plan's. Every
// mistake of the agent file or of a config.yaml, or the first one of anything else.
std::expected<Plan, std::vector<agent::Error>> prepare(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const agent::Result<std::optional<providers::Cassette>>& recording);

// The same for runs that are told later what they are about: `text` is empty, and no prompt is
// read.
std::expected<Plan, std::vector<agent::Error>> prepare_agent(const Parsed& parsed,
                                                             const RunSource& source,
                                                             const Context& context);

// Those of the command line. cli.usage.
agent::Result<std::map<std::string, std::string>> parameters_of(const Parsed& parsed);

// Of those models whose price is known, by their names.
std::map<std::string, agent::Price> prices_of(std::span<const providers::Choice> choices,
                                              agent::Clock::Wall now);

// What of it the loop goes by, with the prices that hold `now`.
agent::RunPlan run_plan(const Plan& prepared,
                        const agent::Toolbox& toolbox,
                        agent::Clock::Wall now);

}  // namespace cli

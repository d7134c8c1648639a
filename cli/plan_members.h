// The plans of all that work for an agent or a flow: steps, sub-agents, and the team to whom the
// conversation can come. What is wrong with one of them is said before any begins.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"
#include "cli/flow_nesting.h"
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/recorded_run.h"
#include "providers/recording/cassette.h"

#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// Where a plan is made: for the command line, or for an agent of another one.
struct Place {
  bool may_be_flow = false;
  std::vector<const agent::AgentSpec*> above = {};  // that call it, the nearest first
  const agent::AgentSpec* written_out = nullptr;    // in the file of the nearest; null: a file
  bool is_in_team = false;                          // of the last one above
  // Of a flow: which flow it would be a step of, and which one; null: it is run by itself.
  const FlowNesting* outer = nullptr;
  const agent::StepSpec* step = nullptr;
  const providers::Cassette* recording = nullptr;  // of the whole, in place of the servers
};

// One with all of its members, wherever it stands. `read_texts` fills in what the model is told,
// once the agent is known.
std::expected<Plan, std::vector<agent::Error>> prepare_with(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const Place& place,
    const std::function<agent::Result<void>(Plan&)>& read_texts);

// Of the file of a step, of a sub-agent or of one that takes over: why it cannot be read, with the
// place at which it is named. nullopt: it can be.
std::optional<agent::Error> why_not_read(const std::filesystem::path& file,
                                         const agent::Where& named_at,
                                         const Context& context);

// These fill in `plan.members`, and return every mistake.
std::vector<agent::Error> prepare_steps(Plan& plan,
                                        const Parsed& parsed,
                                        const Context& context,
                                        const FlowNesting& nesting,
                                        const providers::Cassette* recording);
std::vector<agent::Error> prepare_sub_agents(Plan& plan,
                                             const Parsed& parsed,
                                             const Context& context,
                                             const Place& place);
// What the first agent has not opened is open to none of its team.
std::vector<agent::Error> prepare_team(Plan& first,
                                       const Parsed& parsed,
                                       const Context& context,
                                       const Place& place);

// The sandbox of one that works for others is cut by each of them: the nearest may have opened more
// than those above it have.
agent::Result<void> stay_below(Plan& member,
                               const std::vector<const agent::AgentSpec*>& above,
                               const Context& context);

// The records of members lie where that of the whole does: `store`, as session.store, with an
// absolute path. Of one alone nobody could carry on what waits, or was cut off.
void keep_members_with(const std::string& store, Plan& whole);

// MadeFrom's `agents_sha256`.
std::string sums_of_agents(const Plan& plan);
// Whether they are those that the run was begun with: of their files nothing else is recorded.
// cli.usage.
agent::Result<void> check_agents_are_recorded(const Plan& plan, const RecordedRun& run);

// Whether each rule about tools is about one that an agent of the whole has.
agent::Result<void> check_rules_of_team(const Plan& plan, const Parsed& parsed);

// Whoever had the conversation before looks at the answer, too, where its run is carried on by
// itself: by its `stop` hooks and its checks of answers. Their commands are at home in its folder.
agent::Result<void> heed_givers(agent::AgentSpec& agent,
                                const std::vector<agent::AgentSpec>& givers);

}  // namespace cli

// What holds for a recorded run that is carried on by itself, of the agents and flows that it
// worked for: their rights, their limits and kill switches, and who looks at an answer.
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/resume_command.h"
#include "agent/spec.h"
#include "cli/options.h"
#include "cli/recorded_run.h"
#include "cli/shared_budget.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {

// A run that it worked for, and what that has used with all of its members, by the records.
struct RunAbove {
  std::string run_id;
  std::string name;  // the agent's or the flow's
  std::filesystem::path store;
  agent::Limits limits;  // that its last process had
  Spending spent;
  LastEvents heard;  // where the records end by which that is known
  agent::Milliseconds worked{0};
  std::filesystem::path kill_file;  // empty: it has none
  agent::ResumeCommand resume;      // carries both on, or, of one that is over, the other alone
  bool is_over = false;             // nothing of it waits for the run below any more
  bool is_flow = false;
};

struct AgentsAbove {
  std::vector<agent::AgentSpec> agents;  // the nearest first, each as it is recorded
  std::vector<agent::AgentSpec> givers;  // of them: by whom the conversation came to it
  std::vector<RunAbove> runs;            // the nearest first
};

// What carries a recorded run on.
agent::ResumeCommand resume_of(const RecordedRun& run, const agent::Environment& environment);

// Limits of those that are over are raised by what the command line says of the run's own: nobody
// else can. cli.usage where nobody knows one of them any more.
agent::Result<AgentsAbove> agents_above(const RecordedRun& run,
                                        const Parsed& parsed,
                                        const agent::Environment& environment);

// Whether agents_above() knows them all.
bool knows_those_above(const RecordedRun& run, RecordedRuns& recorded);

// The outermost run that has this one, or a run of which this one is a part, to carry on yet; null:
// none has.
const RecordedRun* whole_of(const RecordedRun& run, RecordedRuns& recorded);

// Whether the run that it worked for, or one that this one worked for, is over, or goes on without.
bool is_left(const RecordedRun& run, RecordedRuns& recorded);

// Whether a call of the run, or of a member that has stopped it, waits for a person's answer, and
// none of them has waited for too long.
bool waits_for_a_person(const RecordedRun& run, const agent::Environment& environment);

// Whether what has failed in a flow, or in one of its flows, was carried on by itself since, and
// ended otherwise.
bool has_gone_on_below(const RecordedRun& flow, const agent::Environment& environment);

// What the members of a run, and theirs, have spent and worked of which its record has not heard.
struct Unheard {
  std::vector<agent::ModelUse> uses;
  std::int64_t turns = 0;  // those of a sub-agent are no turns of who called it
  LastEvents heard;        // where their records end
  // Its last process was at work until then: where it was cut off, its members may have been
  // at work behind the last event of its own.
  std::chrono::system_clock::time_point end;
  agent::Milliseconds by_itself{0};  // of members that were carried on since, each by itself

  Spending spent() const;
  agent::Milliseconds worked(const RecordedRun& run) const;
};
Unheard unheard_of_members(const RecordedRun& run, const agent::Environment& environment);
// What the run and its members have spent by the records, and where these end.
std::pair<Spending, LastEvents> spent_by_records(const RecordedRun& run,
                                                 const agent::Environment& environment);
// By all of its processes and members. Nothing yet of a fork.
agent::Milliseconds worked_until_now(const RecordedRun& run, const agent::Environment& environment);

}  // namespace cli

// A member of a run, which is a run of its own in this process: a step of a flow, which may be a
// flow, a call of a sub-agent.
#pragma once
#include "agent/event.h"
#include "agent/result.h"
#include "agent/state.h"
#include "cli/outside_input.h"
#include "cli/plan.h"
#include "cli/run_session.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace cli {

struct MemberRun {
  std::string run_id;
  std::string session;  // what it is called; may be empty
  // By an earlier process of the run that it is a member of.
  std::optional<agent::MemberRecord> recorded = std::nullopt;
  bool tries_again = false;       // it failed, as that has heard
  std::filesystem::path journal;  // of that; empty: none is kept
  std::string anew;               // what may be done where it cannot be carried on
};

// Begins it, or carries it on from its record; one that has its answer there is not run again.
// `plan` has no texts yet. cli.usage where the record cannot be carried on, or is gone; one that is
// recorded and cannot go on is left off; its error `is_taken` where another process has it. One
// whose calls have waited for a person, or that was not over, is put off where it cannot go on.
agent::Result<agent::RunResult> run_member(RunWorld world,
                                           const MemberRun& member,
                                           Plan plan,
                                           const OutsideInput& said);

}  // namespace cli

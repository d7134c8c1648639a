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
  std::string session;       // what it is called; may be empty
  bool is_recorded = false;  // by an earlier process of the run that it is a member of
  std::optional<agent::MemberFinished> heard = std::nullopt;  // of it, by that
  std::filesystem::path journal;                              // of that; empty: none is kept
  std::string anew;  // what may be done where it cannot be carried on
};

// Begins it, or carries it on from its record; one that has its answer there is not run again.
// `plan` has no texts yet. cli.usage where the record cannot be carried on, or is gone; one that is
// recorded and cannot go on is left off; its error `is_taken` where another process has it.
agent::Result<agent::RunResult> run_member(RunWorld world,
                                           const MemberRun& member,
                                           Plan plan,
                                           const OutsideInput& said);

// Of one that is recorded and does not go on now: `why`, with its bill until now. `why` alone where
// nothing is recorded of it.
agent::Result<agent::RunResult> left_off(const MemberRun& member,
                                         const Context& context,
                                         agent::Error why);

// Of a recorded one: how it has ended for good; nullopt: there is something left to do of it.
std::optional<agent::RunResult> answer_of(const std::string& run_id,
                                          const std::filesystem::path& journal,
                                          const Context& context);

// Of one that has ended and is not run again: the same ending, with all that it has used until now,
// where it was given more to do by itself. nullopt: what is heard of it is all.
std::optional<agent::MemberFinished> heard_anew(agent::MemberFinished heard,
                                                const std::string& run_id,
                                                const std::filesystem::path& journal,
                                                const Context& context);

// What it has used is what that one has.
void take_bill(agent::RunResult& result, const agent::RunResult& bill);

}  // namespace cli

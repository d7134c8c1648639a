// The agents that an agent calls, and those to whom it hands its conversation over: each is a tool
// of it, and a call is a run of its own in this process, which has a record of its own.
#pragma once
#include "agent/clock.h"
#include "agent/error.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "cli/plan.h"
#include "cli/run_session.h"
#include "cli/shared_budget.h"
#include "tools/runner/runner.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

class SubAgents {
 public:
  // What is there before it and outlives it.
  struct World {
    const RunWorld& run;                   // of the agent that calls
    std::string run_id;                    // of that
    const Plan& plan;                      // the same
    std::vector<agent::EventSink*> sinks;  // that hear of the members, too
    const SharedBudget& budget;
    const agent::Budget& above_all;  // what those leave that the agent works for
    std::filesystem::path journal;   // empty: none is kept
    std::string session;  // what the run is called, or its id; empty: none is kept, nor recorded
    std::vector<const agent::AgentSpec*> above;  // the agent itself, and those that it works for
    Obeyed obeyed;                               // as RunWorld's
    std::function<std::optional<agent::Error>()> killed;  // as RunWorld's
    std::vector<std::filesystem::path> kill_files;        // the agent's own, too
  };

  explicit SubAgents(World world) : world_(std::move(world)) {}

  // Once: one each. They borrow this. team.invalid where somebody to whom it hands over is gone.
  agent::Result<std::vector<tools::ConfiguredTool>> tools();

 private:
  class Tool;
  class Turn;
  struct Callee {
    agent::ToolInfo tool;
    std::string name;
    std::string runs;  // MemberStarted's
    const Plan& plan;
    agent::ToolSpec::OnError on_error = agent::ToolSpec::OnError::report;
    bool is_handoff = false;
  };

  agent::Result<std::vector<Callee>> callees() const;
  std::vector<const Plan*> had() const;
  std::optional<agent::Ending> at_limit_of_handoffs(const Callee& callee) const;
  std::optional<tools::Output> why_not_handed_over(const Callee& callee,
                                                   const tools::CallContext& context) const;

  void line_up(const std::string& call_id);
  tools::Output call(const Callee& callee,
                     const agent::Json& arguments,
                     const tools::CallContext& context);
  agent::RunResult perform(const Callee& callee,
                           const agent::Json& arguments,
                           const tools::CallContext& context,
                           const agent::MemberStarted& member,
                           const agent::SubAgentRecord& earlier);
  agent::MemberStarted member_of(const Callee& callee,
                                 const tools::CallContext& context,
                                 const agent::SubAgentRecord& earlier) const;
  std::optional<agent::Error> killed(agent::Cancellation& stop, const agent::Budget& budget) const;
  std::optional<agent::Ending> limit_of_caller(const agent::RunResult& result) const;
  agent::Ending how_it_was_stopped() const;

  World world_;
  std::vector<Callee> callees_;
  std::mutex mutex_;  // of the next two
  std::int64_t at_work_ = 0;
  std::deque<std::string> line_;  // ids of calls that wait to be, in their order
  std::condition_variable_any changed_;
};

}  // namespace cli

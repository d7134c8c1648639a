// A flow as a run: its members are runs and commands of this process, some at a time, each with a
// record of its own; the flow's own record says what became of them.
#pragma once
#include "agent/cancellation.h"
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/flow/flow_part.h"
#include "agent/flow/flow_state.h"
#include "agent/http.h"
#include "agent/recorder.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/work_time.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/plan.h"
#include "cli/recorded_member.h"
#include "cli/run_session.h"
#include "cli/shared_budget.h"
#include "cli/shared_sinks.h"
#include "cli/tool_environment.h"
#include "cli/user_places.h"
#include "cli/watched_commands.h"
#include "providers/resilience/model_states.h"
#include "tools/process/supervisor.h"
#include "tools/sandbox/policy.h"

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

class FlowRun {
 public:
  // Everything that can fail before the first member begins.
  static agent::Result<std::unique_ptr<FlowRun>> open(RunWorld world,
                                                      std::string run_id,
                                                      RunSource source,
                                                      Plan plan);

  // Once.
  agent::RunResult run();
  // After that, and once in a process: what `session.keep` says.
  std::optional<agent::Error> remove_old_runs() const;

 private:
  using Member = agent::flow::Member;
  using MemberEnd = agent::flow::MemberEnd;
  // What the thread of a member gets.
  struct Assignment {
    Member member;
    std::string run_id;   // empty: it is a command
    std::string session;  // what the run is called; may be empty
    std::string path;     // RunWorld's
    agent::flow::Task task;
  };
  using Place = WatchedCommands::Place;

  FlowRun(RunWorld world, std::string run_id, RunSource source, Plan plan);

  agent::Result<void> open_state();
  agent::Result<void> take_members();
  agent::Result<void> open_journal();
  agent::Result<void> open_all();
  agent::Result<void> open_workshop();
  agent::Result<void> open_io();
  agent::RunStarted beginning() const;
  agent::ResumeCommand resume_command() const;

  std::optional<agent::Milliseconds> time_limit() const;
  agent::Milliseconds limit_above() const;  // where there is one
  bool is_over_above() const;
  void begin_members();
  bool settle_waiting(const Member& member);
  bool take_answered();
  bool settle_recorded(const Member& member);
  void leave(const Member& member);
  void note_left_behind(bool is_over);
  RecordedMember since_recorded(const agent::MemberRecord& known) const;
  void end_as_recorded(const Member& member,
                       const agent::MemberFinished& heard,
                       const RecordedMember& since);
  void begin(const Member& member);
  Place place_among_members(const Member& member);
  void wait_for_members();
  bool note_ended();
  void note_end(const Member& member, MemberEnd end);
  std::optional<agent::Ending> interruption() const;
  bool wants_stop() const;
  void stop_members();
  agent::RunResult finish();

  // On the thread of the member.
  MemberEnd perform(const Assignment& work, Place place, agent::Cancellation& stop);
  MemberEnd performed(const Assignment& work, Place place, agent::Cancellation& stop);
  Obeyed obeyed_files() const;
  agent::Result<agent::RunResult> run_agent(const Assignment& work, agent::Cancellation& stop);
  MemberEnd run_command(const Assignment& work, agent::Cancellation& stop);

  const agent::StepSpec& step_of(const Member& member) const {
    return plan_.agent.steps[member.step];
  }
  agent::MemberKey key_of(const Member& member) const;
  std::string place_of(const Member& member) const;
  std::string session_of(const Member& member) const;
  std::optional<agent::MemberRecord> recorded_by_earlier(const Member& member) const;
  std::optional<agent::Error> killed(agent::Cancellation& stop);

  RunWorld world_;
  std::string run_id_;
  RunSource source_;
  Plan plan_;
  std::string store_;                                     // as providers::RecordedRun's
  std::filesystem::path journal_file_;                    // empty: none is kept
  std::vector<std::string> left_;                         // what tidy_after_kill() has said
  std::optional<agent::store::RunClaim> name_claim_;      // of a run that begins with a name
  std::unique_ptr<agent::Journal> journal_;               // null: the same
  std::optional<WatchedCommands> watched_;                // of the outermost flow
  std::optional<agent::store::RunClaim> commands_claim_;  // claim_commands()
  Obeyed obeyed_by_next_agents_;                          // the same
  std::unique_ptr<ToolEnvironment> workshop_;             // null: there are no commands
  std::unique_ptr<providers::RunIo> io_;
  SharedSinks sinks_;
  Budgets above_;        // of those that it is a step of
  SharedBudget budget_;  // of what is recorded, and of those that run
  std::optional<agent::flow::FlowState> state_;
  std::optional<agent::Recorder> recorder_;
  std::optional<agent::WorkTime> time_;
  agent::Milliseconds worked_before_{0};
  std::map<agent::MemberKey, agent::MemberRecord> recorded_;  // by earlier processes
  std::vector<agent::flow::Part> parts_;                      // of the steps; empty: all are run
  std::vector<agent::MemberFinished> taken_;                  // from another run, to be recorded
  std::vector<Member> ready_;  // known to begin before any of them is begun

  struct Running {
    std::unique_ptr<agent::Cancellation> stop;
    std::jthread thread;
  };
  std::mutex mutex_;  // of the next three
  std::condition_variable_any ended_some_;
  std::vector<std::pair<Member, MemberEnd>> ended_;
  enum class Told : std::uint8_t { nothing, to_stop, to_die };
  Told told_ = Told::nothing;          // the members
  std::map<Member, Running> running_;  // of the thread that called run()
};

}  // namespace cli

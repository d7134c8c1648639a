// One run with all that it needs: the journal, the tools, the models, the interceptors.
#pragma once
#include "agent/approvals.h"
#include "agent/cancellation.h"
#include "agent/interceptor.h"
#include "agent/loop.h"
#include "agent/replay_script.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/store/owner.h"
#include "agent/toolbox.h"
#include "agent/work_time.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/guardrail_set.h"
#include "cli/plan.h"
#include "cli/run_identity.h"
#include "cli/run_sinks.h"
#include "cli/shared_budget.h"
#include "cli/shared_sinks.h"
#include "cli/tool_environment.h"
#include "cli/user_places.h"
#include "cli/watched_commands.h"
#include "providers/recording/run_io.h"
#include "providers/registry.h"
#include "tools/checks/checks.h"
#include "tools/mcp/servers.h"
#include "tools/permissions/permissions.h"
#include "tools/process/local_program_runner.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// What is there before the run and outlives it. Borrowed. The first five may be those of other runs
// in this process, too.
struct RunWorld {
  const Context& context;
  tools::Supervisor& supervisor;
  const agent::Redactor& redactor;  // knows the secrets of the plan
  agent::Http& http;
  providers::ModelStates& models;
  Parsed parsed;
  std::vector<agent::EventSink*> sinks;  // the first is what the run is for
  Progress* progress = nullptr;          // of the person who may be asked; null: nobody is
  tools::sandbox::Outputs outputs = {};
  agent::Cancellation& cancellation;
  providers::Killed killed = nullptr;     // asked before each request, beside the kill switch
  const agent::Budget* budget = nullptr;  // of those that it works for; null: there is none
  bool is_room_shared = false;            // as Tape::Run's
  // The kill switches of those that it works for: before each request and each call.
  std::vector<std::filesystem::path> kill_files = {};
  // The least time that those have left which it is not carried on with; nullopt: no such limit.
  std::optional<agent::TimeAbove> time_above = {};
  bool is_patient = false;          // waits while all of its models are known to be down
  providers::Tape* tape = nullptr;  // of the whole; null: it is neither recorded nor replayed
  std::string parent = {};          // Event's
  std::string member = {};          // the step's name, the sub-agent's, … that it is a run of
  std::string path = {};  // where it stands below the whole: `fix[1]/helper[2]`; empty: it is that
  // Of a sub-agent: the agents that it works for, the nearest first.
  std::vector<const agent::AgentSpec*> above = {};
  // Of one to whom a conversation was handed over: the plans that had it, in that order, its own
  // the last.
  std::vector<const Plan*> had = {};
  // Before those, by the record: the nearest first. Borrowed.
  std::span<const agent::AgentSpec> givers = {};
  const RunAbove* first_giver = nullptr;  // the last of those, whose limits count; null: none
  // What the whole obeys that this run is of, and what is served beside it.
  Obeyed obeyed = {};
  // All that come to work in the whole; empty: it is the whole, and finds them.
  OtherAgents others = {};
  WatchedCommands* watched = nullptr;  // of the whole; null: it is that, or no flow

  std::string path_of(const std::string& one_of_its_members) const;
  std::string new_run_id(const std::string& of_one_of_its_members) const;
};

class SubAgents;

class RunSession {
 public:
  ~RunSession();

  // Everything that can fail before the first request.
  static agent::Result<std::unique_ptr<RunSession>> open(RunWorld world,
                                                         std::string run_id,
                                                         RunSource source,
                                                         Plan plan);

  // Once.
  agent::RunResult run();
  // After the run, and once in a process: what `session.keep` says.
  std::optional<agent::Error> remove_old_runs() const;

 private:
  RunSession(RunWorld world, std::string run_id, RunSource source, Plan plan);

  agent::Result<void> open_journal();
  agent::Result<void> open_recorded_journal();
  agent::Result<void> take_name(const std::filesystem::path& file);
  std::vector<std::string> recorded_in() const;
  RunIdentity identity() const;
  void keep_in(std::unique_ptr<agent::Journal> journal, const std::filesystem::path& file);
  void append_beginning();
  void warn_of_key();
  agent::Result<void> open_all();
  agent::Result<void> open_workshop();
  agent::Result<void> read_kill_switch();
  agent::Result<void> settle_permissions();
  agent::Result<void> open_io();
  agent::Result<void> open_user_places();
  agent::Result<void> open_toolbox();
  std::vector<agent::Leftover> tidy_up();
  agent::Result<void> settle_servers();
  agent::Result<void> open_sub_agents(std::vector<tools::ConfiguredTool>& tools);
  std::string asking_member() const;
  std::optional<agent::Error> killed() const;
  agent::Result<void> check_is_alive() const;
  std::vector<std::filesystem::path> kill_files() const;
  agent::Milliseconds worked_before() const;
  agent::Result<void> start_servers();
  void tell_of_idle_rules();
  void tell_of_idle_matchers();
  agent::Result<void> use_prompt();
  void choose_searched();
  std::set<std::string, std::less<>> names_added_before() const;
  agent::Result<void> open_provider();
  const tools::Sandbox* sandbox() const;
  agent::Result<void> open_gates();
  void open_checks();

  void tell_what_is_carried_on();
  bool is_orphan() const;
  void warn(std::string message, std::string help = {});
  providers::Dependencies provider_dependencies();
  agent::RunRequest make_request();
  void seal(agent::RunStarted& started) const;
  std::function<std::string(std::string_view)> sealer() const;
  agent::Result<void> keep_grants();
  void tell_of_lost_grant(const agent::Approvals::Grant& grant, std::string_view changed_setting);
  agent::ApprovalSetting approval_setting() const;
  agent::ResumeCommand resume_command() const;
  Obeyed obeyed_files() const;
  agent::Result<agent::ReplayScript> load_script(const std::string& path);
  std::vector<agent::Warning> last_words();
  std::vector<agent::Warning> replies_left() const;
  std::optional<agent::Warning> unread_input();

  RunWorld world_;
  std::string run_id_;
  RunSource source_;
  Plan plan_;
  bool told_of_input_ = false;  // that there is some, and nobody read it

  // Made by the steps above, in this order: each borrows from those before it.
  std::unique_ptr<agent::Journal> journal_;           // null: none is kept
  std::optional<agent::store::RunClaim> name_claim_;  // of a run that begins with a name
  std::string store_;                                 // as providers::RecordedRun's
  std::filesystem::path journal_file_;
  std::vector<std::string> left_;  // what tidy_after_kill() has said
  Obeyed obeyed_;                  // no tool of this run, or below it, may change it
  std::unique_ptr<ToolEnvironment> tool_environment_;
  std::filesystem::path kill_file_;  // empty: there is no kill switch
  std::optional<tools::Permissions> permissions_;
  std::unique_ptr<agent::Approver> approver_;  // null: nobody is there
  std::unique_ptr<providers::RunIo> io_;
  std::unique_ptr<UserPlaces> user_places_;
  std::unique_ptr<tools::mcp::Servers> mcp_servers_;  // null: the agent has none
  agent::Milliseconds started_in_{0};                 // by what is at work before the run
  SharedSinks sinks_;                                 // of the run, and of those of its sub-agents
  Budgets above_;                                     // of those that it works for
  SharedBudget budget_;                               // the same
  std::unique_ptr<SubAgents> sub_agents_;             // null: the agent has none
  std::unique_ptr<tools::Runner> toolbox_;
  std::vector<std::shared_ptr<agent::ReplayProgress>> scripts_;  // that answer in a model's place
  std::unique_ptr<agent::Provider> provider_;
  std::unique_ptr<agent::Provider> summarizer_;  // null: the model itself sums up
  std::function<std::vector<agent::PinnedFile>()> pinned_;
  std::unique_ptr<agent::Interceptor> hooks_;  // null: the agent has none
  GuardrailSet guarded_;
  std::unique_ptr<agent::Interceptor> switches_above_;  // null: those above have no kill switch
  std::unique_ptr<tools::Checks> checks_;               // null: the agent has none
};

}  // namespace cli

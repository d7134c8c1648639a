#include "cli/run_session.h"

#include "agent/id.h"
#include "agent/interceptor_chain.h"
#include "agent/sha256.h"
#include "agent/store/runs.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "agent/work_time.h"
#include "cli/agents_above.h"
#include "cli/agents_at_work.h"
#include "cli/find_run.h"
#include "cli/flow_files.h"
#include "cli/known_names.h"
#include "cli/mcp_lock.h"
#include "cli/mcp_servers.h"
#include "cli/old_runs.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/pinned_files.h"
#include "cli/plan_members.h"
#include "cli/prompt_input.h"
#include "cli/recorded_member.h"
#include "cli/run_inputs.h"
#include "cli/run_seal.h"
#include "cli/start_progress.h"
#include "cli/sub_agents.h"
#include "cli/terminal/approver.h"
#include "cli/user_folders.h"
#include "config/replay_script.h"
#include "config/yaml/source.h"
#include "providers/clean_stream.h"
#include "tools/hooks/hooks.h"
#include "tools/hooks/idle_matchers.h"
#include "tools/mcp/find_tools.h"
#include "tools/permissions/offered_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

// The variables that no tool inherits: all in which keys are expected, and those that are used.
std::vector<std::string> secret_variables(const Plan& plan, const agent::Environment& environment) {
  std::vector<std::string> names = key_variables_of(plan.agent, environment);
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      names.push_back(choice.resolved.api_key_env);
    }
  }
  return names;
}

// Of the tool that `rule` is about, as it is offered now; empty: there is none.
std::string definition_of(std::string_view rule, const agent::Toolbox& toolbox) {
  const std::string name(rule.substr(0, rule.find('(')));
  const std::array<agent::AddedTool, 1> searched{agent::AddedTool{.name = name}};
  std::vector<agent::ToolInfo> infos = toolbox.added_tools(searched);
  std::ranges::copy(toolbox.tools(), std::back_inserter(infos));
  const auto found = std::ranges::find(infos, name, &agent::ToolInfo::name);
  return found == infos.end() ? "" : agent::definition_sha256(*found);
}

// What hooks and guardrails are run with.
agent::Environment without_keys(agent::Environment environment, const Plan& plan) {
  for (const std::string& name : secret_variables(plan, environment)) {
    environment.erase(name);
  }
  return environment;
}

tools::CheckedBefore checked_before(const agent::RunPlan& plan) {
  tools::CheckedBefore before{.protect = plan.check_protect, .files = plan.checked_files};
  for (const agent::PlannedCheck& check : plan.checks) {
    before.commands.push_back(check.run);
  }
  return before;
}

std::vector<std::string> tool_names(const agent::Toolbox& toolbox) {
  std::vector<std::string> names;
  for (const agent::ToolInfo& tool : toolbox.tools()) {
    names.push_back(tool.name);
  }
  return names;
}

// Models that have thought in the conversation, and are not asked any more.
std::set<std::string> models_left_behind(const agent::Conversation& conversation,
                                         std::span<const providers::Choice> chain) {
  std::set<std::string> models;
  for (const agent::Message& message : conversation.messages) {
    const auto* said = std::get_if<agent::AssistantMessage>(&message);
    if (said != nullptr && !said->reply->reasoning.empty() && !said->reply->origin.empty()) {
      models.insert(said->reply->origin);
    }
  }
  for (const providers::Choice& choice : chain) {
    models.erase(choice.resolved.name());
  }
  return models;
}

// What the run, or the one that it is a fork of, is called where it worked: the name of a step, a
// sub-agent, an agent to whom was handed over. Empty: nobody knows, or it worked for nobody.
std::string recorded_name(const RecordedRun& run, const agent::Environment& environment) {
  const auto above = run.parent.empty()
                         ? agent::Result<RecordedRun>(std::unexpected(agent::Error{}))
                         : recall(run.store, run.parent, environment);
  if (!above) {
    return {};
  }
  const auto& ancestors = run.past.state.ancestors;
  const auto is_it = [&](const agent::MemberRecord& member) {
    return !member.run_id.empty() &&
           (member.run_id == recorded_id(run) ||
            std::ranges::find(ancestors, member.run_id) != ancestors.end());
  };
  for (const auto& [key, member] : above->past.state.members) {
    if (is_it(member)) {
      return std::get<0>(key);
    }
  }
  for (const auto& [key, sub_agent] : above->past.state.sub_agents) {
    if (is_it(sub_agent.record)) {
      return sub_agent.member.substr(0, sub_agent.member.find('['));
    }
  }
  return {};
}

bool have_a_server_in_common(const agent::AgentSpec& one, const agent::AgentSpec& other) {
  return std::ranges::any_of(one.mcp_servers, [&](const agent::McpServerSpec& server) {
    return std::ranges::find(other.mcp_servers, server.name, &agent::McpServerSpec::name) !=
           other.mcp_servers.end();
  });
}

// A rule that denies it wins over all others.
std::string how_to_allow_search(const tools::Permissions& permissions,
                                const tools::PermissionDecision& decision) {
  return permissions.denies_by_rule(tools::mcp::k_tool_finder)
             ? "take out that rule, or say `load: all`"
         : decision.may_always ? "permissions: {allow: [find_tools]}"
                               : "--allow find_tools";
}

}  // namespace

namespace {

class KillSwitches final : public agent::Interceptor {
 public:
  explicit KillSwitches(std::vector<fs::path> files) : files_(std::move(files)) {}

  agent::HookDecision judge(const agent::HookContext&,
                            const agent::Emit&,
                            std::stop_token) override {
    return {};
  }
  std::optional<agent::Error> killed() override {
    for (const fs::path& file : files_) {
      if (auto error = tools::killed_by(file)) {
        return error;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<fs::path> files_;
};

}  // namespace

std::string RunWorld::path_of(const std::string& one_of_its_members) const {
  return path.empty() ? one_of_its_members : path + "/" + one_of_its_members;
}

std::string RunWorld::new_run_id(const std::string& of_one_of_its_members) const {
  return tape != nullptr ? tape->run_id_of(path_of(of_one_of_its_members)) : agent::new_run_id();
}

Result<std::unique_ptr<RunSession>> RunSession::open(RunWorld world,
                                                     std::string run_id,
                                                     RunSource source,
                                                     Plan plan) {
  if (!plan.key_requests.empty()) {
    return agent::fail(providers::refusal(plan.key_requests.front()));
  }
  if (source.earlier && source.is_by_record && world.parent.empty()) {
    TRY(check_agents_are_recorded(plan, *source.earlier));
  }
  if (source.earlier && source.earlier->begun.plan.is_flow) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the run {} is one of a flow, and {} is an agent's file",
                                   run_id,
                                   agent::one_line(plan.agent.file, 200)),
                       "`--agent FILE` takes the flow's file");
  }
  std::unique_ptr<RunSession> session(
      new RunSession(std::move(world), std::move(run_id), std::move(source), std::move(plan)));
  if (auto opened = session->open_all(); !opened) {
    Error why = agent::with_leftovers(std::move(opened).error(), session->tidy_up());
    return agent::fail(telling_what_was_left(std::move(why), session->left_));
  }
  session->append_beginning();
  return session;
}

Result<void> RunSession::open_all() {
  TRY(open_journal());
  TRY(open_workshop());
  TRY(read_kill_switch());
  TRY(settle_permissions());
  TRY(open_io());
  TRY(open_user_places());
  TRY(open_toolbox());
  TRY(open_provider());
  TRY(open_gates());
  open_checks();
  return {};
}

RunSession::RunSession(RunWorld world, std::string run_id, RunSource source, Plan plan)
    : world_(std::move(world)),
      run_id_(std::move(run_id)),
      source_(std::move(source)),
      plan_(std::move(plan)),
      sinks_(world_.sinks),
      above_({world_.budget}, &world_.cancellation),
      budget_(plan_.agent.limits, "the run and its sub-agents") {
  if (world_.had.empty()) {
    const AgentsAbove& above = source_.above;
    world_.givers = above.givers;
    world_.first_giver = above.givers.empty() ? nullptr : &above.runs[above.givers.size() - 1];
  }
  if (world_.member.empty() && source_.earlier) {
    world_.member = recorded_name(*source_.earlier, world_.context.environment);
  }
  if (source_.earlier) {
    if (world_.progress != nullptr && world_.parent.empty()) {
      world_.progress->recall(source_.earlier->past.state.open_calls);
    }
    tell_what_is_carried_on();
  }
}

void RunSession::tell_what_is_carried_on() {
  if (has_gaps(*source_.earlier)) {
    warn("secrets of the conversation are not in the journal: the model reads `[redacted]`");
  }
  for (const std::string& option : lost_options(*source_.earlier)) {
    warn(fmt::format("the recorded {} had a secret in it, which is not in the journal",
                     agent::one_line(option, 60)),
         "give the option again, if it is still to count");
  }
  for (const std::string& model :
       models_left_behind(source_.earlier->past.state.conversation, plan_.chain)) {
    warn(fmt::format("the thoughts of `{}` are left behind: another model is asked now",
                     agent::one_line(model, 100)));
  }
  if (!source_.is_by_record) {
    if (is_orphan()) {
      warn(
          "the rights of the run that this one worked for are not known: of rights and limits, "
          "those of the file alone count");
    }
    return;
  }
  if (auto warning = warning_of_change(source_.earlier->begun, world_.context.cwd)) {
    plan_.warnings.push_back(*std::move(warning));
  }
}

// It worked for a run whose rights are not known, and goes on by itself, by those of a file.
bool RunSession::is_orphan() const {
  return source_.earlier && world_.parent.empty() && !source_.earlier->parent.empty() &&
         source_.above.runs.empty();
}

void RunSession::warn(std::string message, std::string help) {
  plan_.warnings.push_back({.message = std::move(message), .help = std::move(help)});
}

// The journal that the agent file and the options ask for. One that nobody named is a warning
// where it cannot be opened; one that was named is an error, and so is a disk that takes no more:
// later, it would end the run.
Result<void> RunSession::open_journal() {
  if (source_.earlier) {
    return open_recorded_journal();
  }
  const agent::SessionSpec& session = plan_.agent.session;
  const bool has_name = !source_.session.empty();
  if (has_name && session.store == "none") {
    return agent::fail(agent::Code::cli_usage,
                       "`--session` names a run that is kept, and `session.store` is none",
                       "leave one of them out");
  }
  if (world_.parsed.has("--no-session") || world_.parsed.has("--replay") ||
      session.store == "none") {
    return {};
  }
  const bool is_named = session.store != "auto";
  const fs::path file = store_of(plan_.agent, world_.context.environment);
  if (file.is_relative() && !has_name) {
    warn("no session is kept: neither XDG_STATE_HOME nor HOME is set");
    return {};
  }
  if (auto why = why_not_kept(identity(), world_.redactor)) {
    if (is_named || has_name) {
      return agent::fail(*std::move(why));
    }
    warn("no session is kept: " + why->message,
         why->help + "; --no-session switches this warning off");
    return {};
  }
  TRY(check_store(plan_.agent));
  TRY(check_is_no_output(world_.parsed, "the session store", file.string()));
  auto journal = agent::store::SqliteJournal::open(
      file, session.durability, world_.redactor, world_.cancellation.stop());
  if (journal) {
    TRY(take_name(file));
    keep_in(*std::move(journal), file);
  } else if (journal.error().code == agent::Code::run_cancelled) {
    return agent::fail(std::move(journal).error());
  } else if (is_named || has_name || journal.error().write_failed ||
             journal.error().code == agent::Code::os_failed) {
    agent::Error error = std::move(journal).error().while_("opening the session store");
    if (!has_name) {
      error.help += error.help.empty() ? "" : "; or ";
      error.help += "--no-session runs without one";
    }
    return agent::fail(std::move(error));
  } else {
    warn("no session is kept: " + journal.error().message,
         "--no-session switches this warning off");
  }
  return {};
}

RunIdentity RunSession::identity() const {
  return {.cwd = world_.context.cwd.string(),
          .agent_folder = plan_.agent.directory,
          .agent_file = plan_.agent.file,
          .name = source_.session};
}

Result<void> RunSession::take_name(const fs::path& file) {
  if (!source_.session.empty()) {
    TRY_ASSIGN(name_claim_, claim_name(identity(), file));
  }
  return {};
}

// Nobody else may carry the run on meanwhile, and without the journal nobody may at all.
Result<void> RunSession::open_recorded_journal() {
  if (auto why = why_not_kept(identity(), world_.redactor)) {
    return agent::fail(*std::move(why));
  }
  const fs::path& file = source_.earlier->store;
  TRY(check_is_no_output(world_.parsed, "the session store", file.string()));
  TRY_ASSIGN(
      auto journal,
      agent::store::SqliteJournal::open(
          file, plan_.agent.session.durability, world_.redactor, world_.cancellation.stop()));
  TRY(journal->claim(run_id_));
  if (source_.earlier->forked_from) {
    TRY(take_name(file));
  } else {
    TRY(check_is_unchanged(*source_.earlier));  // since it was read
  }
  keep_in(std::move(journal), file);
  return {};
}

// Of a fork. It is written with the event that says whose it is: a process that is killed before
// that leaves nothing.
void RunSession::append_beginning() {
  if (!source_.earlier || !source_.earlier->forked_from || journal_ == nullptr) {
    return;
  }
  for (const agent::Event& event : std::exchange(source_.earlier->beginning, {})) {
    journal_->append(event);
  }
}

void RunSession::keep_in(std::unique_ptr<agent::Journal> journal, const fs::path& file) {
  journal_ = std::move(journal);
  store_ = file == default_journal(world_.context.environment) ? "auto" : file.string();
  journal_file_ = file;
  for (const std::string_view part : {"", "-wal", "-shm", "-lock"}) {
    world_.outputs.meanwhile.push_back(fs::path(file) += part);
  }
  warn_of_key();
}

// A run that nobody will know as the user's is not carried on by its name.
void RunSession::warn_of_key() {
  const auto key = seal_key(world_.context.environment, world_.context.cwd);
  if (!key && (key.error().code == agent::Code::storage_io || !source_.session.empty())) {
    warn("no run is known as yours: " + key.error().message,
         key.error().help + "; as it is, `errand resume RUN --agent FILE` carries runs on");
  }
}

RunSession::~RunSession() = default;

// The runs that the conversation is of.
std::vector<std::string> RunSession::recorded_in() const {
  if (!source_.earlier) {
    return {};
  }
  std::vector<std::string> runs = source_.earlier->past.state.ancestors;
  runs.push_back(source_.earlier->forked_from ? source_.earlier->forked_from->run_id : run_id_);
  return runs;
}

// SQLite obeys what lies beside a journal by this name, and so nobody opens the journal then.
Obeyed RunSession::obeyed_files() const {
  Obeyed files = world_.obeyed;
  if (world_.parent.empty()) {  // else whoever has begun it knows those of all
    std::ranges::move(obeyed_by_all(plan_, world_.parsed, world_.context),
                      std::back_inserter(files));
    std::ranges::move(obeyed_by_next_agents(world_.context), std::back_inserter(files));
    if (!world_.above.empty()) {
      std::ranges::move(obeyed_by_agent(*world_.above.back(), world_.context),
                        std::back_inserter(files));
    }
  }
  if (journal_) {
    files.push_back({.path = fs::absolute(journal_file_) += "-journal"});
  }
  return files;
}

// A process works in a folder of its own: one that is there already may be anybody's. What earlier
// ones have kept in theirs can be read.
Result<void> RunSession::open_workshop() {
  if (world_.others.empty()) {  // nobody has begun it
    world_.others = agents_at_work(plan_);
    std::ranges::copy(world_.above, std::back_inserter(world_.others));
  }
  const IsWritten is_written = written_by(plan_.agent, world_.others, world_.context);
  if (source_.earlier) {
    TRY_ASSIGN(
        left_,
        tidy_after_kill(*source_.earlier,
                        is_written,
                        source_.is_by_record ? std::vector<fs::path>() : files_of(world_.others),
                        world_.context.environment));
    for (const std::string& sentence : left_) {
      warn(sentence);
    }
  }
  for (const fs::path& kept : kept_folders(world_.context.environment, recorded_in())) {
    plan_.agent.sandbox.read.push_back(kept.string() + "?");  // swept where it was empty
  }
  const bool is_replay = world_.tape != nullptr && world_.tape->is_replay();
  obeyed_ = obeyed_files();
  TRY_ASSIGN(tool_environment_,
             ToolEnvironment::open(
                 plan_.agent,
                 {.folder_id = is_replay || source_.earlier ? agent::new_run_id() : run_id_,
                  .is_written = is_written,
                  .http = &world_.http,
                  .outputs = world_.outputs,
                  .obeyed = paths_of(obeyed_),
                  .is_attended = world_.progress != nullptr,
                  .progress = world_.progress,
                  .who = asking_member()},
                 world_.context,
                 world_.supervisor,
                 world_.redactor));
  if (journal_) {
    tool_environment_->folder().keep(run_id_, journal_file_);
  }
  for (std::string& sentence : tool_environment_->warnings()) {
    warn(std::move(sentence));
  }
  return {};
}

Result<void> RunSession::read_kill_switch() {
  TRY_ASSIGN(kill_file_, tools::kill_file(plan_.agent, world_.context.environment));
  if (auto warning = kill_switch_warning(kill_file_, tool_environment_->sandbox())) {
    plan_.warnings.push_back(*std::move(warning));
  }
  return {};
}

Result<void> RunSession::settle_permissions() {
  const bool says_yes = world_.parsed.has("--yes");
  TRY_ASSIGN(permissions_,
             permissions_below(world_.above,
                               plan_.agent,
                               plan_.settings,
                               world_.parsed,
                               world_.context,
                               tool_environment_->folder().path(),
                               tool_environment_->sandbox(),
                               paths_of(obeyed_)));
  if (tools::Sandbox* sandbox = tool_environment_->sandbox()) {
    auto [reading, writing] = permissions_->denied_places();
    sandbox->close(std::move(reading), std::move(writing));
  }
  TRY(check_tool_choice(plan_.agent, *permissions_));
  if (says_yes) {
    warn("--yes: calls that need approval run without it", "rules in `deny` still hold");
  }
  approver_ = open_approver(
      {.says_yes = says_yes,
       .is_attended = world_.progress != nullptr,
       .color = world_.context.color_err,
       .user_config = plan_.settings.user.file,
       .lasting = [cwd = world_.context.cwd](
                      const std::string& rule) { return tools::lasting_rule(rule, cwd); },
       .progress = world_.progress,
       .who = asking_member()});
  return {};
}

// For who is asked; empty: it is no member.
std::string RunSession::asking_member() const {
  return world_.path.empty() && !world_.above.empty() ? plan_.agent.name : world_.path;
}

Result<void> RunSession::open_io() {
  if (world_.tape == nullptr) {
    io_ = providers::live_io(tool_environment_->http(), store_);
    return {};
  }
  TRY_ASSIGN(io_,
             world_.tape->open({.member = world_.path,
                                .run_id = run_id_,
                                .key_variable = plan_.model().api_key_env,
                                .folder = tool_environment_->folder().path().string(),
                                .store = store_,
                                .is_room_shared = world_.is_room_shared},
                               tool_environment_->http()));
  store_ = io_->store();
  return {};
}

Result<void> RunSession::open_toolbox() {
  tools::RunnerOptions options =
      tool_environment_->runner_options(secret_variables(plan_, world_.context.environment));
  options.redact_secrets = plan_.agent.guardrails.redact_secrets;
  options.permissions = &*permissions_;
  options.shows_changes = world_.progress != nullptr && world_.progress->shows_changes();
  options.sandbox = &plan_.agent.sandbox;
  options.fail_on_denied = world_.parsed.has("--fail-on-denied");
  options.seed = io_->seed();
  if (plan_.manages_context()) {
    options.result_page = result_page(plan_.windows.at(plan_.model().name()));
  }
  options.tidy_up = [this] { return tidy_up(); };
  TRY_ASSIGN(std::vector<tools::ConfiguredTool> tools,
             tools::configure_tools(plan_.agent.tools, &plan_.agent.sandbox));
  if (!plan_.agent.mcp_servers.empty()) {
    TRY(check_is_alive());
    auto started = start_servers();
    TRY(check_is_alive());  // the kill switch may have come meanwhile
    TRY(std::move(started));
    TRY(settle_servers());
    std::ranges::move(mcp_servers_->tools(names_added_before()), std::back_inserter(tools));
    options.list_anew = [this](const std::stop_token& stop) {
      return mcp_servers_->list_anew(stop);
    };
    std::ranges::copy(mcp_servers_->warnings(), std::back_inserter(plan_.warnings));
  } else {
    TRY(check_locks_nothing(plan_.agent, plan_.tool_lock));
    tell_of_idle_rules();
  }
  TRY(open_sub_agents(tools));
  TRY_ASSIGN(toolbox_, tools::Runner::create(std::move(tools), std::move(options)));
  if (source_.earlier) {
    toolbox_->recall(source_.earlier->past.state);
  }
  tell_of_idle_matchers();
  return keep_grants();
}

// What programs of the user's leave in the sandbox, be it before the first turn.
std::vector<agent::Leftover> RunSession::tidy_up() {
  return cli::tidy_up(mcp_servers_.get(), user_places_.get());
}

Result<void> RunSession::settle_servers() {
  TRY(check_mcp_lock(
      plan_.agent, plan_.tool_lock, *mcp_servers_, names_of_servers(plan_.agent), world_.redactor));
  tell_of_idle_rules();
  TRY(use_prompt());
  choose_searched();
  return {};
}

Result<void> RunSession::open_sub_agents(std::vector<tools::ConfiguredTool>& tools) {
  if (plan_.members.empty() && plan_.agent.handoffs.empty()) {
    return {};
  }
  SubAgents::World world{.run = world_,
                         .run_id = run_id_,
                         .plan = plan_,
                         .sinks = sinks_.sinks(),
                         .budget = budget_,
                         .above_all = above_,
                         .journal = journal_ ? journal_file_ : fs::path(),
                         .session = store_.empty()            ? ""
                                    : source_.session.empty() ? run_id_
                                                              : source_.session,
                         .above = {&plan_.agent},
                         .obeyed = obeyed_,
                         .killed = [this] { return killed(); },
                         .kill_files = kill_files()};
  world.sinks.push_back(&budget_);
  std::ranges::copy(world_.above, std::back_inserter(world.above));
  if (source_.earlier && !source_.earlier->forked_from) {
    const auto [spent, heard] = spent_by_records(*source_.earlier, world_.context.environment);
    budget_.begin_with(spent, heard);
  }
  budget_.count_others(journal_ ? journal_file_ : fs::path(), run_id_);
  sub_agents_ = std::make_unique<SubAgents>(std::move(world));
  TRY_ASSIGN(auto more, sub_agents_->tools());
  std::ranges::move(more, std::back_inserter(tools));
  return {};
}

agent::Milliseconds RunSession::worked_before() const {
  return source_.earlier ? worked_until_now(*source_.earlier, world_.context.environment)
                         : agent::Milliseconds{0};
}

// It is work of the run: its time counts, and its limit ends it.
Result<void> RunSession::start_servers() {
  const agent::Milliseconds before = worked_before();
  agent::WorkTime time(before, tool_environment_->clock(), world_.cancellation);
  if (const auto& limit = plan_.agent.limits.timeout) {
    time.end_after(*limit);
  }
  StartProgress starting(names_of_servers(plan_.agent), world_.progress);
  TRY_ASSIGN(
      mcp_servers_,
      start_mcp_servers(
          plan_.agent,
          *user_places_,
          {.cwd = world_.context.cwd,
           .clock = tool_environment_->clock(),
           .http = world_.http,
           .seed = io_->seed(),
           .stop = world_.cancellation.stop(),
           .questioner = tool_environment_->questioner(),
           .killed = [this] { return killed(); },
           .redactor = world_.redactor,
           .run_id = run_id_,
           .environment = world_.context.environment,
           .key_hosts = plan_.key_hosts.value_or(providers::KeyHosts(world_.context.environment)),
           .on_started = [&](const auto& server) { starting.on_started(server); }}));
  started_in_ = io_->took("mcp_servers", time.worked() - before);  // no tool is called so
  return {};
}

// Of those that were written for this agent, or for one that it works for and that has no such
// server itself: the user's own are for all, and may name the tools of others.
void RunSession::tell_of_idle_rules() {
  std::vector<agent::PermissionRule> rules = rules_of(plan_.agent.permissions);
  for (const agent::AgentSpec* const above : world_.above) {
    if (!have_a_server_in_common(*above, plan_.agent)) {
      std::ranges::move(rules_of(above->permissions), std::back_inserter(rules));
    }
  }
  for (const char* const option : {"--allow", "--deny"}) {
    for (const std::string& text : world_.parsed.all(option)) {
      rules.push_back({.text = text, .origin = option});
    }
  }
  const auto tell = [&](std::vector<agent::Warning> warnings) {
    std::ranges::move(warnings, std::back_inserter(plan_.warnings));
  };
  if (mcp_servers_) {
    tell(mcp_servers_->idle_rules(rules));
  }
  if (world_.path.empty() && world_.above.empty()) {  // else a rule may be about another agent
    tell(idle_patterns(mcp_servers_.get(), rules, names_in_rules(agents_at_work(plan_))));
  }
}

// Of a server that is not there, nobody knows which tools it has.
void RunSession::tell_of_idle_matchers() {
  std::vector<std::string> unknown;
  for (const std::string& name :
       mcp_servers_ ? mcp_servers_->missing() : std::vector<std::string>()) {
    unknown.push_back(agent::McpServerSpec{.name = name}.tool_prefix());
  }
  std::set<std::string> names = names_of_tools(plan_.agent);
  if (mcp_servers_) {
    names.merge(mcp_servers_->names_of_tools());
  }
  for (const agent::ToolInfo& tool : toolbox_->tools()) {
    names.insert(tool.name);
  }
  std::ranges::move(tools::idle_matchers(plan_.agent.hooks, plan_.agent.guardrails, names, unknown),
                    std::back_inserter(plan_.warnings));
}

// They stay where they were: behind those that the run was begun with.
std::set<std::string, std::less<>> RunSession::names_added_before() const {
  std::set<std::string, std::less<>> names;
  if (source_.earlier) {
    for (const agent::AddedTool& tool : source_.earlier->past.state.added_tools) {
      names.insert(tool.name);
    }
  }
  return names;
}

// The last words of the user in it are the run's prompt, with what the user says himself.
Result<void> RunSession::use_prompt() {
  if (!plan_.use) {
    return {};
  }
  TRY_ASSIGN(auto used, mcp_servers_->use(*plan_.use, world_.cancellation.stop()));
  for (const std::string& sentence : used.left_out) {
    warn(fmt::format("of the prompt `{}/{}`: {}",
                     agent::one_line(plan_.use->server, 60),
                     agent::one_line(plan_.use->name, 60),
                     sentence));
  }
  plan_.opening = std::move(used.messages);
  config::Rendered& text = plan_.text;
  if (plan_.opening.back().role == "user") {
    agent::OpeningMessage last = std::move(plan_.opening.back());
    plan_.opening.pop_back();
    text.prompt = std::move(last.text) + (text.prompt.empty() ? "" : "\n\n" + text.prompt);
    text.attachments.insert(
        text.attachments.begin(), last.attachments.begin(), last.attachments.end());
  }
  if (agent::is_blank(text.prompt) && text.attachments.empty()) {
    return agent::fail(agent::Code::cli_no_input,
                       fmt::format("the prompt `{}/{}` ends without words of the user",
                                   agent::one_line(plan_.use->server, 60),
                                   agent::one_line(plan_.use->name, 60)),
                       "say behind AGENT what the agent is to do");
  }
  return {};
}

// Where it is not the model's, a server's tools are not left to a search by themselves; a server
// that is to be searched has none then.
void RunSession::choose_searched() {
  const auto window = plan_.windows.find(plan_.model().name());
  const auto decision = permissions_->judge(tools::mcp::k_tool_finder,
                                            {.kind = tools::Access::Kind::nothing, .target = {}});
  const bool is_denied = permissions_->always_denies(tools::mcp::k_tool_finder);
  const bool may_search = decision.verdict == tools::Verdict::allow && !is_denied;
  const bool is_named = std::ranges::any_of(plan_.agent.mcp_servers, [](const auto& server) {
    return server.load == agent::McpServerSpec::Load::search;
  });
  if (is_named && !may_search) {
    warn(fmt::format("`load: search` needs the tool `find_tools`: {}{}",
                     decision.reason,
                     is_denied ? "; the model is shown no tool of these servers" : ""),
         how_to_allow_search(*permissions_, decision));
  }
  mcp_servers_->choose_searched(
      {.window = window == plan_.windows.end() ? 0 : window->second,
       .may_search = may_search,
       .is_denied = [this](std::string_view tool) { return permissions_->always_denies(tool); }});
}

providers::Dependencies RunSession::provider_dependencies() {
  return {.http = io_->http(),
          .clock = io_->clock(),
          .models = world_.models,
          .seed = io_->seed(),
          .load_script = [this](const std::string& path) { return load_script(path); },
          .killed = [this] { return killed(); },
          .is_patient = world_.is_patient};
}

Result<void> RunSession::check_is_alive() const {
  auto error = killed();
  return error ? agent::fail(*std::move(error)) : Result<void>();
}

std::optional<agent::Error> RunSession::killed() const {
  for (const fs::path& file : kill_files()) {
    if (auto error = tools::killed_by(file)) {
      return error;
    }
  }
  return world_.killed ? world_.killed() : std::nullopt;
}

// Its own, and those of all above.
std::vector<fs::path> RunSession::kill_files() const {
  std::vector<fs::path> files = world_.kill_files;
  if (!kill_file_.empty()) {
    files.insert(files.begin(), kill_file_);
  }
  return files;
}

Result<agent::ReplayScript> RunSession::load_script(const std::string& path) {
  TRY_ASSIGN(agent::ReplayScript script, config::load_replay_script(plan_.script_folder / path));
  script.progress = scripts_.emplace_back(std::make_shared<agent::ReplayProgress>());
  script.progress->file = script.file;
  if (!script.members.empty() && plan_.members.empty() && world_.member.empty()) {
    return agent::fail(agent::Code::config_invalid,
                       fmt::format("the script {} has `members`, and the agent has none", path),
                       "take them out, or run the flow or the agent that they are of");
  }
  if (const auto own = script.members.find(world_.member); own != script.members.end()) {
    script.steps = std::move(own->second);
    script.progress->file += fmt::format(" of `{}`", world_.member);
  }
  for (const agent::ReplayStep& step : script.steps) {
    script.progress->left += step.repeat;
  }
  return script;
}

// A test that did not ask for all of its replies has not seen what it is about.
std::vector<agent::Warning> RunSession::replies_left() const {
  std::vector<agent::Warning> warnings;
  for (const auto& script : scripts_) {
    if (script->left > 0) {
      warnings.push_back(
          {.message = fmt::format(
               "replies of the script {} that were not asked for: {}", script->file, script->left),
           .help = "take them out, or see why the run ended before them",
           .kind = "replies_left"});
    }
  }
  return warnings;
}

std::vector<agent::Warning> RunSession::last_words() {
  std::vector<agent::Warning> warnings = replies_left();
  if (auto unread = unread_input()) {
    warnings.push_back(*std::move(unread));
  }
  return warnings;
}

// Other tools take what a pipe brings without being asked: said once, for it may come late.
std::optional<agent::Warning> RunSession::unread_input() {
  if (plan_.reads_stdin || told_of_input_ || !holds_bytes(STDIN_FILENO)) {
    return std::nullopt;
  }
  told_of_input_ = true;
  return agent::Warning{.message = "standard input was not read, and there is something in it",
                        .help =
                            "a `-` puts it into the prompt: `... | errand run AGENT - \"what to "
                            "do with it\"`",
                        .kind = "stdin_unread"};
}

Result<void> RunSession::open_provider() {
  TRY_ASSIGN(auto chain,
             providers::make_chain(
                 plan_.chain, plan_.agent.fallback, plan_.agent.retry, provider_dependencies()));
  provider_ = std::make_unique<providers::CleanStream>(std::move(chain), world_.redactor);
  if (!plan_.summarizer.empty()) {
    TRY_ASSIGN(
        summarizer_,
        providers::make(plan_.summarizer.front(), plan_.agent.retry, provider_dependencies()));
  }
  if (plan_.manages_context() && !plan_.agent.context_management.pins.empty()) {
    pinned_ = pinned_files(
        plan_.agent.context_management.pins,
        world_.context.cwd,
        reading_policy(plan_.agent, plan_.settings, world_.parsed, world_.context),
        static_cast<std::size_t>(plan_.windows.at(plan_.model().name())),  // a quarter of it
        plan_.agent.guardrails.redact_secrets ? world_.redactor.guessing() : world_.redactor);
  }
  return {};
}

Result<void> RunSession::open_user_places() {
  TRY_ASSIGN(user_places_,
             UserPlaces::open(plan_.agent,
                              without_keys(world_.context.environment, plan_),
                              world_.context,
                              *tool_environment_,
                              permissions_->denied_places(),
                              world_.others));
  if (sandbox() != tool_environment_->sandbox()) {  // whose warnings are there
    for (std::string& sentence : sandbox()->warnings()) {
      warn(std::move(sentence));
    }
  }
  std::ranges::move(user_places_->take_warnings(), std::back_inserter(plan_.warnings));
  for (tools::MissingProgram& missing : missing_programs(plan_.agent, world_.context)) {
    warn(std::move(missing.message), std::move(missing.help));
  }
  for (std::string& sentence : unclear_commands(plan_.agent, world_.context)) {
    warn(std::move(sentence), "name the script by a plain word: `sh hooks/policy.sh`");
  }
  std::ranges::move(exposed_commands(plan_.agent, world_.context),
                    std::back_inserter(plan_.warnings));
  return {};
}

// What programs run in: those of tools, or else those of hooks, guardrails and servers.
const tools::Sandbox* RunSession::sandbox() const {
  const tools::Sandbox* const of_tools = tool_environment_->sandbox();
  const tools::Sandbox* const of_others = user_places_->sandbox();
  const bool has_programs =
      of_tools != nullptr && !(of_tools->layers().empty() && of_tools->missing().empty());
  return has_programs || of_others == nullptr ? of_tools : of_others;
}

Result<void> RunSession::open_gates() {
  const tools::UserProgramsOf programs_of = [this](const agent::CommandSandbox& sandbox) {
    return user_places_->of(sandbox);
  };
  if (!plan_.agent.hooks.hooks.empty()) {
    hooks_ = std::make_unique<tools::Hooks>(
        plan_.agent.hooks,
        tools::HookOptions{
            .world = {.run_id = run_id_,
                      .model = plan_.model().name(),
                      .cwd = world_.context.cwd,
                      .is_carried_on = source_.earlier.has_value()},
            .programs_of = programs_of,
            .clock = &io_->clock(),
            .redactor = plan_.agent.guardrails.redact_secrets ? &world_.redactor : nullptr});
  }
  if (!world_.kill_files.empty()) {
    switches_above_ = std::make_unique<KillSwitches>(world_.kill_files);
  }
  TRY_ASSIGN(guarded_,
             open_guardrails(plan_,
                             kill_file_,
                             *provider_,
                             provider_dependencies(),
                             programs_of,
                             world_.redactor,
                             tool_environment_->clock(),
                             io_->clock().wall()));
  return {};
}

// In the working folder, where tools work.
void RunSession::open_checks() {
  if (plan_.agent.checks.commands.empty()) {
    return;
  }
  tools::UserPrograms programs = user_places_->of({});
  programs.folder = world_.context.cwd;
  programs.directory = world_.context.cwd;
  checks_ = std::make_unique<tools::Checks>(
      plan_.agent.checks,
      tools::CheckWorld{.programs = std::move(programs),
                        .redactor = plan_.agent.guardrails.redact_secrets
                                        ? world_.redactor.guessing()
                                        : world_.redactor,
                        .clock = &io_->clock(),
                        .seed = io_->seed()},
      source_.earlier ? checked_before(source_.earlier->past.state.plan) : tools::CheckedBefore());
}

// With what the next process would not take from the record (find_run.h, carried_on).
agent::ResumeCommand RunSession::resume_command() const {
  if (store_.empty()) {
    return {};
  }
  agent::ResumeCommand resume{.words = agent::resume_words(run_id_, store_)};
  resume.is_by_record = source_.is_by_record;
  const bool is_sealed = journal_ == nullptr ||  // of a recorded run: it says what that one said
                         seal_key(world_.context.environment, world_.context.cwd).has_value();
  const std::string& schema = plan_.agent.output.schema;
  const bool is_whole = world_.redactor.apply(plan_.agent.source) == plan_.agent.source &&
                        world_.redactor.apply(schema) == schema;
  const fs::path file = agent::file_of(plan_.agent);
  if (is_written_out(file)) {
    return is_sealed && is_whole ? resume : agent::ResumeCommand{};
  }
  if (!is_sealed || !is_whole || is_orphan()) {
    resume.words += " --agent " + agent::shell_word(file.string());
  } else {
    resume.agent_file = file.string();
  }
  if (source_.is_by_record && !resume.agent_file.empty()) {
    std::error_code ignored;
    const auto change = change_of_file(source_.earlier->begun, world_.context.cwd);
    resume.changed_file = !change.empty() && fs::exists(file, ignored) ? file.string() : "";
  }
  if (!is_sealed) {  // nothing of the record counts but what was said
    resume.words += " --cwd " + agent::shell_word(world_.context.cwd.string());
    resume.options = lasting_options(world_.parsed);
  }
  return resume;
}

// As the journal will have it: without secrets.
void RunSession::seal(agent::RunStarted& started) const {
  if (journal_ == nullptr) {
    return;
  }
  for (std::string& option : started.made_from.options) {
    option = world_.redactor.apply(option);
  }
  if (const auto key = seal_key(world_.context.environment, world_.context.cwd)) {
    agent::RunStarted kept = started;
    for (std::string* text : {&kept.instructions, &kept.plan.output_schema}) {
      *text = world_.redactor.apply(*text);
    }
    started.made_from.seal = seal_of(*key, run_id_, kept);
  }
}

// Of what people answer: where no key of the user's can be had, it counts for this process alone.
std::function<std::string(std::string_view)> RunSession::sealer() const {
  if (journal_ == nullptr) {
    return nullptr;
  }
  const auto key = seal_key(world_.context.environment, world_.context.cwd);
  if (!key) {
    return nullptr;
  }
  return [key = *key](std::string_view text) { return agent::hmac_sha256_hex(key, text); };
}

// What was approved "in this run" holds again, where this user's errand has recorded it. Members
// have what was approved in them.
Result<void> RunSession::keep_grants() {
  if (!world_.parsed.has("--keep-grants") || !source_.earlier) {
    return {};
  }
  const agent::Approvals& approvals = source_.earlier->past.state.approvals;
  const auto seal = sealer();
  const agent::ApprovalSetting setting = approval_setting();
  std::set<std::string> rules;
  for (const agent::Approvals::Grant& grant : approvals.grants) {
    const std::string tool = grant.tool_sha256.empty() ? "" : definition_of(grant.rule, *toolbox_);
    if (seal && grant.seal == seal(agent::sealed_grant(run_id_, setting, grant.rule, tool)) &&
        rules.insert(grant.rule).second) {
      TRY(permissions_->grant(grant.rule));
      warn(fmt::format("--keep-grants: `{}` runs without approval, as it was approved in this run",
                       agent::one_line(grant.rule)));
    }
  }
  for (const agent::Approvals::Grant& grant : approvals.grants) {
    if (rules.insert(grant.rule).second) {
      tell_of_lost_grant(grant, agent::changed(grant.setting, setting));
    }
  }
  if (approvals.grants.empty() && world_.parent.empty() && plan_.members.empty()) {
    warn("--keep-grants: nothing was approved for this run");
  }
  return {};
}

void RunSession::tell_of_lost_grant(const agent::Approvals::Grant& grant,
                                    std::string_view changed_setting) {
  const bool is_told_by_server = !grant.tool_sha256.empty();
  const std::string now = is_told_by_server ? definition_of(grant.rule, *toolbox_) : "";
  const std::string_view changed =
      now != grant.tool_sha256 ? agent::k_said_by_server : changed_setting;
  warn(fmt::format("--keep-grants: `{}` is asked for again: {}",
                   agent::one_line(grant.rule),
                   is_told_by_server && now.empty() ? "the tool is not offered now"
                   : changed.empty()
                       ? "nothing shows that you approved it for this run, as it is now"
                       : fmt::format("{} has changed since it was approved", changed)));
}

agent::ApprovalSetting RunSession::approval_setting() const {
  return agent::setting_of({.cwd = world_.context.cwd.string(),
                            .sandbox = describe(plan_.agent.sandbox, sandbox()),
                            .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                                          .agent_folder = plan_.agent.directory}});
}

agent::RunRequest RunSession::make_request() {
  if (auto unread = unread_input()) {
    plan_.warnings.push_back(*std::move(unread));
  }
  auto& earlier = source_.earlier;
  SubAgentsSince since =
      earlier ? sub_agents_since(*earlier, !plan_.text.prompt.empty(), world_.context.environment)
              : SubAgentsSince();
  agent::RunRequest request{
      .run_id = run_id_,
      .parent = world_.parent,
      .started = {.version = ERRAND_VERSION,
                  .agent_name = plan_.agent.name,
                  .agent_file = plan_.agent.file,
                  .model = plan_.model().name(),
                  .cwd = world_.context.cwd.string(),
                  .instructions = std::move(plan_.text.instructions),
                  .prompt = std::move(plan_.text.prompt),
                  .attachments = std::move(plan_.text.attachments),
                  .opening = std::move(plan_.opening),
                  .tools = tool_names(*toolbox_),
                  .sandbox = describe(plan_.agent.sandbox, sandbox()),
                  .mcp_servers = connections_of(mcp_servers_.get()),
                  .missing_servers =
                      mcp_servers_ ? mcp_servers_->missing() : std::vector<std::string>(),
                  .session = source_.session,
                  .resumes = earlier ? std::optional(earlier->past.seq) : std::nullopt,
                  .forked_from = earlier ? earlier->forked_from : std::nullopt,
                  .plan = run_plan(plan_, *toolbox_, io_->clock().wall()),
                  .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                                .agent_folder = plan_.agent.directory,
                                .options = lasting_options(world_.parsed),
                                .input_sha256 = source_.input_sha256,
                                .agents_sha256 = sums_of_agents(plan_)},
                  .worked_ms = (worked_before() + started_in_).count()},
      .warnings = std::move(plan_.warnings),
      .past = earlier ? std::move(earlier->past) : agent::Past(),
      .resume = resume_command(),
      .answers = source_.answers,
      .time_above = world_.time_above,
      .left_off = std::move(since.left_off),
      .answered = std::move(since.answered)};
  for (const agent::AgentSpec* above : world_.above) {  // whose calls may not wait as long
    auto& deadline = request.started.plan.approval_deadline;
    const auto& of_above = above->approval.deadline;
    deadline = deadline && of_above ? std::min(deadline, of_above) : deadline ? deadline : of_above;
  }
  if (checks_) {
    request.started.plan.checked_files = checks_->files();
  }
  seal(request.started);
  return request;
}

agent::RunResult RunSession::run() {
  auto sinks = sub_agents_ ? sinks_.sinks() : world_.sinks;
  if (sub_agents_) {
    sinks.push_back(&budget_);
  }
  if (agent::EventSink* watcher = io_->watcher()) {
    sinks.push_back(watcher);
  }
  std::vector<agent::Interceptor*> interceptors;
  for (agent::Interceptor* interceptor :
       {switches_above_.get(),
        hooks_.get(),
        static_cast<agent::Interceptor*>(guarded_.interceptor.get())}) {
    if (interceptor != nullptr) {
      interceptors.push_back(interceptor);
    }
  }
  agent::InterceptorChain interceptor(interceptors);
  const agent::RunRequest request = make_request();
  agent::RunResult result =
      agent::run(request,
                 {.provider = *provider_,
                  .toolbox = io_->toolbox(*toolbox_),
                  .sinks = sinks,
                  .journal = journal_.get(),
                  .clock = io_->clock(),
                  .approver = approver_.get(),
                  .interceptor = interceptors.empty() ? nullptr : &interceptor,
                  .checker = checks_.get(),
                  .summarizer = summarizer_.get(),
                  .pinned = pinned_,
                  .last_words = [this] { return last_words(); },
                  .seal = sealer(),
                  .keeps_whole =
                      [this](std::string_view arguments) {
                        return world_.redactor.apply(arguments) == arguments;
                      },
                  .above = &above_},
                 world_.cancellation);
  io_->finish();
  if (mcp_servers_) {
    mcp_servers_->close();
  }
  return result;
}

std::optional<agent::Error> RunSession::remove_old_runs() const {
  return cli::remove_old_runs(
      plan_.agent, journal_file_, world_.context.cwd, world_.context.environment, run_id_);
}

}  // namespace cli

#include "cli/run_session.h"

#include "agent/id.h"
#include "agent/interceptor_chain.h"
#include "agent/sha256.h"
#include "agent/store/runs.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "cli/find_run.h"
#include "cli/known_names.h"
#include "cli/mcp_servers.h"
#include "cli/old_runs.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/pinned_files.h"
#include "cli/prompt_input.h"
#include "cli/run_inputs.h"
#include "cli/run_seal.h"
#include "cli/terminal/approver.h"
#include "cli/user_folders.h"
#include "config/replay_script.h"
#include "config/yaml/source.h"
#include "tools/hooks/hooks.h"
#include "tools/permissions/offered_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
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

// What hooks and guardrails are run with.
agent::Environment without_keys(agent::Environment environment, const Plan& plan) {
  for (const std::string& name : secret_variables(plan, environment)) {
    environment.erase(name);
  }
  return environment;
}

std::vector<std::string> tool_names(const agent::Toolbox& toolbox) {
  std::vector<std::string> names;
  for (const agent::ToolInfo& tool : toolbox.tools()) {
    names.push_back(tool.name);
  }
  return names;
}

}  // namespace

Result<std::unique_ptr<RunSession>> RunSession::open(RunWorld world,
                                                     std::string run_id,
                                                     RunSource source,
                                                     Plan plan,
                                                     std::optional<providers::Cassette> recording) {
  if (!plan.key_requests.empty()) {
    return agent::fail(providers::refusal(plan.key_requests.front()));
  }
  std::unique_ptr<RunSession> session(
      new RunSession(std::move(world), std::move(run_id), std::move(source), std::move(plan)));
  TRY(session->open_journal());
  TRY(session->open_workshop(recording.has_value()));
  TRY(session->read_kill_switch());
  TRY(session->settle_permissions());
  TRY(session->open_io(std::move(recording)));
  TRY(session->open_user_places());
  TRY(session->open_toolbox());
  TRY(session->open_provider());
  TRY(session->open_gates());
  return session;
}

RunSession::RunSession(RunWorld world, std::string run_id, RunSource source, Plan plan)
    : world_(std::move(world)),
      run_id_(std::move(run_id)),
      source_(std::move(source)),
      plan_(std::move(plan)) {
  if (source_.earlier) {
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
  if (!source_.is_by_record) {
    return;
  }
  const agent::RunStarted& begun = source_.earlier->begun;
  const auto text =
      config::read_text_file(agent_file_of(begun), begun.made_from.agent_text.size() + 1);
  if (!text || *text != begun.made_from.agent_text) {
    warn(fmt::format("the agent file {} has changed since: the run goes on by the recorded one",
                     agent::one_line(begun.agent_file)),
         "`errand resume --agent FILE` takes the file");
  }
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
  if (is_named) {
    TRY(check_is_no_link(file.string()));
  }
  TRY(check_is_no_output(world_.parsed, "the session store", file.string()));
  auto journal = agent::store::SqliteJournal::open(file, session.durability, world_.redactor);
  if (journal) {
    TRY(claim_name(file));
    keep_in(*std::move(journal), file);
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

// Of two processes that begin a run of one name, one does.
Result<void> RunSession::claim_name(const fs::path& file) {
  if (source_.session.empty()) {
    return {};
  }
  const std::string folder = world_.context.cwd.string();
  TRY_ASSIGN(
      name_claim_,
      agent::store::RunClaim::take(file, fmt::format("name {} in {}", source_.session, folder)));
  TRY_ASSIGN(
      const auto runs,
      agent::store::list_runs(file, {.folder = folder, .session = source_.session, .limit = 1}));
  if (name_claim_ && runs.empty()) {
    return {};
  }
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("another process has just begun the run `{}` of this folder",
                                 agent::one_line(source_.session)),
                     "wait for its end, then carry it on");
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
      agent::store::SqliteJournal::open(file, plan_.agent.session.durability, world_.redactor));
  TRY(journal->claim(run_id_));
  if (source_.earlier->forked_from) {
    TRY(claim_name(file));
    for (const agent::Event& event : std::exchange(source_.earlier->beginning, {})) {
      journal->append(event);  // written with the first event of its own
    }
  } else {
    TRY(check_is_unchanged(*source_.earlier));  // since it was read
  }
  keep_in(std::move(journal), file);
  return {};
}

void RunSession::keep_in(std::unique_ptr<agent::Journal> journal, const fs::path& file) {
  journal_ = std::move(journal);
  store_ = file == default_journal(world_.context.environment) ? "auto" : file.string();
  journal_file_ = file;
  for (const std::string_view part : {"", "-wal", "-shm", "-lock"}) {
    world_.outputs.meanwhile.push_back(fs::path(file) += part);
  }
}

// The runs that the conversation is of.
std::vector<std::string> RunSession::recorded_in() const {
  if (!source_.earlier) {
    return {};
  }
  std::vector<std::string> runs = source_.earlier->past.state.ancestors;
  runs.push_back(source_.earlier->forked_from ? source_.earlier->forked_from->run_id : run_id_);
  return runs;
}

// A process works in a folder of its own: one that is there already may be anybody's. What earlier
// ones have kept in theirs can be read.
Result<void> RunSession::open_workshop(bool is_replay) {
  for (const fs::path& kept : kept_folders(world_.context.environment, recorded_in())) {
    plan_.agent.sandbox.read.push_back(kept.string() + "?");  // swept where it was empty
  }
  TRY_ASSIGN(tool_environment_,
             ToolEnvironment::open(
                 plan_.agent,
                 {.folder_id = is_replay || source_.earlier ? agent::new_run_id() : run_id_,
                  .http = &world_.http,
                  .outputs = world_.outputs,
                  .obeyed = obeyed_inputs(world_.parsed, plan_),
                  .is_attended = world_.progress != nullptr,
                  .before_question = [progress = world_.progress] { progress->fall_silent(); }},
                 world_.context,
                 world_.supervisor,
                 world_.redactor));
  if (journal_) {
    tool_environment_->folder().keep(run_id_);
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
             permissions_of(plan_.agent,
                            plan_.settings,
                            world_.parsed,
                            world_.context,
                            tool_environment_->folder().path(),
                            tool_environment_->sandbox()));
  TRY(keep_grants());
  if (tools::Sandbox* sandbox = tool_environment_->sandbox()) {
    auto [reading, writing] = permissions_->denied_places();
    sandbox->close(std::move(reading), std::move(writing));
  }
  TRY(check_tool_choice(plan_.agent, *permissions_));
  if (says_yes) {
    warn("--yes: calls that need approval run without it", "rules in `deny` still hold");
  }
  approver_ = open_approver({.says_yes = says_yes,
                             .is_attended = world_.progress != nullptr,
                             .color = world_.context.color_err,
                             .user_config = plan_.settings.user.file,
                             .lasting = [cwd = world_.context.cwd](const std::string& rule) {
                               return tools::lasting_rule(rule, cwd);
                             }});
  return {};
}

Result<void> RunSession::open_io(std::optional<providers::Cassette> recording) {
  const std::string folder = tool_environment_->folder().path().string();
  if (recording) {
    store_ = recording->run.store;
    io_ = providers::replaying_io(*std::move(recording), folder, world_.redactor);
  } else if (const auto file = world_.parsed.value("--record")) {
    TRY_ASSIGN(io_,
               providers::recording_io({.file = *file,
                                        .run_id = run_id_,
                                        .key_variable = plan_.model().api_key_env,
                                        .folder = folder,
                                        .store = store_},
                                       tool_environment_->http(),
                                       world_.redactor));
  } else {
    io_ = providers::live_io(tool_environment_->http());
  }
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
  options.tidy_up = [this] {
    return user_places_ ? user_places_->tidy_up() : std::vector<agent::Leftover>();
  };
  TRY_ASSIGN(std::vector<tools::ConfiguredTool> tools,
             tools::configure_tools(plan_.agent.tools, &plan_.agent.sandbox));
  if (!plan_.agent.mcp_servers.empty()) {
    TRY_ASSIGN(mcp_servers_,
               start_mcp_servers(plan_.agent,
                                 *user_places_,
                                 {.cwd = world_.context.cwd,
                                  .clock = tool_environment_->clock(),
                                  .seed = io_->seed(),
                                  .stop = world_.cancellation.stop()}));
    std::ranges::move(mcp_servers_->tools(), std::back_inserter(tools));
    std::ranges::copy(mcp_servers_->warnings(), std::back_inserter(plan_.warnings));
  }
  TRY_ASSIGN(toolbox_, tools::Runner::create(std::move(tools), std::move(options)));
  if (source_.earlier) {
    toolbox_->recall(source_.earlier->past.state);
  }
  return {};
}

providers::Dependencies RunSession::provider_dependencies() {
  return {.http = io_->http(),
          .clock = io_->clock(),
          .models = world_.models,
          .seed = io_->seed(),
          .load_script = [this](const std::string& path) { return load_script(path); },
          .killed = [this]() -> std::optional<agent::Error> {
            auto error = tools::killed_by(kill_file_);
            return error || !world_.killed ? error : world_.killed();
          }};
}

Result<agent::ReplayScript> RunSession::load_script(const std::string& path) {
  TRY_ASSIGN(agent::ReplayScript script, config::load_replay_script(plan_.script_folder / path));
  script.progress = scripts_.emplace_back(std::make_shared<agent::ReplayProgress>());
  script.progress->file = script.file;
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
  TRY_ASSIGN(provider_,
             providers::make_chain(
                 plan_.chain, plan_.agent.fallback, plan_.agent.retry, provider_dependencies()));
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
                              permissions_->denied_places()));
  for (std::string& sentence : user_places_->left_out(plan_.agent)) {
    warn(std::move(sentence), "name a place in `env` that tools cannot write");
  }
  for (tools::MissingProgram& missing : missing_programs(plan_.agent, world_.context)) {
    warn(std::move(missing.message), std::move(missing.help));
  }
  for (std::string& sentence : unclear_commands(plan_.agent, world_.context)) {
    warn(std::move(sentence), "name the script by a plain word: `sh hooks/policy.sh`");
  }
  return {};
}

Result<void> RunSession::open_gates() {
  const tools::UserProgramsOf programs_of = [this](const agent::CommandSandbox& sandbox) {
    return user_places_->of(sandbox);
  };
  if (!plan_.agent.hooks.hooks.empty()) {
    hooks_ = std::make_unique<tools::Hooks>(
        plan_.agent.hooks,
        tools::HookOptions{.world = {.run_id = run_id_,
                                     .model = plan_.model().name(),
                                     .cwd = world_.context.cwd,
                                     .is_carried_on = source_.earlier.has_value()},
                           .programs_of = programs_of,
                           .clock = &io_->clock()});
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

// With what the next process would not take from the record (find_run.h, carried_on).
std::string RunSession::resume_command() const {
  if (store_.empty()) {
    return {};
  }
  std::string command = "errand resume " + agent::shell_word(run_id_);
  command += store_ == "auto" ? "" : " --store " + agent::shell_word(store_);
  const bool is_sealed = journal_ == nullptr ||  // of a recorded run: it says what that one said
                         seal_key(world_.context.environment, world_.context.cwd).has_value();
  const std::string& schema = plan_.agent.output.schema;
  const bool is_whole = world_.redactor.apply(plan_.agent.source) == plan_.agent.source &&
                        world_.redactor.apply(schema) == schema;
  if (!is_sealed || !is_whole) {
    const fs::path file = fs::path(plan_.agent.directory) / fs::path(plan_.agent.file).filename();
    command += " --agent " + agent::shell_word(file.string());
  }
  if (!is_sealed) {  // nothing of the record counts but what was said
    command += " --cwd " + agent::shell_word(world_.context.cwd.string());
    for (const std::string& option : lasting_options(world_.parsed)) {
      command += " " + agent::shell_word(option);
    }
  }
  return command;
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
  const auto key =
      journal_ == nullptr ? std::nullopt : seal_key(world_.context.environment, world_.context.cwd);
  if (!key) {
    return nullptr;
  }
  return [key = *key](std::string_view text) { return agent::hmac_sha256_hex(key, text); };
}

// What was approved "in this run" holds again, where this user's errand has recorded it.
Result<void> RunSession::keep_grants() {
  if (!world_.parsed.has("--keep-grants")) {
    return {};
  }
  const RecordedRun& earlier = *source_.earlier;
  const auto seal = sealer();
  const agent::ApprovalSetting setting = approval_setting();
  std::set<std::string> rules;
  for (const agent::Approvals::Grant& grant : earlier.past.state.approvals.grants) {
    if (seal && grant.seal == seal(agent::sealed_grant(run_id_, setting, grant.rule)) &&
        rules.insert(grant.rule).second) {
      TRY(permissions_->grant(grant.rule));
      warn(fmt::format("--keep-grants: `{}` runs without approval, as it was approved in this run",
                       agent::one_line(grant.rule)));
    }
  }
  if (rules.empty()) {
    warn("--keep-grants: nothing was approved for this run, in this folder, by you",
         "what was approved by another agent file, or in another sandbox, is asked for again");
  }
  return {};
}

agent::ApprovalSetting RunSession::approval_setting() const {
  return agent::setting_of({.cwd = world_.context.cwd.string(),
                            .sandbox = describe(plan_.agent.sandbox, tool_environment_->sandbox()),
                            .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                                          .agent_folder = plan_.agent.directory}});
}

agent::RunRequest RunSession::make_request() {
  if (auto unread = unread_input()) {
    plan_.warnings.push_back(*std::move(unread));
  }
  auto& earlier = source_.earlier;
  agent::RunRequest request{
      .run_id = run_id_,
      .started = {.version = ERRAND_VERSION,
                  .agent_name = plan_.agent.name,
                  .agent_file = plan_.agent.file,
                  .model = plan_.model().name(),
                  .cwd = world_.context.cwd.string(),
                  .instructions = std::move(plan_.text.instructions),
                  .prompt = std::move(plan_.text.prompt),
                  .attachments = std::move(plan_.text.attachments),
                  .tools = tool_names(*toolbox_),
                  .sandbox = describe(plan_.agent.sandbox, tool_environment_->sandbox()),
                  .mcp_servers = connections_of(mcp_servers_.get()),
                  .session = source_.session,
                  .resumes = earlier ? std::optional(earlier->past.seq) : std::nullopt,
                  .forked_from = earlier ? earlier->forked_from : std::nullopt,
                  .plan = run_plan(plan_, *toolbox_, io_->clock().wall()),
                  .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                                .agent_folder = plan_.agent.directory,
                                .options = lasting_options(world_.parsed),
                                .input_sha256 = source_.input_sha256},
                  .worked_ms = earlier ? earlier->worked_ms : 0},
      .warnings = std::move(plan_.warnings),
      .past = earlier ? std::move(earlier->past) : agent::Past(),
      .resume_cmd = resume_command(),
      .answers = source_.answers};
  seal(request.started);
  return request;
}

agent::RunResult RunSession::run() {
  auto sinks = world_.sinks;
  if (agent::EventSink* watcher = io_->watcher()) {
    sinks.push_back(watcher);
  }
  std::vector<agent::Interceptor*> interceptors;
  for (agent::Interceptor* interceptor :
       {hooks_.get(), static_cast<agent::Interceptor*>(guarded_.interceptor.get())}) {
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
                  .summarizer = summarizer_.get(),
                  .pinned = pinned_,
                  .last_words = [this] { return last_words(); },
                  .seal = sealer(),
                  .keeps_whole =
                      [this](std::string_view arguments) {
                        return world_.redactor.apply(arguments) == arguments;
                      }},
                 world_.cancellation);
  if (mcp_servers_) {
    mcp_servers_->close();
  }
  return result;
}

Result<void> RunSession::remove_old_runs() const {
  return cli::remove_old_runs(
      plan_.agent, journal_file_, world_.context.cwd, world_.context.environment);
}

}  // namespace cli

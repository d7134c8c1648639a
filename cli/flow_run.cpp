#include "cli/flow_run.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/sha256.h"
#include "agent/state.h"
#include "agent/step.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "cli/agents_above.h"
#include "cli/agents_at_work.h"
#include "cli/find_run.h"
#include "cli/flow_check.h"
#include "cli/flow_claims.h"
#include "cli/flow_commands.h"
#include "cli/flow_files.h"
#include "cli/flow_part.h"
#include "cli/member_run.h"
#include "cli/old_runs.h"
#include "cli/open_sandbox.h"
#include "cli/outside_input.h"
#include "cli/plan_members.h"
#include "cli/recorded_member.h"
#include "cli/resources.h"
#include "cli/run_identity.h"
#include "cli/run_inputs.h"
#include "cli/run_seal.h"
#include "cli/run_session.h"
#include "cli/run_sinks.h"
#include "cli/user_folders.h"
#include "tools/hooks/kept_modules.h"
#include "tools/hooks/script_files.h"
#include "tools/hooks/user_command.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <iterator>
#include <ranges>
#include <system_error>
#include <tuple>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Ending;
using agent::Error;
using agent::Json;
using agent::Result;
using agent::RunResult;

constexpr agent::Milliseconds k_command_timeout = std::chrono::minutes(10);
constexpr std::size_t k_most_output = 1u << 20;  // bytes of a command's
constexpr std::size_t k_most_errors = 8'000;     // bytes of what it says on stderr, where it fails

// What the names `prompt` and `parameters` stand for.
Json inputs_of_flow(const Plan& plan, const std::string& prompt) {
  Json inputs;
  inputs["prompt"] = prompt.empty() ? Json(nullptr) : Json(prompt);
  Json& parameters = inputs["parameters"] = Json::object();
  for (const agent::ParameterSpec& parameter : plan.agent.parameters) {
    const auto value = plan.parameters.find(parameter.name);
    if (value != plan.parameters.end()) {
      const auto json =
          parameter.type == "string" ? std::nullopt : agent::parse_json(value->second);
      parameters[parameter.name] = json.value_or(Json(value->second));
    }
  }
  return inputs;
}

// That is not blank; on one line.
std::string last_line(std::string_view text) {
  for (const std::string_view line : agent::split_lines(text) | std::views::reverse) {
    if (!agent::trimmed(line).empty()) {
      return agent::one_line(agent::trimmed(line), 200);
    }
  }
  return {};
}

RunResult bare_result(const Ending& ending) {
  return agent::make_result(agent::State({}), ending);
}

Ending cancelled_by_flow() {
  return {.error = Error{.code = Code::durable_cancelled,
                         .message = "the flow ended while it was at work",
                         .help = {}}};
}

Ending how_it_was_stopped(const agent::Cancellation& stop) {
  if (const int signal = stop.signal_number(); signal != 0) {
    return {
        .error =
            Error{.code = Code::run_cancelled, .message = "a signal ended the flow", .help = {}},
        .signal = signal};
  }
  return stop.ending().value_or(cancelled_by_flow());
}

// Whether it goes on where the flow does, whatever its step's `on_error`: it was stopped, it waits
// for a person, or did so for too long, another process has it, its record could not be written,
// what ended it is meant for all, or is the whole's limit.
bool is_suspended(const RunResult& result, const agent::Cancellation& stop) {
  if (!result.error) {
    return false;
  }
  const auto of_the_whole = stop.ending();
  return result.error->is_taken || result.error->is_put_off || result.error->write_failed ||
         agent::is_meant_for_all(result) || agent::is_parked(result) ||
         agent::has_waited_too_long(result) ||
         agent::status_of(result.exit_code) == agent::Status::cancelled ||
         (of_the_whole && of_the_whole->error && of_the_whole->error->code == result.error->code);
}

// What nobody could know before the other steps had brought it.
Result<void> check_task(const agent::StepSpec& step,
                        const agent::flow::Task& task,
                        const agent::AgentSpec& agent) {
  if (!step.prompt.empty() && agent::is_blank(task.prompt)) {
    return agent::fail(Code::cli_no_input,
                       "what its `prompt` names is empty, and so is the prompt",
                       "`when: \"plan.text != ''\"` keeps a step from being run without it");
  }
  for (const auto& [name, value] : task.parameters) {
    const auto parameter = std::ranges::find(agent.parameters, name, &agent::ParameterSpec::name);
    if (parameter != agent.parameters.end()) {
      TRY(check_given(*parameter, value));
    }
  }
  return {};
}

// Of a flow that is recorded: nothing carries it on, nor a member of it.
bool is_final(const RunResult& result) {
  return agent::is_resumable(result.exit_code) && result.exit_code != 0 && !result.run_id.empty() &&
         result.resume_cmd.empty() && (!result.stop || result.stop->way_on.empty());
}

agent::flow::MemberEnd as_heard(const agent::MemberFinished& heard) {
  return {.result = heard.result,
          .exit_status = heard.exit_status,
          .errors = heard.errors.value_or(""),
          .taken_from = heard.taken_from.value_or("")};
}

// By which its last process did not judge its calls.
bool has_new_rules(const Parsed& parsed, const RecordedRun& member) {
  const auto before = recorded_options(member);
  return std::ranges::any_of(std::array{"--allow", "--deny", "--sandbox"}, [&](const char* option) {
    const auto& known = before ? before->all(option) : parsed.all(option);
    return std::ranges::any_of(parsed.all(option), [&](const std::string& rule) {
      return std::ranges::find(known, rule) == known.end();
    });
  });
}

// As a shell says it; nullopt: it could not be run, or what it did was refused.
std::optional<int> status_in_a_shell(const tools::ProgramResult& result) {
  using End = tools::ProgramResult::End;
  switch (result.end) {
    case End::exited:
      return result.exit_status != 0 || result.has_exited_cleanly()
                 ? std::optional(result.exit_status)
                 : std::nullopt;
    case End::signalled:
      return 128 + result.signal;
    case End::timed_out:
    case End::idle:
      return 124;
    case End::cancelled:
    case End::not_started:
    case End::lost:
      break;
  }
  return std::nullopt;
}

}  // namespace

FlowRun::FlowRun(RunWorld world, std::string run_id, RunSource source, Plan plan)
    : world_(std::move(world)),
      run_id_(std::move(run_id)),
      source_(std::move(source)),
      plan_(std::move(plan)),
      sinks_(world_.sinks),
      above_({world_.budget}, &world_.cancellation),
      budget_(plan_.agent.limits, "the flow") {
  if (world_.others.empty()) {  // it is the outermost
    world_.others = agents_at_work(plan_);
  }
}

Result<std::unique_ptr<FlowRun>> FlowRun::open(RunWorld world,
                                               std::string run_id,
                                               RunSource source,
                                               Plan plan) {
  std::unique_ptr<FlowRun> flow(
      new FlowRun(std::move(world), std::move(run_id), std::move(source), std::move(plan)));
  if (auto opened = flow->open_all(); !opened) {
    return agent::fail(telling_what_was_left(std::move(opened).error(), flow->left_));
  }
  return flow;
}

Result<void> FlowRun::open_all() {
  TRY(open_journal());
  TRY(open_workshop());
  TRY(open_io());
  if (auto& earlier = source_.earlier) {
    TRY(check_is_own(*earlier, "begin the flow anew"));
    if (!earlier->begun.plan.is_flow) {
      return agent::fail(Code::cli_usage,
                         fmt::format("the run {} is one of an agent, and {} is a flow's file",
                                     run_id_,
                                     agent::one_line(plan_.agent.file, 200)),
                         "`--agent FILE` takes the agent's file");
    }
    if (!world_.parsed.has("--agent") && world_.parent.empty()) {
      TRY(check_agents_are_recorded(plan_, *earlier));
    }
    recorded_ = earlier->past.state.members;
  }
  return open_state();
}

Result<void> FlowRun::open_state() {
  std::string prompt = plan_.text.prompt;
  if (source_.earlier) {
    const auto& messages = source_.earlier->past.state.conversation.messages;
    prompt = messages.empty() ? "" : std::get<agent::UserMessage>(messages.front()).text;
  }
  TRY_ASSIGN(parts_, parts_asked_for(world_.parsed, plan_.agent.steps));
  if (!parts_.empty()) {
    agent::flow::narrow(plan_.agent.steps, parts_);
  }
  state_.emplace(plan_.agent.steps, inputs_of_flow(plan_, prompt));
  return source_.taken ? take_members() : Result<void>();
}

// What is taken from an earlier run is all there before anything begins: it needs nothing else.
Result<void> FlowRun::take_members() {
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (const Member& member : state_->begin()) {
      if (parts_[member.step] != agent::flow::Part::taken) {
        ready_.push_back(member);
        continue;
      }
      is_news = true;
      TRY_ASSIGN(auto taken, taken_member(*source_.taken, step_of(member), key_of(member)));
      state_->end(member,
                  {.result = taken.result,
                   .exit_status = taken.exit_status,
                   .errors = taken.errors.value_or(""),
                   .taken_from = *taken.taken_from});
      taken_.push_back(std::move(taken));
    }
  }
  return {};
}

Result<void> FlowRun::open_journal() {
  const agent::SessionSpec& session = plan_.agent.session;
  const fs::path file =
      source_.earlier ? source_.earlier->store : store_of(plan_.agent, world_.context.environment);
  if (world_.parsed.has("--no-session") || world_.parsed.has("--replay") ||
      session.store == "none" || file.is_relative()) {
    return {};
  }
  const RunIdentity identity{.cwd = world_.context.cwd.string(),
                             .agent_folder = plan_.agent.directory,
                             .agent_file = plan_.agent.file,
                             .name = source_.session};
  if (auto why = why_not_kept(identity, world_.redactor)) {
    return agent::fail(*std::move(why));
  }
  if (!source_.earlier) {
    TRY(check_store(plan_.agent));
  }
  TRY(check_is_no_output(world_.parsed, "the session store", file.string()));
  auto journal = agent::store::SqliteJournal::open(
      file, session.durability, world_.redactor, world_.cancellation.stop());
  const bool must_be_kept = session.store != "auto" || !source_.session.empty() || source_.earlier;
  if (!journal && !must_be_kept && !journal.error().write_failed &&
      journal.error().code != Code::os_failed) {
    plan_.warnings.push_back({.message = "no session is kept: " + journal.error().message,
                              .help = "--no-session switches this warning off"});
    return {};
  }
  if (!journal) {
    Error error = std::move(journal).error().while_("opening the session store");
    error.help += error.help.empty() ? "" : "; or ";
    error.help += "--no-session runs without one";
    return agent::fail(std::move(error));
  }
  TRY((*journal)->claim(run_id_));
  if (source_.earlier) {
    TRY(check_is_unchanged(*source_.earlier));
  } else if (!source_.session.empty() && world_.parent.empty()) {  // else the one above has it
    TRY_ASSIGN(name_claim_, claim_name(identity, file));
  }
  journal_ = *std::move(journal);
  journal_file_ = file;
  store_ = file == default_journal(world_.context.environment) ? "auto" : file.string();
  for (const std::string_view part : {"", "-wal", "-shm", "-lock"}) {
    world_.outputs.meanwhile.push_back(fs::path(file) += part);
  }
  return {};
}

// For the flow's commands.
Result<void> FlowRun::open_workshop() {
  const IsWritten is_written = written_by(plan_.agent, world_.others, world_.context);
  if (source_.earlier) {
    TRY_ASSIGN(
        left_,
        tidy_after_kill(*source_.earlier,
                        is_written,
                        source_.is_by_record ? std::vector<fs::path>() : files_of(world_.others),
                        world_.context.environment));
    for (const std::string& sentence : left_) {
      plan_.warnings.push_back({.message = sentence, .help = {}});
    }
  }
  if (world_.parent.empty()) {  // else whoever has begun it knows them
    obeyed_by_next_agents_ = obeyed_by_next_agents(world_.context);
  }
  if (world_.watched == nullptr) {
    world_.watched = &watched_.emplace(world_.others, world_.context);
    // Beside a run that is carried on by itself may be agents of which it knows nothing.
    const bool may_have_some =
        !source_.beside_commands.empty() &&
        std::ranges::any_of(world_.others, [&](const auto* flow) {
          return std::ranges::any_of(flow->steps, &agent::StepSpec::is_command) &&
                 opens_more(*flow, world_.others);
        });
    if (journal_ && (watched_->has_some() || may_have_some)) {
      TRY_ASSIGN(commands_claim_, claim_commands(journal_file_, run_id_, source_.beside_commands));
    }
  }
  if (std::ranges::none_of(plan_.agent.steps, &agent::StepSpec::is_command)) {
    return {};
  }
  std::vector<fs::path> obeyed = opens_more(plan_.agent, world_.others)
                                     ? paths_for_commands(obeyed_files())
                                     : paths_of(obeyed_files());
  if (journal_) {
    obeyed.push_back(fs::absolute(journal_file_) += "-journal");
  }
  TRY_ASSIGN(workshop_,
             ToolEnvironment::open(plan_.agent,
                                   {.folder_id = agent::new_run_id(),
                                    .is_written = is_written,
                                    .http = &world_.http,
                                    .outputs = world_.outputs,
                                    .obeyed = std::move(obeyed),
                                    .is_attended = false},
                                   world_.context,
                                   world_.supervisor,
                                   world_.redactor));
  if (journal_) {
    workshop_->folder().keep(run_id_, journal_file_);
  }
  for (std::string& sentence : workshop_->warnings()) {
    plan_.warnings.push_back({.message = std::move(sentence), .help = {}});
  }
  return {};
}

Result<void> FlowRun::open_io() {
  if (world_.tape == nullptr) {
    io_ = providers::live_io(world_.http, store_);
    return {};
  }
  TRY_ASSIGN(io_,
             world_.tape->open({.member = world_.path,
                                .run_id = run_id_,
                                .key_variable = {},
                                .folder = workshop_ ? workshop_->folder().path().string() : "",
                                .store = store_},
                               world_.http));
  store_ = io_->store();
  return {};
}

agent::RunStarted FlowRun::beginning() const {
  const auto& earlier = source_.earlier;
  agent::RunStarted started{
      .version = ERRAND_VERSION,
      .agent_name = plan_.agent.name,
      .agent_file = plan_.agent.file,
      .cwd = world_.context.cwd.string(),
      .prompt = earlier ? "" : plan_.text.prompt,
      .sandbox = describe(plan_.agent.sandbox, workshop_ ? workshop_->sandbox() : nullptr),
      .session = source_.session,
      .resumes = earlier ? std::optional(earlier->past.seq) : std::nullopt,
      .plan = {.limits = plan_.agent.limits, .is_flow = true},
      .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                    .agent_folder = plan_.agent.directory,
                    .options = lasting_options(world_.parsed),
                    .agents_sha256 = sums_of_agents(plan_)},
      .worked_ms = earlier ? worked_until_now(*earlier, world_.context.environment).count() : 0};
  if (journal_) {
    for (std::string& option : started.made_from.options) {
      option = world_.redactor.apply(option);
    }
    if (const auto key = seal_key(world_.context.environment, world_.context.cwd)) {
      started.made_from.seal = seal_of(*key, run_id_, started);
    }
  }
  return started;
}

agent::ResumeCommand FlowRun::resume_command() const {
  const bool is_sealed = journal_ == nullptr ||  // of a recorded run: it says what that one said
                         seal_key(world_.context.environment, world_.context.cwd).has_value();
  const fs::path file = agent::file_of(plan_.agent);
  return !store_.empty() && is_sealed
             ? agent::ResumeCommand{.words = agent::resume_words(run_id_, store_),
                                    .agent_file = file.string()}
             : agent::ResumeCommand{};
}

// ---- the whole ----

RunResult FlowRun::run() {
  const agent::RunStarted started = beginning();
  agent::Past past;
  if (source_.earlier) {
    const auto [spent, heard] = spent_by_records(*source_.earlier, world_.context.environment);
    budget_.begin_with(spent, heard);
    past = std::move(source_.earlier->past);
  }
  budget_.count_others(journal_file_, run_id_);
  auto sinks = sinks_.sinks();
  if (agent::EventSink* watcher = io_->watcher()) {
    sinks.push_back(watcher);
  }
  recorder_.emplace(run_id_,
                    std::move(past),
                    agent::Recorder::Audience{.sinks = sinks,
                                              .journal = journal_.get(),
                                              .clock = io_->clock(),
                                              .parent = world_.parent});
  worked_before_ = agent::Milliseconds{started.worked_ms};
  time_.emplace(worked_before_, io_->clock(), world_.cancellation);
  if (const auto limit = time_limit()) {
    time_->end_after(*limit);
  }
  recorder_->record(started);
  for (const agent::Warning& warning : plan_.warnings) {
    recorder_->record(warning);
  }
  if (source_.is_by_record) {
    if (auto warning = warning_of_change(source_.earlier->begun, world_.context.cwd)) {
      recorder_->record(*std::move(warning));
    }
  }
  for (agent::MemberFinished& taken : taken_) {
    recorder_->record(std::move(taken));
  }
  recorder_->commit();
  const auto look_again = [this] {
    const std::lock_guard lock(mutex_);
    ended_some_.notify_all();
  };
  const std::stop_callback stopped(world_.cancellation.stop(), look_again);
  const std::stop_callback killed(world_.cancellation.kill(), look_again);
  do {
    begin_members();
    while (!running_.empty()) {
      wait_for_members();
      begin_members();
    }
  } while (take_answered());
  RunResult result = finish();
  io_->finish();
  return result;
}

// Its own, or what is left of that of those above, whichever comes first.
std::optional<agent::Milliseconds> FlowRun::time_limit() const {
  const auto& own = plan_.agent.limits.timeout;
  if (!world_.time_above) {
    return own;
  }
  return own ? std::min(*own, limit_above()) : limit_above();
}

agent::Milliseconds FlowRun::limit_above() const {
  return worked_before_ + world_.time_above->left;
}

bool FlowRun::is_over_above() const {
  return world_.time_above && time_->worked() >= limit_above();
}

void FlowRun::begin_members() {
  for (bool is_news = true; is_news;) {
    is_news = false;
    std::vector<Member> members = std::exchange(ready_, {});
    std::ranges::move(state_->begin(), std::back_inserter(members));
    std::erase_if(members, [&](const Member& member) { return settle_waiting(member); });
    for (const Member& member : members) {
      is_news = note_ended() || is_news;
      const bool is_over = interruption() || state_->ending();
      if (settle_recorded(member)) {
        is_news = true;
      } else if (is_over || recorder_->failure() || !make_room_beside(running_.size())) {
        ready_.push_back(member);  // or, for want of room, until another one has ended
      } else {
        begin(member);
      }
    }
  }
  if (interruption() || state_->ending()) {
    std::ranges::for_each(std::exchange(ready_, {}), [this](const Member& m) { leave(m); });
    stop_members();
  }
}

// One that still waits for a person is not begun again: it ends as it did before. By other files
// and by rules that are new to it its calls may need nobody; in one with members, others may go on.
bool FlowRun::settle_waiting(const Member& member) {
  const auto found = recorded_.find(key_of(member));
  if (found == recorded_.end() || !found->second.finished || !found->second.finished->suspended ||
      world_.parsed.has("--yes") || world_.parsed.has("--agent") || step_of(member).is_command()) {
    return false;
  }
  const RecordedMember since = since_recorded(found->second);
  if (!since.waits_alone() || has_new_rules(world_.parsed, *since.record())) {
    return false;
  }
  end_as_recorded(member, *found->second.finished, since);
  return true;
}

// Of those that wait, some may have been answered while others were at work. What they have brought
// since then the flow has now; true: some wait no more, and others may begin.
bool FlowRun::take_answered() {
  if (!journal_ || interruption() || state_->ending()) {
    return false;
  }
  const std::vector<Member> waiting = state_->waiting();
  for (const Member& member : waiting) {
    const agent::MemberRecord heard = recorder_->state().members.at(key_of(member));
    if (heard.finished) {
      end_as_recorded(member, *heard.finished, since_recorded(heard));
    }
  }
  recorder_->commit();
  return state_->waiting().size() < waiting.size();
}

RecordedMember FlowRun::since_recorded(const agent::MemberRecord& known) const {
  return {known, journal_file_, world_.context.environment};
}

// It may have been carried on by itself since the flow heard of it.
void FlowRun::end_as_recorded(const Member& member,
                              const agent::MemberFinished& heard,
                              const RecordedMember& since) {
  const auto now = since.ending();
  MemberEnd end = as_heard(heard);
  end.is_suspended = heard.suspended;
  const auto anew = since.heard_anew();
  if (anew) {
    end.result = anew->result;
  }
  const bool has_gone_on = now && !heard.taken_from && heard.result.exit_code != 0 &&
                           (anew || now->exit_code != heard.result.exit_code ||
                            now->resume_cmd != heard.result.resume_cmd);
  if (has_gone_on) {
    const RunResult bill = std::exchange(end.result, *now);  // with that of its members
    take_bill(end.result, bill);
    end.is_suspended = is_suspended(*now, agent::Cancellation());
  }
  agent::tell_whose_stop(end.result, {});
  if (has_gone_on || anew) {
    note_end(member, std::move(end));
  } else {
    state_->end(member, std::move(end));
  }
}

// What an earlier process has brought is not done again. What ended the flow then is, and a flow of
// which a member has been carried on by itself since.
bool FlowRun::settle_recorded(const Member& member) {
  const auto found = recorded_.find(key_of(member));
  if (found == recorded_.end() || !found->second.finished) {
    return false;
  }
  const agent::MemberFinished& heard = *found->second.finished;
  const agent::StepSpec& step = step_of(member);
  const bool ended_it = step.on_error == agent::StepSpec::OnError::stop &&
                        (!step.repeat || member.round > step.repeat->max);
  if (heard.suspended || (heard.result.exit_code != 0 && ended_it)) {
    return false;
  }
  if (step.is_command()) {
    state_->end(member, as_heard(heard));
    return true;
  }
  const RecordedMember since = since_recorded(found->second);
  const bool has_more_to_do = heard.result.exit_code != 0 && !heard.taken_from && since.record() &&
                              since.record()->begun.plan.is_flow &&
                              has_gone_on_below(*since.record(), world_.context.environment);
  if (!has_more_to_do) {
    end_as_recorded(member, heard, since);
  }
  return !has_more_to_do;
}

// The whole is over before it goes on: what an earlier process has used for it is listed all the
// same.
void FlowRun::leave(const Member& member) {
  const auto found = recorded_.find(key_of(member));
  if (found == recorded_.end()) {
    return;
  }
  const auto& heard = found->second.finished;
  if (step_of(member).is_command()) {
    if (heard) {
      state_->end(member, as_heard(*heard));
    }
    return;
  }
  const RecordedMember since = since_recorded(found->second);
  if (heard) {
    end_as_recorded(member, *heard, since);
  } else if (auto result = since.left_off(interruption().value_or(cancelled_by_flow()))) {
    note_end(member, {.result = *std::move(result), .is_suspended = true});
  }
}

// Members of earlier processes that did not come up again, as those whose steps have other names
// now: what they have used is paid for by the flow all the same.
void FlowRun::note_left_behind(bool is_over) {
  for (const auto& [key, recorded] : recorded_) {
    const auto& [step, item, round] = key;
    const agent::MemberRecord now = recorder_->state().members.at(key);
    if (now.run_id.empty()) {
      continue;
    }
    const RecordedMember since = since_recorded(now);
    if (now.finished) {
      if (auto anew = since.heard_anew()) {
        recorder_->record(*std::move(anew));
      }
    } else if (auto result = since.left_off(
                   {.error = Error{.code = Code::tool_interrupted,
                                   .message = "the process ended while it was at work",
                                   .help = {}}})) {
      result->exit_code = 128 + SIGTERM;  // nobody knows by what
      recorder_->record(
          agent::MemberFinished{.member = item < 0 ? step : fmt::format("{}[{}]", step, item),
                                .step = step,
                                .item = item < 0 ? std::nullopt : std::optional(item),
                                .round = round,
                                .result = *std::move(result),
                                .suspended = !is_over});
    }
  }
}

agent::MemberKey FlowRun::key_of(const Member& member) const {
  return {step_of(member).name,
          member.item ? static_cast<std::int64_t>(*member.item) : -1,
          member.round};
}

// What it is called in the flow, each round by itself.
std::string FlowRun::place_of(const Member& member) const {
  return state_->name_of(member) + (member.round > 1 ? fmt::format("@{}", member.round) : "");
}

std::string FlowRun::session_of(const Member& member) const {
  if (store_.empty()) {
    return {};
  }
  return fmt::format(
      "{}/{}", source_.session.empty() ? run_id_ : source_.session, place_of(member));
}

void FlowRun::begin(const Member& member) {
  const agent::StepSpec& step = step_of(member);
  const auto found = recorded_.find(key_of(member));
  std::string run_id;
  if (!step.is_command()) {
    run_id = found != recorded_.end() && !found->second.run_id.empty()
                 ? found->second.run_id
                 : world_.new_run_id(place_of(member));
  }
  recorder_->record(agent::MemberStarted{
      .member = state_->name_of(member),
      .step = step.name,
      .item = member.item ? std::optional(static_cast<std::int64_t>(*member.item)) : std::nullopt,
      .round = member.round,
      .kind = step.is_command()                      ? "command"
              : plan_.members[member.step].is_flow() ? "flow"
                                                     : "agent",
      .runs = step.is_command() ? step.command : step.agent,
      .run_id = run_id});
  recorder_->commit();
  if (recorder_->failure() && found != recorded_.end()) {
    leave(member);
    return;
  }
  if (recorder_->failure()) {  // what it did nobody would find
    note_end(member,
             {.result = bare_result({.error = recorder_->failure()}), .is_suspended = true});
    return;
  }
  Assignment work{.member = member,
                  .run_id = std::move(run_id),
                  .session = session_of(member),
                  .path = world_.path_of(place_of(member))};
  Running& running = running_[member];
  running.stop = std::make_unique<agent::Cancellation>();
  auto task = state_->task_of(member);
  if (!task) {
    const std::lock_guard lock(mutex_);
    ended_.emplace_back(member,
                        MemberEnd{.result = bare_result({.error = std::move(task).error()})});
    return;
  }
  work.task = *std::move(task);
  try {
    running.thread = std::jthread([this,
                                   work = std::move(work),
                                   place = place_among_members(member),
                                   stop = running.stop.get()]() mutable {
      MemberEnd end = perform(work, std::move(place), *stop);
      const std::lock_guard lock(mutex_);
      ended_.emplace_back(work.member, std::move(end));
      ended_some_.notify_all();
    });
  } catch (const std::system_error& no_thread) {
    const std::lock_guard lock(mutex_);
    ended_.emplace_back(member,
                        MemberEnd{.result = bare_result({.error = agent::error_of(no_thread)})});
  }
}

// They come in the order of the steps; for a flow, its own members do.
WatchedCommands::Place FlowRun::place_among_members(const Member& member) {
  const agent::StepSpec& step = step_of(member);
  return step.is_command() ? world_.watched->come(plan_.agent, step.command)
                           : world_.watched->come(plan_.members[member.step]);
}

// Until one at least has ended, or all are to be stopped.
void FlowRun::wait_for_members() {
  {
    std::unique_lock lock(mutex_);
    ended_some_.wait(lock, [&] { return !ended_.empty() || wants_stop(); });
  }
  note_ended();
}

// Also while others begin, of whom there may be many: what has ended is never run again, and what
// ends the flow keeps them from it. False: none has ended.
bool FlowRun::note_ended() {
  std::vector<std::pair<Member, MemberEnd>> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (auto& [member, end] : ended) {
    running_.erase(member);
    note_end(member, std::move(end));
  }
  if (!ended.empty()) {
    recorder_->commit();
  }
  return !ended.empty();
}

void FlowRun::note_end(const Member& member, MemberEnd end) {
  recorder_->record(agent::MemberFinished{
      .member = state_->name_of(member),
      .step = step_of(member).name,
      .item = member.item ? std::optional(static_cast<std::int64_t>(*member.item)) : std::nullopt,
      .round = member.round,
      .exit_status = end.exit_status,
      .errors = step_of(member).is_command() ? std::optional(end.errors) : std::nullopt,
      .result = end.result,
      .suspended = end.is_suspended});
  state_->end(member, std::move(end));
}

std::optional<Ending> FlowRun::interruption() const {
  if (const int signal = world_.cancellation.signal_number(); signal != 0) {
    return Ending{.error = Error{.code = Code::run_cancelled,
                                 .message = fmt::format("the flow was ended by {}",
                                                        signal == SIGINT    ? "SIGINT"
                                                        : signal == SIGHUP  ? "SIGHUP"
                                                        : signal == SIGPIPE ? "SIGPIPE"
                                                                            : "SIGTERM"),
                                 .help = {}},
                  .signal = signal};
  }
  if (recorder_->failure()) {
    return Ending{.error = recorder_->failure()};
  }
  if (auto ending = world_.cancellation.ending()) {
    return ending;  // that of the flow that this one is a step of
  }
  if (world_.cancellation.is_expired() && is_over_above()) {
    return world_.time_above->ending;
  }
  if (world_.cancellation.is_expired()) {
    const auto limit = plan_.agent.limits.timeout.value_or(agent::Milliseconds{0});
    const auto seconds = [](agent::Milliseconds time) {
      return static_cast<double>(time.count()) / 1000;
    };
    return agent::stopped_at(Code::run_timeout,
                             seconds(std::max(time_->worked(), limit)),
                             seconds(limit),
                             "the flow took longer than " + agent::format_duration(limit));
  }
  return std::nullopt;
}

// Whether the members are to be told something new.
bool FlowRun::wants_stop() const {
  const agent::Cancellation& whole = world_.cancellation;
  return (whole.stop().stop_requested() && told_ == Told::nothing) ||
         (whole.kill().stop_requested() && told_ != Told::to_die);
}

// Each thing once: a second word ends a member at once. By a signal as it is; else because the flow
// is over.
void FlowRun::stop_members() {
  const bool is_kill = world_.cancellation.kill().stop_requested();
  if (told_ == Told::to_die || (told_ == Told::to_stop && !is_kill)) {
    return;
  }
  const int signal = world_.cancellation.signal_number();
  const auto why = interruption();
  const bool is_told = world_.cancellation.is_expired() || world_.cancellation.ending();
  const auto tell = [&](agent::Cancellation& member) {
    if (signal != 0) {
      member.signal(signal);
    } else {
      member.end(why && is_told ? *why : cancelled_by_flow());
    }
  };
  for (auto& [member, running] : running_) {
    tell(*running.stop);
    if (is_kill && told_ == Told::nothing) {
      tell(*running.stop);
    }
  }
  told_ = is_kill ? Told::to_die : Told::to_stop;
}

RunResult FlowRun::finish() {
  auto ending = interruption();
  if (!ending) {
    ending = state_->ending() ? state_->ending() : state_->ending_of_waiting();
  }
  note_left_behind(!ending);
  if (workshop_) {
    auto all_left = workshop_->runner_options({}).program_runner->tidy_up();
    if (const agent::Leftover* const ends = agent::what_ends(all_left); ends && !ending) {
      ending = Ending{.error = agent::error_of(*ends)};
    }
    for (agent::Leftover& left : all_left) {
      recorder_->record(agent::Warning{.message = std::move(left.sentence), .help = {}});
    }
  }
  RunResult result =
      agent::make_result(recorder_->state(), ending ? *ending : state_->last_ending());
  result.text = state_->text();
  result.partial = !agent::has_final_answer(result.exit_code) && !result.text.empty();
  result.output = result.exit_code == 0 ? state_->output() : "";
  result.members = state_->members();
  result.run_id = run_id_;
  result.duration_ms = time_->worked().count();
  if (!recorder_->failure() && result.exit_code != 0 &&
      agent::can_be_carried_on(recorder_->state(), result.exit_code)) {
    result.resume_cmd = agent::resume_command(resume_command(), result, plan_.agent.limits);
    if (result.resume_cmd.ends_with(agent::k_place_of_message)) {  // what is left to do is known
      result.resume_cmd.resize(result.resume_cmd.size() - agent::k_place_of_message.size());
    }
  }
  if (!ending || (!interruption() && state_->ends_the_same_way())) {
    result.resume_cmd.clear();
  }
  if (!world_.cancellation.ending() && !is_over_above()) {
    agent::tell_of_member(result, resume_command());
    agent::tell_whose_stop(result, plan_.agent.limits);
  }
  recorder_->finish(result, [&] { return interruption(); });
  return result;
}

std::optional<Error> FlowRun::remove_old_runs() const {
  return cli::remove_old_runs(
      plan_.agent, journal_file_, world_.context.cwd, world_.context.environment, run_id_);
}

// ---- one member ----

FlowRun::MemberEnd FlowRun::perform(const Assignment& work,
                                    Place place,
                                    agent::Cancellation& stop) {
  MemberEnd end = performed(work, std::move(place), stop);
  end.is_suspended = is_suspended(end.result, stop);
  end.is_final = !end.is_suspended && plan_.members[work.member.step].is_flow() &&
                 !resume_command().words.empty() && is_final(end.result);
  return end;
}

FlowRun::MemberEnd FlowRun::performed(const Assignment& work,
                                      Place place,
                                      agent::Cancellation& stop) {
  const auto failed = [](Error error) {
    return MemberEnd{.result = bare_result({.error = std::move(error)})};
  };
  try {
    const auto turn = world_.watched->begin(std::move(place), stop.stop());
    if (!turn) {
      return failed(turn.error());
    }
    if (!turn->is_held()) {
      return MemberEnd{.result = bare_result(how_it_was_stopped(stop))};
    }
    if (step_of(work.member).is_command()) {
      const agent::SystemClock clock;
      const auto begin = clock.now();
      MemberEnd end = run_command(work, stop);
      const auto measured = std::chrono::duration_cast<agent::Milliseconds>(clock.now() - begin);
      end.result.duration_ms = io_->took(work.path, measured).count();
      return end;
    }
    auto result = run_agent(work, stop);
    return result ? MemberEnd{.result = *std::move(result)} : failed(std::move(result).error());
  } catch (const std::exception& exception) {
    return failed(agent::error_of(exception));
  }
}

// Those of the flow that it is a step of, too.
Obeyed FlowRun::obeyed_files() const {
  Obeyed files = obeyed_by_all(plan_, world_.parsed, world_.context);
  for (const Obeyed* more : {&world_.obeyed, &obeyed_by_next_agents_}) {
    std::ranges::copy(*more, std::back_inserter(files));
  }
  return files;
}

Result<RunResult> FlowRun::run_agent(const Assignment& work, agent::Cancellation& stop) {
  const agent::flow::Task& task = work.task;
  TRY(check_task(step_of(work.member), task, plan_.members[work.member.step].agent));
  const bool has_prompt = !step_of(work.member).prompt.empty();
  const OutsideInput said{.prompt = has_prompt ? std::optional(task.prompt) : std::nullopt,
                          .parameters = {task.parameters.begin(), task.parameters.end()}};
  auto sinks = sinks_.sinks();
  sinks.push_back(&budget_);
  const Budgets budgets({&budget_, &above_});
  const auto recorded = recorded_by_earlier(work.member);
  return run_member(
      {.context = world_.context,
       .supervisor = world_.supervisor,
       .redactor = world_.redactor,
       .http = world_.http,
       .models = world_.models,
       .parsed = command_line_of_members(world_.parsed),
       .sinks = std::move(sinks),
       .outputs = world_.outputs,
       .cancellation = stop,
       .killed = [&] { return killed(stop); },
       .budget = &budgets,
       .is_room_shared = world_.is_room_shared || has_limit(plan_.agent.limits),
       .kill_files = world_.kill_files,
       .tape = world_.tape,
       .parent = run_id_,
       .member = step_of(work.member).name,
       .path = work.path,
       .obeyed = obeyed_files(),
       .others = world_.others,
       .watched = world_.watched},
      {.run_id = work.run_id,
       .session = work.session,
       .recorded = recorded,
       .tries_again = recorded && recorded->finished && !recorded->finished->suspended,
       .journal = journal_file_,
       .anew = "begin the flow anew"},
      plan_.members[work.member.step],
      said);
}

FlowRun::MemberEnd FlowRun::run_command(const Assignment& work, agent::Cancellation& stop) {
  const agent::StepSpec& step = step_of(work.member);
  tools::ProgramRunner& runner = *workshop_->runner_options({}).program_runner;
  const tools::UserPrograms programs{.folder = world_.context.cwd,
                                     .directory = plan_.agent.directory,
                                     .temporary = workshop_->folder().path(),
                                     .environment = world_.context.environment,
                                     .program_runner = &runner};
  tools::ProgramRequest request{.argv = {"/bin/sh", "-c", step.command},
                                .environment = tools::user_environment(programs, {}),
                                .cwd = world_.context.cwd,
                                .temporary = workshop_->folder().path(),
                                .timeout = step.timeout.value_or(k_command_timeout),
                                .merge_stderr = false,
                                .limits = {.memory = k_most_output, .file = 0}};
  tools::keep_no_modules(request);
  tools::ProgramResult result = runner.run(request, {.stop = stop.stop(), .kill = stop.kill()});
  if (result.end == tools::ProgramResult::End::cancelled) {
    return MemberEnd{.result = bare_result(how_it_was_stopped(stop))};
  }
  const bool has_exited = result.has_exited_cleanly();
  const bool is_well = has_exited && result.exit_status == 0;
  MemberEnd end{.result = {}, .exit_status = status_in_a_shell(result)};
  const auto without_secrets = [&](const std::string& text) {
    return plan_.agent.guardrails.redact_secrets ? world_.redactor.guessing().apply(text)
                                                 : world_.redactor.apply(text);
  };
  const std::string said = without_secrets(agent::to_valid_utf8(io_->said(result.output.text)));
  end.errors = without_secrets(
      agent::head_and_tail(agent::to_valid_utf8(io_->said(result.errors.text)), k_most_errors));
  if (!is_well) {
    const std::string how = has_exited ? fmt::format("exit status {}", result.exit_status)
                                       : tools::failed_end(result, request).message;
    const std::string last = last_line(agent::trimmed(end.errors).empty() ? said : end.errors);
    end.result = bare_result(
        {.error = Error{.code = Code::team_member_failed,
                        .message = fmt::format(
                            "the command failed: {}{}", how, last.empty() ? "" : ": " + last),
                        .help = "see what it says",
                        .cause = agent::Cause{.code = Code::tool_failed, .message = how}}});
  }
  end.result.partial = !result.output.is_whole;
  end.result.text = said;
  return end;
}

std::optional<agent::MemberRecord> FlowRun::recorded_by_earlier(const Member& member) const {
  const auto found = recorded_.find(key_of(member));
  return found == recorded_.end() ? std::nullopt : std::optional(found->second);
}

// Before each request of any member.
std::optional<Error> FlowRun::killed(agent::Cancellation& stop) {
  const auto ending = budget_.at_limit();
  if (ending) {
    stop.end(*ending);
    return ending->error;
  }
  auto error = world_.killed ? world_.killed() : std::nullopt;
  if (const auto whole = world_.cancellation.ending(); error && whole) {
    stop.end(*whole);
  }
  return error;
}

}  // namespace cli

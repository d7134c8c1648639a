#include "cli/recorded_run.h"

#include "agent/id.h"
#include "agent/log_fold.h"
#include "agent/outcome.h"
#include "agent/sha256.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/run_seal.h"
#include "cli/user_folders.h"
#include "config/yaml/source.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

namespace cli {
namespace {

using agent::Code;
using agent::Result;

std::int64_t milliseconds_between(const agent::Event& from, const agent::Event& to) {
  const auto time = std::chrono::floor<std::chrono::milliseconds>(to.time - from.time).count();
  return std::max<std::int64_t>(time, 0);  // somebody may have set the clock back
}

// How long nothing was to be done behind an event but to wait for a person, or for a provider that
// was known to be down. At most until the next event.
std::int64_t waited_behind(const agent::Event& event, const agent::Event& next) {
  const std::int64_t time = milliseconds_between(event, next);
  if (std::holds_alternative<agent::ApprovalRequested>(event.body)) {
    return time;
  }
  const auto* retrying = std::get_if<agent::ModelRetrying>(&event.body);
  const bool waits =
      retrying != nullptr && retrying->error.code == agent::Code::provider_circuit_open;
  return waits ? std::clamp<std::int64_t>(retrying->delay.count(), 0, time) : 0;
}

std::vector<ProcessTime> processes_in(std::span<const agent::Event> events) {
  std::vector<ProcessTime> processes;
  const agent::Event* last = &events.front();
  for (const agent::Event& event : events) {
    if (processes.empty() || std::holds_alternative<agent::RunStarted>(event.body)) {
      processes.push_back({.begin = event.time, .end = event.time});
    } else {
      ProcessTime& process = processes.back();
      process.end = event.time;
      process.worked +=
          agent::Milliseconds{milliseconds_between(*last, event) - waited_behind(*last, event)};
    }
    last = &event;
  }
  return processes;
}

// What the processes have spent on the run: each counts those before it.
std::int64_t worked_in(const agent::RunStarted& last,
                       const ProcessTime& process,
                       const std::optional<agent::RunResult>& finished) {
  return finished ? finished->duration_ms : last.worked_ms + process.worked.count();
}

const Option* lasting_option(std::string_view name) {
  const Command* run = find_command("run");
  const Option* option = run != nullptr ? find_option(*run, name) : nullptr;
  return option != nullptr && option->lasts ? option : nullptr;
}

// Of an option with a secret in it, nobody knows the rest.
bool is_whole(const std::string& option) {
  return !option.contains(agent::k_redacted);
}

std::unexpected<agent::Error> not_carried_on(std::string message, std::string help) {
  return agent::fail(Code::cli_usage, std::move(message), std::move(help));
}

// Nothing is outstanding: the model would only be asked to say it again.
bool has_answer(const agent::State& state) {
  return state.answer != nullptr && state.open_calls.empty() && !state.next_message &&
         !state.conversation.messages.empty() &&
         std::holds_alternative<agent::AssistantMessage>(state.conversation.messages.back());
}

// The journal has it all: what failed came behind it.
bool has_unread_answer(const RecordedRun& run) {
  const auto& finished = run.past.state.finished;
  return finished && finished->error && finished->error->code == Code::storage_io &&
         has_answer(run.past.state);
}

bool has_gap(const agent::Message& message) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.content; }) {
          return one.content.contains(agent::k_redacted);
        } else if constexpr (requires { one.reply; }) {
          return one.reply->text.contains(agent::k_redacted);
        } else {
          return one.text.contains(agent::k_redacted);
        }
      },
      message);
}

}  // namespace

namespace {

Result<void> check_id(const std::string& run_id) {
  return agent::is_run_id(run_id)
             ? Result<void>()
             : agent::fail(
                   Code::storage_corrupt,
                   fmt::format("`{}` is no id that errand gives to a run", agent::one_line(run_id)),
                   "`errand runs rm` removes what is no run of yours");
}

Result<std::vector<agent::Event>> read_whole(const std::filesystem::path& store,
                                             const std::string& run_id) {
  TRY(check_id(run_id));
  TRY_ASSIGN(std::vector<agent::Event> events, agent::store::read_run(store, run_id));
  return events;
}

// The state that the events, one at least, lead to.
Result<RecordedRun> folded(const std::filesystem::path& store,
                           std::span<const agent::Event> events,
                           const agent::Environment& environment) {
  const std::string& run_id = events.front().run_id;
  RecordedRun run{.store = store,
                  .run_id = run_id,
                  .parent = events.front().parent,
                  .past = {.seq = events.back().seq},
                  .processes = processes_in(events),
                  .updated = events.back().time};
  agent::LogFold log;
  for (const agent::Event& event : events) {
    if (const std::string why = log.add(event); !why.empty()) {
      return agent::fail(
          Code::storage_corrupt,
          fmt::format("event {} of the run {} cannot stand there: {}", event.seq, run_id, why),
          "`errand runs show` has what is left of it");
    }
    if (const auto* started = std::get_if<agent::RunStarted>(&event.body)) {
      run.begun = *started;
      run.set_ups.push_back(set_up_of(*started));
    }
  }
  run.past.state = std::move(log).take_state();
  run.worked_ms = worked_in(run.begun, run.processes.back(), run.past.state.finished);
  const auto key = seal_key(environment, run.begun.cwd);
  run.is_own = key && run.begun.made_from.seal == seal_of(*key, run_id, run.begun);
  run.no_key = key ? std::nullopt : std::optional(key.error());
  return run;
}

std::int64_t last_turn(std::span<const agent::Event> events) {
  std::int64_t turn = 0;
  for (const agent::Event& event : events) {
    if (const auto* responded = std::get_if<agent::ModelResponded>(&event.body)) {
      turn = responded->turn;
    }
  }
  return turn;
}

// Under the new id what was this user's under the old one.
void seal_again(agent::RunStarted& started,
                const std::string& old_id,
                const std::string& new_id,
                const agent::Environment& environment) {
  std::string& seal = started.made_from.seal;
  const auto key = seal_key(environment, started.cwd);
  seal = key && seal == seal_of(*key, old_id, started) ? seal_of(*key, new_id, started) : "";
}

// Whether the turn is not gone on with: its calls have their results, or something new is said.
bool is_over(const agent::State& state, const agent::EventBody& next) {
  if (std::holds_alternative<agent::TurnStarted>(next)) {
    return true;
  }
  const auto* started = std::get_if<agent::RunStarted>(&next);
  const bool is_said =
      started != nullptr && (!started->prompt.empty() || !started->attachments.empty());
  const bool is_end = started != nullptr || std::holds_alternative<agent::RunFinished>(next);
  return is_said || (is_end && state.open_calls.empty());
}

// How many of the events are there when the turn, with the results of its calls, is over, whichever
// process has brought them.
std::size_t events_until(std::span<const agent::Event> events, std::int64_t turn) {
  agent::State state;
  std::size_t end = 0;  // of what belongs to the turn so far; 0: it goes on
  for (std::size_t at = 0; at < events.size(); ++at) {
    const agent::EventBody& body = events[at].body;
    if (at > 0 && state.turns == turn && is_over(state, body)) {
      return end > 0 ? end : at;
    }
    if (state.turns == turn && at > 0 && end == 0 &&
        std::holds_alternative<agent::RunFinished>(body)) {
      end = at;
    } else if (std::holds_alternative<agent::ToolFinished>(body)) {
      end = 0;  // a later process has gone on with it
    }
    agent::advance(state, body);
  }
  return end > 0 ? end : events.size();
}

// What a living process is still doing has no end yet that a fork could go on from.
Result<void> check_is_at_rest(const std::filesystem::path& store,
                              const std::string& run_id,
                              std::int64_t turn) {
  TRY_ASSIGN(const agent::store::RunInfo now, agent::store::run_info(store, run_id));
  return now.status != agent::store::RunStatus::running
             ? Result<void>()
             : not_carried_on(
                   fmt::format("turn {} of the run {} is not over: a process is at work on it",
                               turn,
                               run_id),
                   fmt::format("`--at {}` goes on from the turn before; or wait for its end",
                               turn - 1));
}

}  // namespace

Result<RecordedRun> recall(const std::filesystem::path& store,
                           const std::string& run_id,
                           const agent::Environment& environment) {
  TRY_ASSIGN(const std::vector<agent::Event> events, read_whole(store, run_id));
  return folded(store, events, environment);
}

Result<RecordedRun> recalled(const std::filesystem::path& store,
                             const agent::store::NamedRun& read,
                             const agent::Environment& environment) {
  TRY(check_id(read.run_id));
  return folded(store, read.events, environment);
}

const Result<RecordedRun>& RecordedRuns::of(const std::string& run_id) {
  const auto known = runs_.find(run_id);
  return known != runs_.end()
             ? known->second
             : runs_.emplace(run_id, recall(store_, run_id, environment_)).first->second;
}

Result<RecordedRun> fork(const std::filesystem::path& store,
                         const std::string& run_id,
                         std::int64_t turn,
                         const agent::Environment& environment) {
  TRY_ASSIGN(std::vector<agent::Event> events, read_whole(store, run_id));
  const auto* begun = std::get_if<agent::RunStarted>(&events.front().body);
  if (begun != nullptr && begun->plan.is_flow) {
    return not_carried_on(fmt::format("the run {} is a flow, which has no turns", run_id),
                          "fork one of its members; `errand runs show` names them");
  }
  if (const std::int64_t last = last_turn(events); turn > last) {
    return not_carried_on(fmt::format("the run {} has {} turn{}: there is no turn {}",
                                      run_id,
                                      last,
                                      last == 1 ? "" : "s",
                                      turn),
                          "`errand runs show` has its turns");
  }
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(events_until(events, turn)),
               events.end());
  TRY_ASSIGN(RecordedRun run, folded(store, events, environment));
  if (!run.past.state.open_calls.empty()) {
    TRY(check_is_at_rest(store, run_id, turn));
  }
  run.run_id = agent::new_run_id();
  run.worked_ms = 0;
  run.forked_from = {.run_id = run_id, .turn = turn};
  for (agent::Event& event : events) {
    event.run_id = run.run_id;
    if (auto* started = std::get_if<agent::RunStarted>(&event.body)) {
      started->session.clear();  // the name stays with the other one
      seal_again(*started, run_id, run.run_id, environment);
    }
  }
  run.begun.session.clear();
  run.beginning = std::move(events);
  return run;
}

std::filesystem::path agent_file_of(const agent::RunStarted& begun) {
  return std::filesystem::path(begun.made_from.agent_folder) /
         std::filesystem::path(begun.agent_file).filename();
}

bool is_written_out(const std::filesystem::path& agent_file) {
  return !agent::name_in_whole(agent_file).empty();
}

config::Report recorded_agent(const agent::RunStarted& begun,
                              const agent::Environment& environment,
                              config::KnownNames known) {
  known.recorded_schema = begun.plan.output_schema;
  return config::parse_agent(begun.made_from.agent_text,
                             begun.agent_file,
                             begun.made_from.agent_folder,
                             begun.agent_file.ends_with(".md"),
                             environment,
                             known);
}

const std::string& recorded_id(const RecordedRun& run) {
  return run.forked_from ? run.forked_from->run_id : run.run_id;
}

namespace {

// Whether the run worked for that one, or for one that did.
bool is_below(const RecordedRun& whole, std::string run_id, const agent::Environment& environment) {
  constexpr int k_deepest = 64;
  for (int depth = 0; depth < k_deepest && !run_id.empty(); ++depth) {
    if (run_id == whole.run_id) {
      return true;
    }
    const auto run = recall(whole.store, run_id, environment);
    run_id = run ? run->parent : "";
  }
  return false;
}

}  // namespace

constexpr std::size_t k_most_said = 100;

Result<std::vector<std::string>> tidy_after_kill(const RecordedRun& run,
                                                 const IsWritten& is_written,
                                                 const std::vector<std::filesystem::path>& read,
                                                 const agent::Environment& environment,
                                                 const std::filesystem::path& pictures) {
  using tools::sandbox::ProtectedChange;
  std::vector<std::string> said;
  if (run.forked_from) {
    return said;
  }
  auto sweep = sweep_after_kill(
      environment,
      run.store,
      is_written,
      [&](const std::string& run_id) { return is_below(run, run_id, environment); },
      pictures);
  std::set<std::string> all;
  const auto say = [&](std::string sentence) {
    const bool is_new = all.insert(sentence).second;  // each sandbox of the run has a survey
    if (is_new && said.size() < k_most_said) {
      said.push_back(std::move(sentence));
    }
  };
  std::set<std::filesystem::path> moved;
  for (const ProtectedChange& change : sweep.changes) {
    if (change.outcome == ProtectedChange::Outcome::moved_aside) {
      moved.insert(change.path);
    }
  }
  // Settings can only tighten: where they are gone, what they closed would be open.
  const auto is_missed = [&](const ProtectedChange& change) {
    const auto& path = change.path;
    const bool are_settings =
        path.filename() == ".errand" || path.parent_path().filename() == ".errand";
    return (change.was_there && are_settings) || std::ranges::find(read, path) != read.end();
  };
  std::string stays;
  std::string was_read;
  for (const ProtectedChange& change : sweep.changes) {
    if (change.outcome == ProtectedChange::Outcome::noticed) {
      if (!moved.contains(change.path)) {
        say(fmt::format(
            "`{}` is another one than before a process of this run was killed: read it before git "
            "or errand obeys it",
            agent::one_line(change.path.string(), 200)));
      }
      continue;
    }
    std::string sentence =
        "what git or errand would obey was made or changed since a process of this run was "
        "killed, or by its tools: " +
        tools::change_text(change);
    if (change.outcome == ProtectedChange::Outcome::stays && stays.empty()) {
      stays = std::move(sentence);
    } else if (was_read.empty() && is_missed(change)) {
      was_read = std::move(sentence);
    } else {
      say(std::move(sentence));
    }
  }
  if (all.size() > said.size()) {
    said.push_back(
        fmt::format("{} more such places were renamed or changed", all.size() - said.size()));
  }
  if (!sweep.is_whole) {
    said.emplace_back(
        "not every folder could be searched for what a process of this run that was killed has "
        "left for git or errand to obey");
  }
  if (!stays.empty() || !was_read.empty()) {
    return agent::fail(telling_what_was_left(
        {.code = agent::Code::sandbox_violation,
         .message = std::move(stays.empty() ? was_read : stays),
         .help = stays.empty() ? "look at it, and give it its name again where it is yours"
                               : "take it away by hand, before git or errand does what it says"},
        said));
  }
  if (sweep.trouble) {
    return agent::fail(telling_what_was_left(*std::move(sweep.trouble), said));
  }
  return said;
}

agent::Error telling_what_was_left(agent::Error error, const std::vector<std::string>& said) {
  if (!said.empty()) {
    error.message += fmt::format("; before that, {}", fmt::join(said, "; "));
  }
  return error;
}

std::string_view change_of_file(const agent::RunStarted& begun, const std::filesystem::path& cwd) {
  const std::string& recorded = begun.made_from.agent_text;
  if (is_written_out(agent_file_of(begun)) || is_written_out(cwd / begun.agent_file)) {
    return {};
  }
  std::string_view change = "is not there any more";
  for (const std::filesystem::path& file : {agent_file_of(begun), cwd / begun.agent_file}) {
    const auto text = config::read_text_file(file, recorded.size() + 1);
    if (text && *text == recorded) {
      return {};
    }
    std::error_code ignored;
    change = std::filesystem::exists(file, ignored) ? "has changed since" : change;
  }
  return change;
}

std::optional<agent::Warning> warning_of_change(const agent::RunStarted& begun,
                                                const std::filesystem::path& cwd) {
  const std::string_view change = change_of_file(begun, cwd);
  return change.empty() ? std::nullopt
                        : std::optional(agent::Warning{
                              .message = fmt::format(
                                  "the agent file {} {}: the run goes on by the recorded one",
                                  agent::one_line(begun.agent_file),
                                  change),
                              .help = "`errand resume --agent FILE` takes the file"});
}

namespace {

// What is left to do of it follows from its file.
Result<void> check_flow_resumable(const RecordedRun& run, bool has_message) {
  const auto& finished = run.past.state.finished;
  if (has_message) {
    return not_carried_on("a flow is carried on as it is, without a message",
                          "`errand resume` with the id of a member gives that one a message");
  }
  const bool is_over = finished && (finished->exit_code == 0 ||
                                    !agent::can_be_carried_on(run.past.state, finished->exit_code));
  if (is_over) {
    const std::string ended = fmt::format("the flow {} ended as {} ({})",
                                          run.run_id,
                                          agent::exit_row(finished->exit_code).name,
                                          finished->exit_code);
    return finished->exit_code == 0
               ? not_carried_on(ended + ": nothing of it is left to do", "begin it anew")
               : not_carried_on(
                     ended + ", which cannot be carried on",
                     "`errand run FLOW --from STEP` goes on from a step, with what those "
                     "before it have brought; `errand runs show` has that, and the answer");
  }
  return {};
}

}  // namespace

bool needs_message(const RecordedRun& run) {
  const auto& finished = run.past.state.finished;
  return finished && (agent::needs_message(finished->exit_code) || has_unread_answer(run));
}

std::optional<agent::RunResult> answer_of(const RecordedRun& run) {
  const auto& finished = run.past.state.finished;
  const bool has_ended =
      finished && (agent::needs_message(finished->exit_code) ||
                   !agent::can_be_carried_on(run.past.state, finished->exit_code));
  return has_ended ? finished : std::nullopt;
}

Result<void> check_resumable(const RecordedRun& run, bool has_message) {
  if (run.begun.made_from.agent_text.empty()) {
    return not_carried_on(
        fmt::format("the run {} was begun by a version ({}) that kept no agent file",
                    recorded_id(run),
                    run.begun.version),
        "begin a new one");
  }
  const auto& finished = run.past.state.finished;
  if (run.begun.plan.is_flow) {
    return check_flow_resumable(run, has_message);
  }
  if (const auto* other =
          finished ? agent::goes_on_with_other(run.past.state, finished->exit_code) : nullptr) {
    return not_carried_on(
        fmt::format("the run {} has handed its conversation over to {}, and goes on there",
                    recorded_id(run),
                    other->step),
        other->result.resume_cmd.empty()
            ? fmt::format("`errand runs show {}` says how that ended",
                          other->result.run_id.empty() ? recorded_id(run) : other->result.run_id)
            : fmt::format("`{}`", other->result.resume_cmd));
  }
  if (!finished && run.forked_from && !has_message && has_answer(run.past.state)) {
    return not_carried_on(
        fmt::format("turn {} of the run {} is an answer: only a new message goes on "
                    "from there",
                    run.forked_from->turn,
                    run.forked_from->run_id),
        "give it one, or fork at an earlier turn");
  }
  if (!finished) {
    return {};
  }
  const agent::ExitRow& row = agent::exit_row(finished->exit_code);
  const std::string ended =
      fmt::format("the run {} ended as {} ({})", recorded_id(run), row.name, row.exit_code);
  if (row.resumable == "fork") {
    return not_carried_on(ended + ", and goes on from an earlier turn only",
                          fmt::format("`errand fork {} --at TURN`", recorded_id(run)));
  }
  if (!agent::can_be_carried_on(run.past.state, row.exit_code) && !has_unread_answer(run)) {
    return not_carried_on(
        ended + ", which cannot be carried on",
        run.past.state.turns > 0
            ? fmt::format("begin a new run, or `errand fork {} --at {} \"…\"`, which goes on from "
                          "that turn",
                          recorded_id(run),
                          run.past.state.turns)
            : std::string("begin a new run"));
  }
  if (!has_message && needs_message(run)) {
    return not_carried_on(ended + ": only a new message carries it on",
                          run.forked_from ? "give it one: `errand fork RUN --at TURN \"and now …\"`"
                                          : "give it one: `errand resume RUN \"and now …\"`; "
                                            "`errand runs show RUN` shows what it has done");
  }
  return {};
}

Result<void> check_is_own(const RecordedRun& run, std::string help) {
  if (run.is_own) {
    return {};
  }
  if (run.no_key) {
    return not_carried_on(
        fmt::format("the run {} is not known as yours: {}", recorded_id(run), run.no_key->message),
        fmt::format("{}; {}", run.no_key->help, help));
  }
  return not_carried_on(
      fmt::format("the run {} was not begun by you, or its record was changed: what it says of "
                  "its agent, options and folder does not count",
                  recorded_id(run)),
      std::move(help));
}

std::string set_up_of(const agent::RunStarted& started) {
  std::string text = agent::length_prefixed({started.made_from.agent_text, started.model});
  for (const std::string& option : started.made_from.options) {
    if (option.starts_with("--param=")) {
      text += agent::length_prefixed({option});
    }
  }
  return agent::sha256_hex(text);
}

Result<void> check_is_unchanged(const RecordedRun& run) {
  TRY_ASSIGN(const agent::store::RunInfo now, agent::store::run_info(run.store, run.run_id));
  if (now.row.updated != agent::store::to_milliseconds(run.updated)) {
    return agent::fail({.code = Code::cli_usage,
                        .message = fmt::format("the run {} was written to since it was read, as by "
                                               "another process that carries it on",
                                               run.run_id),
                        .help = "`errand runs show` says how far",
                        .is_taken = true});
  }
  return {};
}

std::vector<std::string> lost_options(const RecordedRun& run) {
  std::vector<std::string> names;
  for (const std::string& option : run.begun.made_from.options) {
    if (!is_whole(option)) {
      names.push_back(option.substr(0, option.find('=')));
    }
  }
  return names;
}

bool has_gaps(const RecordedRun& run) {
  return run.begun.instructions.contains(agent::k_redacted) ||
         std::ranges::any_of(run.past.state.conversation.messages, has_gap);
}

std::vector<std::string> lasting_options(const Parsed& parsed) {
  std::vector<std::string> options;
  for (const auto& [name, values] : parsed.values) {
    const Option* option = lasting_option(name);
    if (option == nullptr) {
      continue;
    }
    for (const std::string& value : values) {
      options.push_back(option->kind == Kind::flag ? name : fmt::format("{}={}", name, value));
    }
  }
  return options;
}

Result<Parsed> recorded_options(const RecordedRun& run) {
  std::vector<std::string> arguments = {"run"};
  std::ranges::copy_if(run.begun.made_from.options, std::back_inserter(arguments), is_whole);
  return parse(arguments, {});
}

Result<void> take_over_options(const RecordedRun& run, Parsed& parsed) {
  TRY_ASSIGN(const Parsed recorded, recorded_options(run));
  for (const auto& [name, values] : recorded.values) {
    const Option* option = lasting_option(name);
    if (option == nullptr) {
      continue;
    }
    auto& here = parsed.values[name];
    if (here.empty() || (option->repeated && option->kind == Kind::text)) {
      here.insert(here.begin(), values.begin(), values.end());
    }
  }
  return {};
}

}  // namespace cli

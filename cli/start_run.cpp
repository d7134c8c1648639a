#include "cli/start_run.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/secrets/redact.h"
#include "agent/store/owner.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/agent_choice.h"
#include "cli/agents_above.h"
#include "cli/agents_at_work.h"
#include "cli/early_end.h"
#include "cli/flow_run.h"
#include "cli/key_hosts.h"
#include "cli/limits_above.h"
#include "cli/mcp_servers.h"
#include "cli/plan.h"
#include "cli/run_inputs.h"
#include "cli/run_session.h"
#include "cli/run_sinks.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/user_folders.h"
#include "config/replay_script.h"
#include "providers/http/http_client.h"
#include "providers/recording/cassette.h"
#include "providers/recording/run_io.h"
#include "providers/registry.h"
#include "providers/resilience/model_states.h"
#include "tools/guardrails/guardrails.h"
#include "tools/process/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;

// The recording that answers in place of a server, where one is named.
Result<std::optional<providers::Cassette>> recording_of(const Parsed& parsed) {
  const auto file = parsed.value("--replay");
  if (!file) {
    return std::nullopt;
  }
  auto cassette = providers::read_cassette(*file);
  if (!cassette) {
    Error error = std::move(cassette).error();
    if (config::load_replay_script(*file)) {
      error.help = fmt::format("this is a script of replies: `-m {}/{}` plays it",
                               providers::k_replay,
                               agent::one_line(*file));
    }
    return agent::fail(std::move(error));
  }
  return *std::move(cassette);
}

// Null: the run is neither replayed nor recorded.
std::unique_ptr<providers::Tape> tape_of(const Parsed& parsed,
                                         std::optional<providers::Cassette> recording,
                                         const agent::Redactor& redactor) {
  if (recording) {
    return providers::replaying_tape(*std::move(recording), redactor);
  }
  const auto file = parsed.value("--record");
  return file ? providers::recording_tape(*file, redactor) : nullptr;
}

std::optional<agent::Milliseconds> timeout_of(const Parsed& parsed) {
  const auto text = parsed.value("--timeout");
  return text ? agent::parse_duration(*text) : std::nullopt;
}

std::string name_of(const RunSource& source, const agent::Redactor& redactor) {
  return source.session.empty() ? "" : agent::one_line(redactor.apply(source.session)) + ", ";
}

// Nothing: a new run begins.
std::optional<ComeTo> earlier_of(const RunSource& source, const agent::Environment& environment) {
  if (!source.earlier || source.earlier->forked_from) {
    return std::nullopt;
  }
  const RecordedRun& run = *source.earlier;
  const auto& finished = run.past.state.finished;
  agent::RunResult result = finished ? *finished : agent::make_result(run.past.state, {});
  result.run_id = run.run_id;
  const Unheard unheard = unheard_of_members(run, environment);
  agent::add_uses(result, unheard.uses);
  result.turns += run.begun.plan.is_flow ? unheard.turns : 0;
  result.text.clear();  // whoever carries it on has heard of that
  result.output.clear();
  result.partial = false;
  result.over_budget = false;
  if (result.resume_cmd.empty()) {
    result.resume_cmd = resume_of(run, environment).words;
  }
  return ComeTo{.result = std::move(result), .seq = run.past.seq};
}

// Empty: it is no part of one that has it to carry on.
std::string way_on_of_whole(const RunSource& source, const agent::Environment& environment) {
  if (source.above.runs.empty()) {
    return "";
  }
  RecordedRuns recorded(source.earlier->store, environment);
  const bool is_in_vain = is_left(*source.earlier, recorded);
  const RecordedRun* whole = is_in_vain ? nullptr : whole_of(*source.earlier, recorded);
  return whole == nullptr ? ""
                          : fmt::format("carry on the run {}, of which it is a part: {}\n",
                                        whole->run_id,
                                        agent::printable(resume_of(*whole, environment).words));
}

// Who answers, and in which run, where the command line does not say it.
void tell_source(const RunSource& source,
                 const std::optional<ComeTo>& earlier,
                 const agent::Redactor& redactor,
                 std::ostream& err) {
  if (earlier) {
    const agent::RunResult& so_far = earlier->result;
    err << fmt::format("carrying on {}{}: {} turn{}{} so far\n",
                       name_of(source, redactor),
                       so_far.run_id,
                       so_far.turns,
                       so_far.turns == 1 ? "" : "s",
                       so_far.cost ? ", " + agent::format_money(so_far.cost) : "");
  } else if (source.taken) {
    err << fmt::format("on what the run {} brought\n", source.taken->run_id);
  } else if (!source.earlier && !source.agent.is_named) {
    err << fmt::format("agent: {}, this folder's\n", source.agent.file);
  }
  if (!source.earlier && !source.session.empty()) {
    err << fmt::format("a new run of the name {}\n",
                       agent::one_line(redactor.apply(source.session), 60));
  }
}

// Of a new run that goes on from another one: once nothing has refused it.
std::string words_of_fork(const RunSource& source, const agent::Redactor& redactor) {
  if (!source.earlier || !source.earlier->forked_from) {
    return {};
  }
  const agent::ForkedFrom& from = *source.earlier->forked_from;
  return fmt::format("forked from {} after turn {}: {}{}\n",
                     from.run_id,
                     from.turn,
                     name_of(source, redactor),
                     source.earlier->run_id);
}

// What was planted before a process of the run was killed has another name before settings and
// agent files are read here. Only by whoever has the run, and for as long as that takes: it is
// claimed once more when its journal is opened. What tidy_after_kill() says. What the records do
// not tell enough for is tidied once the agents are known.
Result<std::vector<std::string>> tidy_before_reading(const RunSource& source,
                                                     const Context& context) {
  if (!source.earlier || source.earlier->forked_from) {
    return std::vector<std::string>();
  }
  const RecordedRun& run = *source.earlier;
  TRY_ASSIGN(const auto claim, agent::store::RunClaim::take(run.store, run.run_id));
  if (!claim) {
    TRY_ASSIGN(const auto now, agent::store::run_info(run.store, run.run_id));
    return agent::store::taken(run.run_id, now.owner);
  }
  TRY(check_is_unchanged(run));
  std::vector<std::filesystem::path> read;
  if (!source.is_by_record) {
    const std::filesystem::path file = context.cwd / source.agent.file;
    std::error_code error;
    read.push_back(std::filesystem::weakly_canonical(file.parent_path(), error) / file.filename());
  }
  return tidy_after_kill(run,
                         written_by_recorded(run, context),
                         read,
                         context.environment,
                         pictures_folder(context.environment));
}

}  // namespace

Result<void> change_folder(const Parsed& parsed, Context& context) {
  const auto folder = parsed.value("--cwd");
  if (!folder) {
    return {};
  }
  std::error_code error;
  std::filesystem::current_path(*folder, error);
  if (error) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("cannot change to the folder `{}`: {}", *folder, error.message()),
        "name a folder that exists");
  }
  context.cwd = std::filesystem::current_path();
  return {};
}

void hide_secrets(const Plan& plan,
                  const agent::Environment& environment,
                  agent::Redactor& redactor) {
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      redactor.add(choice.resolved.api_key);
      redactor.add_headers(choice.spec.headers);
    }
  }
  for (const Plan& member : plan.members) {
    hide_secrets(member, environment, redactor);
  }
  for (const agent::ToolSpec& tool : plan.agent.tools) {
    redactor.add(tool.env);
  }
  hide_server_secrets(plan.agent, environment, redactor);
}

Result<int> start_run(const Parsed& given, Context& context, const FindSource& find) {
  const auto began = std::chrono::steady_clock::now();
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation, timeout_of(given)));
  agent::Redactor redactor(context.environment);

  TRY(change_folder(given, context));
  TRY(check_outputs(given));
  auto opened = open_outputs(given, redactor, cancellation);
  if (!opened) {
    return agent::fail(cancellation.stop().stop_requested()
                           ? stop_before_run(cancellation, timeout_of(given), "")
                           : std::move(opened).error());
  }
  RunOutputs outputs = *std::move(opened);
  const tools::sandbox::Outputs written = files_written(given, outputs);
  std::string run_id = agent::new_run_id();
  Parsed parsed = given;
  auto source = find(parsed, context);
  if (source && !source->earlier) {
    TRY(check_inputs(parsed, source->agent));
  }
  const std::string agent_file = source ? source->agent.file : "";
  auto timeout = timeout_of(parsed);
  const auto earlier = source ? earlier_of(*source, context.environment) : std::nullopt;
  std::vector<std::string> left;  // what tidy_before_reading() has said
  const auto end_with = [&](std::vector<Error> errors) {
    errors.front() = telling_what_was_left(std::move(errors.front()), left);
    AnswerSink answer({.format = format_of(parsed)}, *outputs.answer, redactor, cancellation);
    return end_early({.errors = std::move(errors),
                      .run_id = run_id,
                      .agent_file = agent_file,
                      .cwd = context.cwd.string(),
                      .signal = cancellation.signal_number(),
                      .timeout = timeout,
                      .began = began,
                      .color = context.color_err,
                      .earlier = earlier},
                     answer,
                     redactor,
                     context.err);
  };
  if (!source) {
    return end_with({source.error()});
  }
  const bool is_quiet = parsed.has("--quiet");
  if (!is_quiet) {
    tell_source(*source, earlier, redactor, context.err);
  }
  if (auto tidied = tidy_before_reading(*source, context)) {
    left = *std::move(tidied);
  } else {
    return end_with({std::move(tidied).error()});
  }
  Result<std::optional<providers::Cassette>> recording(std::nullopt);
  auto plan = [&] {
    const SignalWatcher::ProcessEnd at_a_stop(*signals, [&](SignalWatcher::Timeout until) {
      timeout = until;
      return end_with({stop_before_run(cancellation, until, "")});
    });
    recording = recording_of(parsed);
    std::optional<SignalWatcher::Deadline> deadline;
    return prepare(parsed, *source, context, recording, [&](const agent::Limits& limits) {
      deadline.emplace(*signals, limits.timeout);
    });
  }();
  if (recording && *recording) {
    run_id = (*recording)->run.run_id;
  }
  if (!plan) {
    return end_with(std::move(plan).error());
  }
  for (const std::string& sentence : left) {
    plan->warnings.push_back({.message = sentence, .help = {}});
  }
  const auto tape = tape_of(parsed, *std::move(recording), redactor);
  for (const auto& done : {check_members_of_scripts(*plan), check_members(*plan, context)}) {
    if (!done) {
      return end_with({done.error()});
    }
  }
  if (!source->earlier) {
    TRY(check_inputs(parsed, *plan));
  }
  const std::string session_id = source->earlier ? source->earlier->run_id : run_id;
  const RunSinks sinks = open_audience(parsed,
                                       context,
                                       tools::has_output_checks(plan->agent.guardrails),
                                       plan->is_flow(),
                                       session_id,
                                       outputs,
                                       redactor,
                                       cancellation);
  hide_secrets(*plan, context.environment, redactor);
  if (auto refused = settle(std::exchange(plan->key_requests, {}),
                            {.redactor = redactor,
                             .cancellation = cancellation,
                             .user_config = plan->settings.user.file,
                             .color = context.color_err});
      !refused.empty()) {
    return end_with(std::move(refused));
  }
  timeout = plan->agent.limits.timeout;
  const std::string forked = is_quiet ? "" : words_of_fork(*source, redactor);
  const auto warn = [&](const Error& warning) {
    context.err << render_warning(warning, context.color_err, redactor) << std::endl;
  };
  const std::string way_on = is_quiet ? "" : way_on_of_whole(*source, context.environment);
  const auto tell_what_is_left = [&](const agent::RunResult& result, const auto& run) {
    if (result.exit_code == 0 || result.resume_cmd.empty()) {
      context.err << way_on;
    }
    if (const auto loss = sinks.log != nullptr ? sinks.log->loss() : std::nullopt;
        loss && !is_quiet) {  // the last line alone was lost, after the run's last event
      warn({.code = Code::storage_io, .message = loss->message, .help = loss->help});
    }
    if (const auto warning = run.remove_old_runs(); warning && !is_quiet) {
      warn(*warning);
    }
    const auto failure = tape ? tape->failure() : std::nullopt;
    if (failure && result.exit_code == 0) {  // else that is what ended it
      warn(*failure);
    }
  };
  providers::HttpClient http(context.environment);
  providers::ModelStates models;
  const LimitsAbove limits_above(source->above.runs, cancellation);
  auto audience = sinks.sinks();
  std::ranges::copy(limits_above.sinks(), std::back_inserter(audience));
  const auto at_limit_above = [&] { return limits_above.at_limit(); };
  RunWorld world{.context = context,
                 .supervisor = *supervisor,
                 .redactor = redactor,
                 .http = http,
                 .models = models,
                 .parsed = parsed,
                 .sinks = std::move(audience),
                 .outputs = written,
                 .cancellation = cancellation,
                 .killed = at_limit_above,
                 .budget = &limits_above,
                 .kill_files = limits_above.kill_files(),
                 .time_above = limits_above.time(),
                 .tape = tape.get()};
  if (plan->is_flow()) {
    auto flow = FlowRun::open(std::move(world), session_id, *std::move(source), *std::move(plan));
    if (!flow) {
      return end_with({std::move(flow).error()});
    }
    const agent::RunResult result = (*flow)->run();
    supervisor->dismiss();
    tell_what_is_left(result, **flow);
    return result.exit_code;
  }
  world.progress = sinks.progress.get();
  std::ranges::transform(  // the session keeps them, where they are
      source->above.agents,
      std::back_inserter(world.above),
      [](const auto& one) { return &one; });
  const auto session =
      RunSession::open(std::move(world), session_id, *std::move(source), *std::move(plan));
  if (!session) {
    return end_with({session.error().code == Code::run_cancelled
                         ? stop_before_run(cancellation, timeout, session.error().message)
                         : session.error()});
  }
  context.err << forked;
  const agent::RunResult result = (*session)->run();
  supervisor->dismiss();
  tell_what_is_left(result, **session);
  return result.exit_code;
}

}  // namespace cli

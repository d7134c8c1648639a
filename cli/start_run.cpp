#include "cli/start_run.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/agent_choice.h"
#include "cli/early_end.h"
#include "cli/key_hosts.h"
#include "cli/plan.h"
#include "cli/run_inputs.h"
#include "cli/run_session.h"
#include "cli/run_sinks.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "config/replay_script.h"
#include "providers/http/http_client.h"
#include "providers/recording/cassette.h"
#include "providers/registry.h"
#include "providers/resilience/model_states.h"
#include "tools/guardrails/guardrails.h"
#include "tools/process/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
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

// Headers that carry a credential, by what they are usually called.
void hide_headers(const agent::Headers& headers, agent::Redactor& redactor) {
  constexpr std::array<std::string_view, 5> k_words = {"auth", "key", "token", "secret", "cookie"};
  for (const auto& [name, value] : headers) {
    const std::string lower = agent::to_lower(name);
    if (std::ranges::any_of(k_words, [&](auto word) { return lower.contains(word); })) {
      redactor.add(value.substr(value.rfind(' ') + 1));  // behind "Bearer "
    }
  }
}

std::optional<agent::Milliseconds> timeout_of(const Parsed& parsed) {
  const auto text = parsed.value("--timeout");
  return text ? agent::parse_duration(*text) : std::nullopt;
}

// Who answers, and in which run, where the command line does not say it.
void tell_source(const RunSource& source, const Parsed& parsed, std::ostream& err) {
  if (parsed.has("--quiet")) {
    return;
  }
  if (source.earlier && source.earlier->forked_from) {
    const agent::ForkedFrom& from = *source.earlier->forked_from;
    err << fmt::format("forked from {} after turn {}: {}{}\n",
                       from.run_id,
                       from.turn,
                       source.session.empty() ? "" : agent::one_line(source.session) + ", ",
                       source.earlier->run_id);
  } else if (source.earlier) {
    const agent::State& state = source.earlier->past.state;
    err << fmt::format("carrying on {}{}: {} turn{}{} so far\n",
                       source.session.empty() ? "" : agent::one_line(source.session) + ", ",
                       source.earlier->run_id,
                       state.turns,
                       state.turns == 1 ? "" : "s",
                       state.cost ? ", " + agent::format_money(state.cost) : "");
  } else if (!source.agent.is_named) {
    err << fmt::format("agent: {}, this folder's\n", source.agent.file);
  }
}

// What a signal or the deadline ends before there is a run.
Error stop_before_run(const agent::Cancellation& cancellation, const Parsed& parsed) {
  if (cancellation.signal_number() != 0) {
    return {.code = Code::run_cancelled,
            .message = "a signal came before the run had started",
            .help = {}};
  }
  return {.code = Code::run_timeout,
          .message = fmt::format(
              "the run had not started after {}; it may wait for its prompt or for a reader",
              parsed.value("--timeout").value_or("")),
          .help = {}};
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

void hide_secrets(const Plan& plan, agent::Redactor& redactor) {
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      redactor.add(choice.resolved.api_key);
      hide_headers(choice.spec.headers, redactor);
    }
  }
  for (const agent::ToolSpec& tool : plan.agent.tools) {
    redactor.add(tool.env);
  }
  for (const agent::McpServerSpec& server : plan.agent.mcp_servers) {
    redactor.add(server.env);
  }
}

Result<int> start_run(const Parsed& given, Context& context, const FindSource& find) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation, timeout_of(given)));
  agent::Redactor redactor(context.environment);

  TRY(change_folder(given, context));
  TRY(check_outputs(given));
  auto opened = open_outputs(given, redactor, cancellation);
  if (!opened) {
    return agent::fail(cancellation.stop().stop_requested() ? stop_before_run(cancellation, given)
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
  const auto end_with = [&](std::vector<Error> errors) {
    AnswerSink answer({.format = format_of(parsed)}, *outputs.answer, redactor, cancellation);
    return end_early({.errors = std::move(errors),
                      .run_id = run_id,
                      .agent_file = agent_file,
                      .cwd = context.cwd.string(),
                      .signal = cancellation.signal_number(),
                      .timeout = timeout_of(parsed),
                      .color = context.color_err},
                     answer,
                     redactor,
                     context.err);
  };
  if (!source) {
    return end_with({source.error()});
  }
  tell_source(*source, parsed, context.err);
  Result<std::optional<providers::Cassette>> recording(std::nullopt);
  auto plan = [&] {
    const SignalWatcher::ProcessEnd at_a_stop(
        *signals, [&] { return end_with({stop_before_run(cancellation, parsed)}); });
    recording = recording_of(parsed);
    return prepare(parsed, *source, context, recording);
  }();
  if (recording && *recording) {
    run_id = (*recording)->run.run_id;
  }
  if (!plan) {
    return end_with(std::move(plan).error());
  }
  if (!source->earlier) {
    TRY(check_inputs(parsed, *plan));
  }
  const RunSinks sinks = open_audience(parsed,
                                       context,
                                       tools::has_output_checks(plan->agent.guardrails),
                                       outputs,
                                       redactor,
                                       cancellation);
  hide_secrets(*plan, redactor);
  if (auto refused = settle(std::exchange(plan->key_requests, {}),
                            {.redactor = redactor,
                             .cancellation = cancellation,
                             .user_config = plan->settings.user.file,
                             .color = context.color_err});
      !refused.empty()) {
    return end_with(std::move(refused));
  }
  const std::string session_id = source->earlier ? source->earlier->run_id : run_id;
  providers::HttpClient http(context.environment);
  providers::ModelStates models;
  const auto session = RunSession::open({.context = context,
                                         .supervisor = *supervisor,
                                         .redactor = redactor,
                                         .http = http,
                                         .models = models,
                                         .parsed = parsed,
                                         .sinks = sinks.sinks(),
                                         .progress = sinks.progress.get(),
                                         .outputs = written,
                                         .cancellation = cancellation},
                                        session_id,
                                        *std::move(source),
                                        *std::move(plan),
                                        *std::move(recording));
  if (!session) {
    return end_with({session.error().code == Code::run_cancelled
                         ? stop_before_run(cancellation, parsed)
                         : session.error()});
  }
  const agent::RunResult result = (*session)->run();
  supervisor->dismiss();
  const auto warn = [&](const Error& warning) {
    context.err << render_warning(warning, context.color_err, redactor) << std::endl;
  };
  const bool is_quiet = parsed.has("--quiet");
  if (const auto loss = sinks.log != nullptr ? sinks.log->loss() : std::nullopt;
      loss && !is_quiet) {  // the last line alone was lost, after the run's last event
    warn({.code = Code::storage_io, .message = loss->message, .help = loss->help});
  }
  if (const auto done = (*session)->remove_old_runs(); !done && !is_quiet) {
    warn(done.error());
  }
  if (const auto done = (*session)->finish_recording(); !done && result.exit_code == 0) {
    warn(done.error());
  }
  return result.exit_code;
}

}  // namespace cli

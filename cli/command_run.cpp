// `errand run`: from an agent file and a prompt to one named ending.
#include "agent/gates.h"
#include "agent/id.h"
#include "agent/loop.h"
#include "agent/redact.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "cli/answer_sink.h"
#include "cli/approver.h"
#include "cli/commands.h"
#include "cli/early_end.h"
#include "cli/enclosed.h"
#include "cli/guarded.h"
#include "cli/known_names.h"
#include "cli/log_sink.h"
#include "cli/output.h"
#include "cli/plan.h"
#include "cli/policy.h"
#include "cli/progress.h"
#include "cli/questioner.h"
#include "cli/render_error.h"
#include "cli/run_folder.h"
#include "cli/signals.h"
#include "cli/user_folders.h"
#include "config/replay_script.h"
#include "providers/curl_dialer.h"
#include "providers/http_client.h"
#include "providers/registry.h"
#include "providers/tape.h"
#include "tools/hooks.h"
#include "tools/process.h"
#include "tools/runner.h"
#include "tools/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <unistd.h>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;

// ---- what the command line says ----

Format format_of(const Parsed& parsed) {
  const std::string name = parsed.value("--output").value_or("text");
  return name == "json" ? Format::json : name == "jsonl" ? Format::jsonl : Format::text;
}

int verbosity_of(const Parsed& parsed) {
  return parsed.has("--quiet") ? -1 : static_cast<int>(parsed.count("--verbose"));
}

// The recording that answers in place of a server, where one is named.
Result<std::optional<providers::Cassette>> recording_of(const Parsed& parsed) {
  const auto file = parsed.value("--replay");
  if (!file) {
    return std::nullopt;
  }
  TRY_ASSIGN(providers::Cassette cassette, providers::read_cassette(*file));
  return cassette;
}

// ---- the world of the run ----

// The journal that the agent file and the options ask for. One that nobody named is a warning
// where it cannot be had; one that was named is an error.
Result<std::unique_ptr<agent::Journal>> open_journal(const Plan& plan,
                                                     const Parsed& parsed,
                                                     const agent::Environment& environment,
                                                     const agent::Redactor& redactor,
                                                     std::vector<agent::Warning>& warnings) {
  const agent::SessionSpec& session = plan.agent.session;
  if (parsed.has("--no-session") || parsed.has("--replay") || session.store == "none") {
    return nullptr;
  }
  const bool is_named = session.store != "auto";
  const std::filesystem::path file =
      is_named ? std::filesystem::path(plan.agent.directory) / session.store
               : state_folder(environment) / "journal.db";
  if (file.is_relative()) {
    warnings.push_back(
        {.message = "no session is kept: neither XDG_STATE_HOME nor HOME is set", .help = {}});
    return nullptr;
  }
  auto journal = agent::store::SqliteJournal::open(file, session.durability, redactor);
  if (journal) {
    return std::move(*journal);
  }
  if (is_named) {
    return agent::fail(std::move(journal).error().while_("opening the session store"));
  }
  warnings.push_back({.message = "no session is kept: " + journal.error().message,
                      .help = "--no-session switches this warning off"});
  return nullptr;
}

// Headers that carry a credential, by what they are usually called.
void add_secret_headers(agent::Redactor& redactor, const agent::Headers& headers) {
  constexpr std::array<std::string_view, 5> k_words = {"auth", "key", "token", "secret", "cookie"};
  for (const auto& [name, value] : headers) {
    const std::string lower = agent::to_lower(name);
    if (std::ranges::any_of(k_words, [&](auto word) { return lower.contains(word); })) {
      redactor.add(value.substr(value.rfind(' ') + 1));  // behind "Bearer "
    }
  }
}

// The variables that no tool inherits: all in which keys are expected, and those that are used.
std::vector<std::string> secret_variables(const Plan& plan) {
  std::vector<std::string> names = key_variables_of(plan.agent);
  for (const auto* choices : {&plan.chain, &plan.judges}) {
    for (const providers::Choice& choice : *choices) {
      names.push_back(choice.resolved.api_key_env);
    }
  }
  return names;
}

// What hooks and guardrails are run with.
agent::Environment without_keys(agent::Environment environment, const Plan& plan) {
  for (const std::string& name : secret_variables(plan)) {
    environment.erase(name);
  }
  return environment;
}

std::unique_ptr<agent::Gate> open_hooks(const Plan& plan, tools::HookOptions options) {
  return plan.agent.hooks.hooks.empty()
             ? nullptr
             : std::make_unique<tools::Hooks>(plan.agent.hooks, std::move(options));
}

std::vector<std::string> tool_names(const agent::Toolbox& toolbox) {
  std::vector<std::string> names;
  for (const agent::ToolInfo& tool : toolbox.tools()) {
    names.push_back(tool.name);
  }
  return names;
}

// Everything that shows a run: stdout, stderr, the log file.
struct Audience {
  std::unique_ptr<Output> output;
  std::unique_ptr<AnswerSink> answer;
  std::unique_ptr<LogSink> log;
  std::unique_ptr<Progress> progress;

  std::vector<agent::EventSink*> sinks() const {
    std::vector<agent::EventSink*> all{answer.get()};
    if (log) {
      all.push_back(log.get());
    }
    all.push_back(progress.get());
    return all;
  }
};

bool is_smart_terminal(int descriptor, const agent::Environment& environment) {
  const auto term = environment.find("TERM");
  return ::isatty(descriptor) == 1 && term != environment.end() && term->second != "dumb";
}

Result<Audience> open_audience(const Parsed& parsed,
                               const Context& context,
                               bool is_guarded,
                               const agent::Redactor& redactor,
                               agent::Cancellation& cancellation) {
  Audience audience;
  const auto file = parsed.value("--output-file");
  if (file) {
    TRY_ASSIGN(audience.output, Output::to_file(*file));
  } else {
    audience.output = Output::to_descriptor(STDOUT_FILENO, "standard output");
  }
  const Format format = format_of(parsed);
  const bool streams =
      format == Format::text && !file && !is_guarded && ::isatty(STDOUT_FILENO) == 1;
  audience.answer =
      std::make_unique<AnswerSink>(AnswerSink::Options{.format = format, .streams = streams},
                                   *audience.output,
                                   redactor,
                                   cancellation);
  if (const auto log = parsed.value("--log-file")) {
    TRY_ASSIGN(audience.log, LogSink::open(*log, redactor));
  }
  audience.progress = std::make_unique<Progress>(
      Progress::Options{.verbosity = verbosity_of(parsed),
                        .live = is_smart_terminal(STDERR_FILENO, context.environment),
                        .color = context.color_err,
                        .shows_partial = format == Format::text,
                        .beside = streams ? audience.answer.get() : nullptr},
      redactor);
  if (streams) {
    audience.answer->make_room_by([progress = audience.progress.get()] { progress->make_room(); });
  }
  return audience;
}

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

// What of the run a recording holds beside its exchanges.
struct RunNames {
  std::string run_id;
  std::string key_variable;
  std::string folder;
};

Result<std::unique_ptr<providers::Tape>> open_tape(const Parsed& parsed,
                                                   std::optional<providers::Cassette> recording,
                                                   RunNames run,
                                                   agent::Http& http,
                                                   const agent::Redactor& redactor) {
  if (recording) {
    return providers::replaying_tape(*std::move(recording), std::move(run.folder), redactor);
  }
  if (const auto file = parsed.value("--record")) {
    return providers::recording_tape({.file = *file,
                                      .run_id = std::move(run.run_id),
                                      .key_variable = std::move(run.key_variable),
                                      .folder = std::move(run.folder)},
                                     http,
                                     redactor);
  }
  return providers::live_tape(http);
}

}  // namespace

Result<int> command_run(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  agent::Redactor redactor(context.environment);
  agent::Cancellation cancellation;

  TRY(change_folder(parsed, context));
  auto recording = recording_of(parsed);
  const bool is_replay = recording && *recording;
  const std::string run_id = is_replay ? (*recording)->run.run_id : agent::new_run_id();
  auto plan = prepare(parsed, context, recording);
  block_signals();
  const bool is_guarded = plan && tools::has_output_checks(plan->agent.guardrails);
  TRY_ASSIGN(Audience audience, open_audience(parsed, context, is_guarded, redactor, cancellation));
  const auto end_with = [&](std::vector<Error> errors) {
    return end_early({.errors = std::move(errors),
                      .run_id = run_id,
                      .agent_file = parsed.positionals.empty() ? "" : parsed.positionals.front(),
                      .cwd = context.cwd.string(),
                      .quiet = parsed.has("--quiet"),
                      .color = context.color_err},
                     *audience.answer,
                     context.err);
  };
  if (!plan) {
    return end_with(std::move(plan).error());
  }
  for (const auto* choices : {&plan->chain, &plan->judges}) {
    for (const providers::Choice& choice : *choices) {
      redactor.add(choice.resolved.api_key);
      add_secret_headers(redactor, choice.spec.headers);
    }
  }
  for (const agent::ToolSpec& tool : plan->agent.tools) {
    redactor.add(tool.env);
  }
  const SignalWatcher signals(cancellation);

  auto journal = open_journal(*plan, parsed, context.environment, redactor, plan->warnings);
  if (!journal) {
    return end_with({journal.error()});
  }
  RunFolder folder(context.environment, is_replay ? agent::new_run_id() : run_id);
  if (*journal) {
    folder.keep();  // the session names what is in it
  }
  const auto enclosure = enclose(plan->agent, context, folder, *supervisor);
  if (!enclosure) {
    return end_with({enclosure.error()});
  }
  if (*enclosure) {
    for (std::string& sentence : (*enclosure)->warnings()) {
      plan->warnings.push_back({.message = std::move(sentence), .help = {}});
    }
  }
  const auto kill_file = tools::kill_file(plan->agent, context.environment);
  if (!kill_file) {
    return end_with({kill_file.error()});
  }
  if (auto warning = kill_switch_warning(*kill_file, enclosure->get())) {
    plan->warnings.push_back(*std::move(warning));
  }
  auto permissions = permissions_of(plan->agent, parsed, context, folder.path());
  if (!permissions) {
    return end_with(std::move(permissions).error());
  }
  if (const auto possible = check_tool_choice(plan->agent, *permissions); !possible) {
    return end_with({possible.error()});
  }
  if (parsed.has("--yes")) {
    plan->warnings.push_back({.message = "--yes: calls that need a person's yes run without one",
                              .help = "rules in `deny` still hold"});
  }
  const auto config = config_folder(context.environment);
  const auto approver =
      open_approver({.says_yes = parsed.has("--yes"),
                     .color = context.color_err,
                     .user_config = config.empty() ? config : config / "config.yaml"},
                    redactor);
  const auto questioner = open_questioner(
      {.color = context.color_err,
       .fall_silent = [progress = audience.progress.get()] { progress->fall_silent(); }},
      redactor);
  providers::HttpClient http(context.environment);
  providers::ModelStates models;
  agent::SystemClock tool_clock;
  auto tape = open_tape(parsed,
                        std::move(*recording),
                        {run_id, plan->model().api_key_env, folder.path().string()},
                        http,
                        redactor);
  if (!tape) {
    return end_with({tape.error()});
  }
  providers::CurlDialer dialer(context.environment);
  tools::ProcessIsolation isolation(*supervisor, enclosure->get(), dialer);
  auto toolbox = tools::Runner::create(plan->agent.tools,
                                       {.cwd = context.cwd,
                                        .temporary = folder.path(),
                                        .environment = context.environment,
                                        .scrub = secret_variables(*plan),
                                        .isolation = &isolation,
                                        .enclosure = enclosure->get(),
                                        .redactor = &redactor,
                                        .redact_secrets = plan->agent.guardrails.redact_secrets,
                                        .clock = &tool_clock,
                                        .permissions = &*permissions,
                                        .fail_on_denied = parsed.has("--fail-on-denied"),
                                        .questioner = questioner.get(),
                                        .http = &http,  // of this machine in a replay, too
                                        .seed = (*tape)->seed()});
  if (!toolbox) {
    return end_with({toolbox.error()});
  }
  const providers::Dependencies dependencies{
      .http = (*tape)->http(),
      .clock = (*tape)->clock(),
      .models = models,
      .seed = (*tape)->seed(),
      .load_script =
          [&](const std::string& path) {
            return config::load_replay_script(std::filesystem::path(plan->agent.directory) / path);
          },
      .killed = [&] { return tools::killed_by(*kill_file); }};
  auto provider =
      providers::make_chain(plan->chain, plan->agent.fallback, plan->agent.retry, dependencies);
  if (!provider) {
    return end_with({provider.error()});
  }

  tools::ProcessIsolation unconfined(*supervisor);
  const tools::UserPrograms programs{.folder = plan->agent.directory,
                                     .temporary = folder.path(),
                                     .environment = without_keys(context.environment, *plan),
                                     .isolation = &unconfined};
  const auto hooks =
      open_hooks(*plan,
                 {.world = {.run_id = run_id, .model = plan->model().name(), .cwd = context.cwd},
                  .programs = programs,
                  .clock = &(*tape)->clock()});
  const auto guarded =
      open_guardrails(*plan, *kill_file, **provider, dependencies, programs, redactor, tool_clock);
  if (!guarded) {
    return end_with({guarded.error()});
  }
  std::vector<agent::Gate*> gates;
  for (agent::Gate* gate : {hooks.get(), static_cast<agent::Gate*>(guarded->gate.get())}) {
    if (gate != nullptr) {
      gates.push_back(gate);
    }
  }
  agent::Gates gate(gates);
  const agent::RunRequest request{
      .run_id = run_id,
      .started = {.version = ERRAND_VERSION,
                  .agent_name = plan->agent.name,
                  .agent_file = plan->agent.file,
                  .model = plan->model().name(),
                  .cwd = context.cwd.string(),
                  .instructions = std::move(plan->text.instructions),
                  .prompt = std::move(plan->text.prompt),
                  .attachments = std::move(plan->text.attachments),
                  .tools = tool_names(**toolbox),
                  .sandbox = describe(plan->agent.sandbox, enclosure->get())},
      .warnings = std::move(plan->warnings),
      .plan = run_plan(*plan, **toolbox, (*tape)->clock().wall())};
  auto sinks = audience.sinks();
  if (agent::EventSink* watcher = (*tape)->watcher()) {
    sinks.push_back(watcher);
  }
  const agent::RunResult result = agent::run(request,
                                             {.provider = **provider,
                                              .toolbox = (*tape)->toolbox(**toolbox),
                                              .sinks = sinks,
                                              .journal = journal->get(),
                                              .clock = (*tape)->clock(),
                                              .approver = approver.get(),
                                              .gate = gates.empty() ? nullptr : &gate},
                                             cancellation);
  supervisor->dismiss();
  if (const auto done = (*tape)->finish(); !done && result.exit_code == 0) {
    context.err << render_warning(done.error(), context.color_err) << std::endl;
  }
  return result.exit_code;
}

}  // namespace cli

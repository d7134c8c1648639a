// `errand batch`: each input of a file is one run of the agent.
#include "cli/batch.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/store/owner.h"
#include "agent/store/runs.h"
#include "agent/store/sqlite_journal.h"
#include "agent/text.h"
#include "cli/agents_at_work.h"
#include "cli/find_run.h"
#include "cli/key_hosts.h"
#include "cli/old_runs.h"
#include "cli/permissions.h"
#include "cli/resources.h"
#include "cli/run_identity.h"
#include "cli/run_inputs.h"
#include "cli/run_sinks.h"
#include "cli/signals.h"
#include "cli/start_run.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"
#include "providers/http/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Error;
using agent::Result;

std::optional<InputFormat> input_format_of(const Parsed& parsed) {
  const auto name = parsed.value("--input-format");
  return !name              ? std::nullopt
         : *name == "jsonl" ? std::optional(InputFormat::jsonl)
         : *name == "csv"   ? std::optional(InputFormat::csv)
                            : std::optional(InputFormat::lines);
}

Result<std::size_t> parallel_of(const Parsed& parsed) {
  constexpr std::int64_t k_most_parallel = 64;
  const auto text = parsed.value("--parallel");
  const std::int64_t parallel = text ? agent::parse_count(*text).value_or(1) : 4;
  if (parallel > k_most_parallel) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--parallel {}` is more than {}", *text, k_most_parallel),
                       "a whole number from 1 to 64");
  }
  return static_cast<std::size_t>(parallel);
}

Result<BatchOptions> options_of(const Parsed& parsed) {
  BatchOptions options;
  TRY_ASSIGN(options.parallel, parallel_of(parsed));
  TRY_ASSIGN(options.parameters, parameters_of(parsed));
  if (const auto text = parsed.value("--total-timeout")) {
    options.timeout = agent::parse_duration(*text);
  }
  if (const auto text = parsed.value("--max-total-cost")) {
    options.max_cost = agent::Money::parse(*text);
  }
  if (const auto text = parsed.value("--max-failures")) {
    options.max_failures = agent::parse_count(*text);
  }
  return options;
}

Result<void> check_can_be_kept(const BatchOptions& options, const Plan& plan) {
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      if (options.max_cost && choice.tariff.at(std::chrono::system_clock::now()) == nullptr) {
        return agent::fail(Code::config_invalid,
                           fmt::format("`--max-total-cost` cannot be kept: nobody knows what {} "
                                       "costs",
                                       choice.resolved.name()),
                           "say it in `model.cost` of the agent file, or leave the limit out");
      }
    }
  }
  return {};
}

// The inputs' own are looked at one by one.
Result<void> check_parameters(const BatchOptions& options, const agent::AgentSpec& agent) {
  for (const auto& [name, value] : options.parameters) {
    if (std::ranges::find(agent.parameters, name, &agent::ParameterSpec::name) ==
        agent.parameters.end()) {
      return agent::fail(Code::cli_usage,
                         fmt::format("the agent has no parameter `{}`", agent::one_line(name)),
                         "`--param` sets one for all inputs");
    }
  }
  return {};
}

// What a batch has of its journal.
struct BatchJournal {
  std::unique_ptr<agent::store::SqliteJournal> open;  // while it lasts: each run opens it faster
  std::optional<agent::store::RunClaim> claim;        // of its name
};

// Nobody else may carry it on meanwhile.
Result<void> claim_batch(const BatchOptions& options,
                         const Context& context,
                         BatchJournal& journal) {
  const std::string name = fmt::format("batch {} in {}", options.name, context.cwd.string());
  TRY_ASSIGN(journal.claim, agent::store::RunClaim::take(options.store, name));
  if (journal.claim) {
    return {};
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("another process has the batch `{}` of this folder",
                                 agent::one_line(options.name)),
                     "wait for its end, then carry it on");
}

// A batch that nobody has named can be carried on, too: but where it is named, its journal has to
// be there.
Result<BatchJournal> open_journal(const Parsed& parsed,
                                  const Plan& plan,
                                  const Context& context,
                                  const agent::Redactor& redactor,
                                  BatchOptions& options) {
  const auto name = parsed.value("--session");
  options.store = store_of(plan.agent, context.environment);
  BatchJournal journal;
  if (parsed.has("--no-session") || options.store.is_relative()) {
    if (name) {
      return agent::fail(Code::cli_usage,
                         "`--session` names a batch whose runs are kept, and these are not",
                         "leave out `--no-session`, and `session.store: none` in the agent file");
    }
    return journal;
  }
  const std::string own_name = name.value_or(agent::new_run_id());
  TRY(check_name(own_name, "batch"));
  if (auto why = why_not_kept({.cwd = context.cwd.string(),
                               .agent_folder = plan.agent.directory,
                               .agent_file = plan.agent.file,
                               .name = own_name,
                               .what = "batch's"},
                              redactor)) {
    why->help += name ? "" : "; --no-session keeps none of its runs";
    return agent::fail(*std::move(why));
  }
  auto opened =
      agent::store::SqliteJournal::open(options.store, plan.agent.session.durability, redactor);
  if (!opened && (name || plan.agent.session.store != "auto" || opened.error().write_failed)) {
    Error error = std::move(opened).error().while_("opening the session store");
    if (!name) {
      error.help += error.help.empty() ? "" : "; or ";
      error.help += "--no-session runs without one";
    }
    return agent::fail(std::move(error));
  }
  if (!opened) {
    return journal;  // each of the runs warns of it
  }
  journal.open = *std::move(opened);
  options.name = own_name;
  if (name) {
    TRY(claim_batch(options, context, journal));
    TRY_ASSIGN(
        const auto runs,
        agent::store::list_runs(
            options.store, {.folder = context.cwd.string(), .batch = options.name, .limit = 1}));
    options.has_earlier = !runs.empty();
  }
  return journal;
}

std::string greeting_of(const BatchOptions& options, bool is_given) {
  const std::string name = agent::one_line(options.name);
  return options.has_earlier ? fmt::format("carrying on {}", name)
         : options.name.empty() || is_given
             ? std::string()
             : fmt::format("batch {}: where it is cut off, --session {} carries it on",
                           name,
                           agent::shell_word(name));
}

// Whether a signal, a limit of the whole or what holds for all inputs has ended it.
bool is_cut_off(int code) {
  return code > 128 || code == agent::row(Code::provider_circuit_open).exit_code ||
         code == agent::row(Code::run_timeout).exit_code ||
         code == agent::row(Code::run_cost_budget).exit_code || is_alike_for_all(code);
}

int tell(const std::vector<Error>& errors,
         const Context& context,
         const agent::Redactor& redactor) {
  for (const Error& error : errors) {
    context.err << render(error, context.color_err, redactor) << std::endl;
  }
  return agent::exit_code(errors.front());
}

}  // namespace

Result<int> command_batch(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(BatchOptions options, options_of(parsed));
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY(make_room_for(options.parallel));
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation, options.timeout));
  agent::Redactor redactor(context.environment);

  TRY(change_folder(parsed, context));
  TRY(check_outputs(parsed));
  const RunSource source{.agent = {.file = parsed.positionals.at(0)}};
  TRY(check_inputs(parsed, source.agent));
  auto plan = prepare_agent(parsed, source, context);
  if (!plan) {
    return tell(plan.error(), context, redactor);
  }
  TRY(check_inputs(parsed, *plan));
  hide_secrets(*plan, context.environment, redactor);
  if (const auto refused = refusals(std::exchange(plan->key_requests, {}), redactor);
      !refused.empty()) {
    return tell(refused, context, redactor);
  }
  TRY(check_can_be_kept(options, *plan));
  TRY(check_parameters(options, plan->agent));
  TRY(check_rules(plan->agent, parsed));
  TRY(check_members(*plan, context));
  plan->reads_stdin = true;  // it is not the runs' to look at
  TRY_ASSIGN(BatchInput input,
             BatchInput::open(parsed.positionals.at(1), input_format_of(parsed), plan->agent));
  TRY_ASSIGN(const BatchJournal journal, open_journal(parsed, *plan, context, redactor, options));

  options.greeting = greeting_of(options, parsed.has("--session"));

  std::unique_ptr<Output> failed;
  if (const auto file = parsed.value("--failed")) {
    TRY_ASSIGN(failed, Output::to_file(*file, &cancellation.patience()));
  }
  const auto out =
      Output::to_descriptor(STDOUT_FILENO, "standard output", &cancellation.patience());
  BatchResults results(
      {.is_ordered = parsed.has("--ordered")}, *out, failed.get(), input.head(), redactor);
  std::string why_incomplete;
  bool is_refused = false;
  const auto code = [&]() -> Result<int> {
    BatchProgress progress(
        {.verbosity = parsed.has("--quiet") ? -1 : static_cast<int>(parsed.count("--verbose")),
         .live = Terminal::understands_escapes(STDERR_FILENO, context.environment) &&
                 ::isatty(STDOUT_FILENO) == 0,  // the results are no lines of its own
         .color = context.color_err,
         .cancellation = &cancellation},
        redactor);
    providers::HttpClient http(context.environment);
    providers::ModelStates models;
    Batch batch({.parsed = parsed,
                 .context = context,
                 .supervisor = *supervisor,
                 .redactor = redactor,
                 .http = http,
                 .models = models,
                 .outputs = files_written(parsed, failed.get()),
                 .input = input,
                 .results = results,
                 .progress = progress},
                options,
                *plan);
    auto ended = batch.run();
    why_incomplete = batch.why_incomplete();
    is_refused = batch.is_refused();
    return ended;
  }();
  const bool is_known = parsed.has("--quiet") && parsed.has("--session");  // what it is called
  if (!why_incomplete.empty()) {
    context.err << why_incomplete << '\n';
  }
  const bool is_incomplete = code && (is_cut_off(*code) || !why_incomplete.empty());
  if (is_incomplete && !options.name.empty() && !is_known) {
    context.err << fmt::format("carry it on: the same with --session {}\n",
                               agent::one_line(agent::shell_word(options.name)));
  }
  supervisor->dismiss();
  if (failed && is_refused) {
    context.err << fmt::format("{} is as it was\n",
                               agent::one_line(*parsed.value("--failed"), 200));
  } else if (failed) {
    failed->commit();
    TRY(ending_of(*failed, 0));
  }
  TRY_ASSIGN(const int whole, ending_of(*out, code.value_or(0)));
  if (const auto warning = remove_old_runs(plan->agent,
                                           options.name.empty() ? fs::path() : options.store,
                                           context.cwd,
                                           context.environment);
      warning && !parsed.has("--quiet")) {
    context.err << render_warning(*warning, context.color_err, redactor) << std::endl;
  }
  return code ? Result<int>(whole) : code;
}

}  // namespace cli

#include "cli/plan.h"

#include "agent/duration.h"
#include "agent/refusal.h"
#include "agent/text.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/price_book.h"
#include "cli/prompt_input.h"
#include "config/attachment.h"
#include "config/load.h"
#include "providers/replay_environment.h"
#include "tools/builtin/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;
using Recording = std::optional<providers::Cassette>;

}  // namespace

// ---- what the command line says ----

Result<std::map<std::string, std::string>> parameters_of(const Parsed& parsed) {
  std::map<std::string, std::string> parameters;
  for (const std::string& text : parsed.all("--param")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--param {}` is not NAME=VALUE", text),
                         "for example `--param target=main`");
    }
    if (const auto why = agent::why_not_text(text)) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("`--param {}` is not valid text: {}", agent::to_valid_utf8(text), *why),
          "give it as UTF-8");
    }
    if (!parameters.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return agent::fail(Code::cli_usage,
                         fmt::format("the parameter `{}` is given twice", text.substr(0, equals)),
                         "give each parameter once");
    }
  }
  return parameters;
}

namespace {

std::string label_of(std::string_view model) {
  return std::string(model.substr(0, model.find('/')));
}

// A model of another provider leaves that provider's address behind, any other model the price and
// the window. A script has no address, whatever else may be called `replay`.
void override_model(agent::ModelSpec& model, const std::string& name) {
  const std::string label = label_of(name);
  if (label_of(model.name) != label || label == providers::k_replay) {
    model.protocol.clear();
    model.base_url.clear();
    model.in_base_url.clear();
    model.api_key_env.clear();
  }
  if (model.name != name) {
    model.cost.reset();
    model.context_window.reset();
  }
  model.name = name;
  model.where.reset();  // what is wrong with it stands on the command line
}

// The script answers every request: another model could ask a server, and cost money.
void leave_alone(Plan& plan, const std::string& script) {
  const auto warn = [&](std::string_view what) {
    plan.warnings.push_back(
        {.message = fmt::format("the script {} answers alone: {}", script, what), .help = {}});
  };
  if (!plan.agent.fallback.models.empty()) {
    plan.agent.fallback.models.clear();
    warn("the agent's fallback is left out");
  }
  for (agent::GuardrailSpec& check : plan.agent.guardrails.checks) {
    if (check.model) {
      check.model.reset();
      warn(fmt::format("it also judges for the guardrail `{}`", check.name));
    }
  }
  if (plan.agent.context_management.summarizer) {
    plan.agent.context_management.summarizer.reset();
    warn("it also writes the summaries of `context_management`");
  }
}

Result<void> apply_options(Plan& plan, const Parsed& parsed, const std::filesystem::path& cwd) {
  agent::AgentSpec& spec = plan.agent;
  plan.script_folder = spec.directory;
  if (const auto model = parsed.value("--model")) {
    override_model(spec.model, *model);
    if (label_of(*model) == providers::k_replay) {
      leave_alone(plan, *model);
      plan.script_folder = cwd;  // as every path of the command line
    }
  }
  apply_sandbox_option(spec.sandbox, parsed);
  if (const auto text = parsed.value("--timeout")) {
    const auto timeout = agent::parse_duration(*text);
    if (!timeout || timeout->count() <= 0) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--timeout {}` is not a duration", *text),
                         "a number with a unit: 90s, 10m, 1h30m");
    }
    spec.limits.timeout = timeout;
  }
  if (const auto text = parsed.value("--max-turns")) {
    const auto turns = agent::parse_count(*text);
    if (!turns || *turns < 1) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--max-turns {}` is not a number of turns", *text),
                         "a whole number from 1; leave it out for no limit");
    }
    spec.limits.max_turns = turns;
  }
  if (const auto text = parsed.value("--max-cost")) {
    spec.limits.max_cost_usd = agent::Money::parse(*text);
    spec.limits.max_cost_where.reset();
  }
  return {};
}

// The prompt as it stands on the command line.
std::vector<std::string> prompt_words(const Parsed& parsed, const AgentChoice& chosen) {
  return parsed.has("--prompt") ? parsed.all("--prompt") : chosen.prompt;
}

std::optional<std::string> prompt_file(const Parsed& parsed, const std::filesystem::path& from) {
  const auto file = parsed.value("--prompt-file");
  return file && *file != "-" ? std::optional((from / *file).string()) : file;
}

Result<std::optional<std::string>> prompt_from_outside(Plan& plan,
                                                       const Parsed& parsed,
                                                       const std::vector<std::string>& words,
                                                       const std::filesystem::path& paths_from,
                                                       bool is_begun) {
  const PromptSources sources{.words = words,
                              .file = prompt_file(parsed, paths_from),
                              .agent_has_prompt = is_begun || !plan.agent.prompt.empty()};
  plan.reads_stdin = reads_stdin(sources);
  return read_prompt(sources);
}

// The files that the user's own words name. What comes from a file or a pipe names none: it may be
// somebody else's text.
Result<void> attach_mentioned(const std::vector<std::string>& words,
                              const std::filesystem::path& from,
                              std::vector<agent::Attachment>& attachments) {
  for (const std::string& word : words) {
    for (const config::Mention& mention : config::find_mentions(word)) {
      if (auto added = config::attach(from / mention.path, attachments); !added) {
        Error error = std::move(added).error();
        error.code = Code::cli_no_input;
        return agent::fail(std::move(error).while_("attaching a file that the prompt names"));
      }
    }
  }
  return {};
}

Result<void> check_has_exchanges(const Parsed& parsed, const providers::Resolved& model) {
  const std::string_view option = parsed.has("--record")   ? "--record"
                                  : parsed.has("--replay") ? "--replay"
                                                           : "";
  if (option.empty() || model.protocol != providers::k_replay) {
    return {};
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("`{}` is about HTTP exchanges, and the script `{}/{}` makes none",
                                 option,
                                 model.provider,
                                 model.model),
                     fmt::format("leave {} out, or name a model with --model", option));
}

// ---- from the file to a plan ----

config::Report report_on(const RunSource& source,
                         const agent::Environment& environment,
                         config::KnownNames known) {
  if (!source.is_by_record) {
    return config::load_agent(source.agent.file, environment, known);
  }
  const agent::RunStarted& begun = source.earlier->begun;
  known.recorded_schema = begun.plan.output_schema;
  return config::parse_agent(begun.made_from.agent_text,
                             begun.agent_file,
                             begun.made_from.agent_folder,
                             begun.agent_file.ends_with(".md"),
                             environment,
                             known);
}

// `auto` has picked once, by the keys that were there.
void keep_picked_model(agent::ModelSpec& model, const RunSource& source, const Parsed& parsed) {
  if (source.is_by_record && model.name == "auto" && !parsed.has("--model")) {
    const auto window = model.context_window;  // of whichever is picked
    override_model(model, source.earlier->begun.model);
    model.context_window = window;
  }
}

// What the model is told: of a run that is carried on, what it was told before.
Result<config::Rendered> texts_of(const agent::AgentSpec& agent,
                                  const RunSource& source,
                                  const std::optional<std::string>& prompt,
                                  const Parsed& parsed,
                                  const config::ReadingPolicy& reading) {
  if (source.is_by_record) {
    return config::Rendered{.instructions = source.earlier->begun.instructions,
                            .prompt = prompt.value_or(""),
                            .attachments = {}};
  }
  TRY_ASSIGN(const auto parameters, parameters_of(parsed));
  TRY_ASSIGN(auto text, config::render(agent, parameters, prompt, reading));
  if (!source.says_own_prompt && !prompt) {
    text.prompt.clear();  // it was said
    text.attachments.clear();
  }
  return text;
}

// Every model is resolved before the first request: a fallback that cannot work is no surprise for
// the night. One that is asked already, because of `auto` or --model, is left out.
Result<void> resolve_models(Plan& plan,
                            const agent::Environment& environment,
                            const std::optional<providers::Cassette>& recording,
                            KeyRequests& keys) {
  const auto resolve = [&](const agent::ModelSpec& spec) {
    return providers::resolve(
        spec,
        recording ? providers::replay_environment(environment, recording->run.key_variable, spec)
                  : environment,
        keys.check());
  };
  TRY_ASSIGN(auto model, resolve(plan.agent.model));
  if (model.picked) {
    plan.warnings.push_back({.message = model.picked_because, .help = {}});
  }
  plan.chain.push_back({.resolved = std::move(model), .spec = plan.agent.model});
  for (const agent::ModelSpec& spec : plan.agent.fallback.models) {
    auto fallback = resolve(spec);
    if (!fallback) {
      return agent::fail(
          std::move(fallback).error().while_(fmt::format("resolving the fallback {}", spec.name)));
    }
    if (fallback->name() == plan.model().name()) {
      plan.warnings.push_back(
          {.message = fmt::format("the fallback {} is the model itself: it is left out", spec.name),
           .help = {}});
      continue;
    }
    plan.chain.push_back({.resolved = std::move(*fallback), .spec = spec});
  }
  for (const agent::GuardrailSpec& check : plan.agent.guardrails.checks) {
    if (!check.model) {
      continue;
    }
    auto judge = resolve(*check.model);
    if (!judge) {
      return agent::fail(std::move(judge).error().while_(
          fmt::format("resolving the judge of the guardrail `{}`", check.name)));
    }
    plan.judges.push_back({.resolved = std::move(*judge), .spec = *check.model});
  }
  if (const auto& summarizer = plan.agent.context_management.summarizer) {
    auto resolved = resolve(*summarizer);
    if (!resolved) {
      return agent::fail(std::move(resolved).error().while_(
          "resolving the model of `context_management.summarize`"));
    }
    plan.summarizer.push_back({.resolved = std::move(*resolved), .spec = *summarizer});
  }
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      keys.add_texts(plan.agent, choice.resolved);
      if (auto keyless = providers::sends_no_key(choice.resolved, choice.spec)) {
        plan.warnings.push_back(
            {.message = std::move(keyless->message), .help = std::move(keyless->help)});
      }
    }
  }
  if (recording) {
    keys.take();  // no model is asked; programs run all the same
  }
  keys.add_programs(plan.agent, environment);
  plan.key_requests = keys.take();
  return {};
}

// The tool that shows cleared results again is there from the first turn on, so that requests go on
// as they began.
void manage_context(Plan& plan) {
  agent::AgentSpec& agent = plan.agent;
  const agent::ContextSpec& spec = agent.context_management;
  if (spec.is_named && !spec.is_off && !plan.windows.contains(plan.model().name())) {
    plan.warnings.push_back(
        {.message = fmt::format("`context_management` has no effect: the context window of {} is "
                                "not known",
                                plan.model().name()),
         .help = "`model.context_window` says how many tokens it takes"});
  }
  if (!plan.manages_context() || spec.clear_at == 0 || agent.tools.empty()) {
    return;
  }
  auto reader = std::ranges::find(agent.tools, tools::k_result_reader, &agent::ToolSpec::name);
  if (reader == agent.tools.end()) {
    agent.tools.push_back({.name = std::string(tools::k_result_reader)});
    reader = agent.tools.end() - 1;
  }
  reader->untrusted = true;  // as what it shows may be
}

}  // namespace

bool Plan::manages_context() const {
  return !agent.context_management.is_off && windows.contains(model().name());
}

namespace {

// `read_texts` fills in what the model is told, once the agent is known.
std::expected<Plan, std::vector<Error>> prepare_with(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const Recording& recording,
    const std::function<Result<void>(Plan&)>& read_texts) {
  Plan plan;
  config::KnownNames known = known_names();
  auto settings = load_settings(context.environment, context.cwd);
  known.reading_policy = [&](const agent::AgentSpec& agent) {
    return reading_policy(agent, settings ? *settings : Settings(), parsed, context);
  };
  auto report = report_on(source, context.environment, known);
  if (!report.agent) {
    if (!parsed.has("--model")) {
      add_unknown_providers(report, context.environment);
    }
    return std::unexpected(std::move(report.errors));
  }
  for (Error& warning : report.warnings) {
    plan.warnings.push_back(
        {.message = std::move(warning.message), .help = std::move(warning.help)});
  }
  plan.agent = std::move(*report.agent);
  TRY_ASSIGN(plan.settings, std::move(settings));
  PriceBook book(plan.settings.user, context.environment);
  const auto rest = [&]() -> Result<void> {
    TRY(apply_options(plan, parsed, context.cwd));
    keep_picked_model(plan.agent.model, source, parsed);
    TRY(read_texts(plan));
    TRY_ASSIGN(auto hosts, key_hosts_of(parsed, context.environment));
    TRY(allow_settings(plan.settings.user, hosts));
    KeyRequests keys(std::move(hosts), plan.agent);
    TRY(resolve_models(plan, context.environment, recording, keys));
    for (auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
      for (providers::Choice& choice : *choices) {
        TRY(check_has_exchanges(parsed, choice.resolved));
        TRY_ASSIGN(auto price, book.find(choice.spec, choice.resolved));
        TRY(check_cost_limit(
            plan.agent, choice.resolved.name(), price, book, std::chrono::system_clock::now()));
        choice.tariff = price ? price->tariff : agent::Tariff{};
        TRY_ASSIGN(const std::int64_t window, book.window(choice.spec, choice.resolved));
        if (window > 0) {
          plan.windows.insert_or_assign(choice.resolved.name(), window);
        }
      }
    }
    manage_context(plan);
    return {};
  };
  if (auto done = rest(); !done) {
    return std::unexpected(std::vector{std::move(done).error()});
  }
  if (recording && !recording->cut.empty()) {
    plan.warnings.push_back({.message = recording->cut, .help = {}});
  }
  return plan;
}

}  // namespace

std::expected<Plan, std::vector<Error>> prepare(const Parsed& parsed,
                                                const RunSource& source,
                                                const Context& context,
                                                const Result<Recording>& recording) {
  if (!recording) {
    return std::unexpected(std::vector{recording.error()});
  }
  const std::vector<std::string> words = prompt_words(parsed, source.agent);
  return prepare_with(parsed, source, context, *recording, [&](Plan& plan) -> Result<void> {
    TRY_ASSIGN(
        const auto prompt,
        prompt_from_outside(plan, parsed, words, source.paths_from, !source.says_own_prompt));
    TRY_ASSIGN(plan.text,
               texts_of(plan.agent,
                        source,
                        prompt,
                        parsed,
                        reading_policy(plan.agent, plan.settings, parsed, context)));
    return attach_mentioned(words, source.paths_from, plan.text.attachments);
  });
}

std::expected<Plan, std::vector<Error>> prepare_agent(const Parsed& parsed,
                                                      const RunSource& source,
                                                      const Context& context) {
  return prepare_with(parsed, source, context, std::nullopt, [](Plan&) { return Result<void>(); });
}

std::map<std::string, agent::Price> prices_of(std::span<const providers::Choice> choices,
                                              agent::Clock::Wall now) {
  std::map<std::string, agent::Price> prices;
  for (const providers::Choice& choice : choices) {
    if (const agent::Price* price = choice.tariff.at(now)) {
      prices.emplace(choice.resolved.name(), *price);
    }
  }
  return prices;
}

agent::RunPlan run_plan(const Plan& prepared,
                        const agent::Toolbox& toolbox,
                        agent::Clock::Wall now) {
  const agent::AgentSpec& spec = prepared.agent;
  agent::RunPlan plan{.limits = spec.limits,
                      .prices = prices_of(prepared.chain, now),
                      .tool_choice = spec.model.tool_choice,
                      .output_schema = spec.output.schema,
                      .approval_deadline = spec.approval.deadline};
  if (prepared.manages_context()) {
    const agent::ContextSpec& context = spec.context_management;
    plan.context = {.windows = prepared.windows,
                    .clear_at = context.clear_at,
                    .keep_results = context.keep_results,
                    .summarize_at = context.summarize_at,
                    .keep_recent = context.keep_recent,
                    .summarize_timeout = context.summarize_timeout,
                    .summarizer_prices = prices_of(prepared.summarizer, now)};
    if (!prepared.summarizer.empty()) {
      plan.context.summarizer = prepared.summarizer.front().resolved.name();
    }
  }
  for (const agent::ToolInfo& tool : toolbox.tools()) {
    if (tool.name == tools::k_result_reader) {
      plan.context.reader = tool.name;
    }
    if (tool.is_kept) {
      plan.context.kept_tools.insert(tool.name);
    }
    if (tool.writes) {
      plan.context.writing_tools.insert(tool.name);
    }
    plan.tool_bytes += static_cast<std::int64_t>(tool.name.size() + tool.description.size() +
                                                 tool.parameters.size());
    if (tool.repeatable) {
      plan.repeatable_tools.insert(tool.name);
    }
  }
  return plan;
}

}  // namespace cli

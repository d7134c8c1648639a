#include "cli/plan.h"

#include "agent/duration.h"
#include "agent/flow/names.h"
#include "agent/refusal.h"
#include "agent/text.h"
#include "cli/agents_at_work.h"
#include "cli/flow_commands.h"
#include "cli/flow_nesting.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/mcp_servers.h"
#include "cli/open_sandbox.h"
#include "cli/plan_members.h"
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
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;
using Recording = std::optional<providers::Cassette>;

}  // namespace

// ---- what the command line says ----

namespace {

// `what` is what one is called.
Result<std::map<std::string, std::string>> values_of(const Parsed& parsed,
                                                     std::string_view option,
                                                     std::string_view what) {
  std::map<std::string, std::string> values;
  for (const std::string& text : parsed.all(option)) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`{} {}` is not NAME=VALUE", option, text),
                         fmt::format("for example `{} target=main`", option));
    }
    if (const auto why = agent::why_not_text(text)) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("`{} {}` is not valid text: {}", option, agent::to_valid_utf8(text), *why),
          "give it as UTF-8");
    }
    if (!values.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return agent::fail(Code::cli_usage,
                         fmt::format("the {} `{}` is given twice", what, text.substr(0, equals)),
                         fmt::format("give each {} once", what));
    }
  }
  return values;
}

}  // namespace

Result<std::map<std::string, std::string>> parameters_of(const Parsed& parsed) {
  return values_of(parsed, "--param", "parameter");
}

// A server's name may have a slash, and so may that of a prompt: the server is one of the agent's.
Result<std::optional<tools::mcp::ChosenPrompt>> chosen_prompt(const Parsed& parsed,
                                                              const agent::AgentSpec& agent) {
  TRY_ASSIGN(auto arguments, values_of(parsed, "--use-arg", "argument"));
  const auto use = parsed.value("--use");
  if (!use) {
    return arguments.empty()
               ? Result<std::optional<tools::mcp::ChosenPrompt>>(std::nullopt)
               : agent::fail(Code::cli_usage,
                             "`--use-arg` is for the prompt that `--use` names, and there is none",
                             "`--use SERVER/PROMPT`");
  }
  const auto found = std::ranges::find_if(agent.mcp_servers, [&](const auto& server) {
    return use->starts_with(server.name + "/") && use->size() > server.name.size() + 1;
  });
  if (found != agent.mcp_servers.end()) {
    return tools::mcp::ChosenPrompt{.server = found->name,
                                    .name = use->substr(found->name.size() + 1),
                                    .arguments = std::move(arguments)};
  }
  const std::size_t slash = use->find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == use->size()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--use {}` is not SERVER/PROMPT", agent::one_line(*use, 100)),
                       "`errand mcp list AGENT` shows the prompts of each server");
  }
  TRY(find_mcp_server(agent, use->substr(0, slash)));
  return std::nullopt;
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
  return apply_limits(parsed, spec.limits);
}

// The prompt as it stands on the command line.
std::vector<std::string> prompt_words(const Parsed& parsed, const AgentChoice& chosen) {
  return parsed.has("--prompt") ? parsed.all("--prompt") : chosen.prompt;
}

std::optional<std::string> prompt_file(const Parsed& parsed, const std::filesystem::path& from) {
  const auto file = parsed.value("--prompt-file");
  return file && *file != "-" ? std::optional((from / *file).string()) : file;
}

Result<std::optional<std::string>> prompt_from_outside(
    Plan& plan,
    const Parsed& parsed,
    const std::vector<std::string>& words,
    const std::filesystem::path& paths_from,
    bool is_begun,
    const std::function<void(const agent::Limits&)>& on_limits) {
  const bool has_other =
      is_begun || plan.use || plan.is_flow() || !agent::is_blank(plan.agent.prompt);
  const PromptSources sources{
      .words = words, .file = prompt_file(parsed, paths_from), .agent_has_prompt = has_other};
  plan.reads_stdin = reads_stdin(sources);
  if (plan.reads_stdin || sources.file) {
    on_limits(plan.agent.limits);
  }
  TRY_ASSIGN(auto prompt, read_prompt(sources));
  return !prompt && plan.use ? std::optional<std::string>("") : prompt;
}

Result<void> check_is_new(const RunSource& source) {
  if (!source.earlier) {
    return {};
  }
  return agent::fail(Code::cli_usage,
                     "`--use` is what a run begins with, and this one has begun",
                     "leave it out, or begin a run of another name");
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

// The prompt of a flow is a text that its steps may name.
Result<void> check_attaches_nothing(const std::vector<agent::Attachment>& attachments) {
  if (attachments.empty()) {
    return {};
  }
  return agent::fail(Code::cli_no_input,
                     fmt::format("a file goes with the prompt of an agent, and this is a flow: {}",
                                 agent::one_line(attachments.front().name, 200)),
                     "name it in the `prompt` of the agent's file; as `@{{ picture }}`, where "
                     "`parameters` of the step says which; without the `@` it is text");
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
  return recorded_agent(source.earlier->begun, environment, std::move(known));
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
                            const providers::Cassette* recording,
                            KeyRequests& keys) {
  const auto resolve = [&](const agent::ModelSpec& spec) {
    return providers::resolve(
        spec,
        recording != nullptr
            ? providers::replay_environment(environment, recording->key_variables(), spec)
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
      keys.add_texts(choice.resolved);
      if (auto keyless = providers::sends_no_key(choice.resolved, choice.spec)) {
        plan.warnings.push_back(
            {.message = std::move(keyless->message), .help = std::move(keyless->help)});
      }
    }
  }
  if (recording != nullptr) {
    keys.take();  // no model is asked; programs run all the same
  }
  keys.add_programs(environment);
  keys.add_servers();
  plan.key_requests = keys.take();
  plan.key_hosts = keys.hosts();
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
  const bool has_tools =
      !agent.tools.empty() || !agent.mcp_servers.empty() || !agent.sub_agents.empty();
  if (!plan.manages_context() || spec.clear_at == 0 || !has_tools) {
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

Result<void> apply_limits(const Parsed& parsed, agent::Limits& limits) {
  if (const auto text = parsed.value("--timeout")) {
    const auto timeout = agent::parse_duration(*text);
    if (!timeout || timeout->count() <= 0) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--timeout {}` is not a duration", *text),
                         "a number with a unit: 90s, 10m, 1h30m");
    }
    limits.timeout = timeout;
  }
  if (const auto text = parsed.value("--max-turns")) {
    const auto turns = agent::parse_count(*text);
    if (!turns || *turns < 1) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`--max-turns {}` is not a number of turns", *text),
                         "a whole number from 1; leave it out for no limit");
    }
    limits.max_turns = turns;
  }
  if (const auto text = parsed.value("--max-cost")) {
    limits.max_cost_usd = agent::Money::parse(*text);
    limits.max_cost_where.reset();
  }
  return {};
}

Parsed command_line_of_members(Parsed parsed) {
  for (const std::string_view name : {"--timeout",
                                      "--max-cost",
                                      "--max-turns",
                                      "--param",
                                      "--session",
                                      "--from",
                                      "--only",
                                      "--prompt",
                                      "--prompt-file",
                                      "--agent"}) {
    parsed.values.erase(std::string(name));
  }
  return parsed;
}

bool is_same_file(const std::string& one, const std::filesystem::path& other) {
  std::error_code ignored;
  return !one.empty() && std::filesystem::equivalent(one, other, ignored);
}

namespace {

Result<void> check_options_of_flow(const Parsed& parsed) {
  for (const std::string_view option : {"--use", "--max-turns"}) {
    if (parsed.has(option)) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`{}` is not for flows", option),
                         "errand-agent(5) says what steps have of their own");
    }
  }
  return {};
}

Error no_flow_here(const std::string& file) {
  return {
      .code = Code::team_invalid,
      .message = fmt::format("{} is a flow, and an agent is needed here", agent::one_line(file)),
      .help = "name one of its agents; `errand run` runs flows"};
}

Result<providers::KeyHosts> hosts_allowed(const Settings& settings,
                                          const Parsed& parsed,
                                          const Context& context) {
  TRY_ASSIGN(auto hosts, key_hosts_of(parsed, context.environment));
  TRY(allow_settings(settings.user, hosts));
  return hosts;
}

std::expected<Plan, std::vector<Error>> prepare_flow(
    Plan plan,
    const Parsed& parsed,
    const Context& context,
    bool is_begun,
    const Place& place,
    const std::function<Result<void>(Plan&)>& read_texts) {
  const FlowNesting* const outer = place.outer;
  const auto beginning = [&]() -> Result<void> {
    TRY_ASSIGN(plan.key_hosts, hosts_allowed(plan.settings, parsed, context));
    TRY(check_options_of_flow(parsed));
    TRY(apply_options(plan, parsed, context.cwd));
    if (outer != nullptr) {
      return {};  // its step says what it is to do
    }
    TRY_ASSIGN(const auto given, parameters_of(parsed));
    TRY_ASSIGN(plan.parameters, config::bound_parameters(plan.agent, given));
    TRY(read_texts(plan));
    const bool wants_prompt = agent::flow::names_in(plan.agent.steps, "prompt");
    if (wants_prompt && agent::is_blank(plan.text.prompt) && !is_begun) {
      return agent::fail(Code::cli_no_input,
                         "the flow's steps name `prompt`, and there is none",
                         "`errand run FLOW \"what to do\"`");
    }
    return {};
  };
  if (auto done = beginning(); !done) {
    return std::unexpected(std::vector{std::move(done).error()});
  }
  std::size_t steps = plan.agent.steps.size();
  const FlowNesting nesting{
      .flow = plan.agent, .outer = outer, .steps = outer != nullptr ? outer->steps : steps};
  auto errors = prepare_steps(plan, parsed, context, nesting, place.recording);
  if (outer == nullptr) {
    std::ranges::move(mistakes_in_commands(agents_at_work(plan), context),
                      std::back_inserter(errors));
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return plan;
}

}  // namespace

std::expected<Plan, std::vector<Error>> prepare_with(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const Place& place,
    const std::function<Result<void>(Plan&)>& read_texts) {
  Plan plan;
  config::KnownNames known = known_names();
  auto settings = load_settings(context.environment, context.cwd);
  known.reading_policy = [&](const agent::AgentSpec& agent) {
    return reading_policy(agent, settings ? *settings : Settings(), parsed, context);
  };
  auto report = place.written_out != nullptr ? config::Report{.agent = *place.written_out}
                                             : report_on(source, context.environment, known);
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
  if (!plan.is_flow()) {
    plan.tool_lock = read_mcp_lock(plan.agent);
  }
  TRY_ASSIGN(plan.settings, std::move(settings));
  if (plan.is_flow() && !place.may_be_flow) {
    return std::unexpected(std::vector{no_flow_here(source.agent.file)});
  }
  if (plan.is_flow() && place.outer != nullptr) {
    if (auto why = why_not_inside(*place.outer, *place.step, plan.agent)) {
      return std::unexpected(std::vector{*std::move(why)});
    }
  }
  if (plan.is_flow()) {
    return prepare_flow(
        std::move(plan), parsed, context, source.earlier.has_value(), place, read_texts);
  }
  const auto beginning = [&]() -> Result<void> {
    TRY(apply_options(plan, parsed, context.cwd));
    TRY(stay_below(plan, place.above, context));
    TRY(heed_givers(plan.agent, source.above.givers));
    keep_picked_model(plan.agent.model, source, parsed);
    return read_texts(plan);
  };
  if (auto done = beginning(); !done) {
    return std::unexpected(std::vector{std::move(done).error()});
  }
  if (auto errors = prepare_sub_agents(plan, parsed, context, place); !errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  if (!place.is_in_team) {
    if (auto errors = prepare_team(plan, parsed, context, place); !errors.empty()) {
      return std::unexpected(std::move(errors));
    }
  }
  if (const auto done = check_rules_of_team(plan, place.above.empty() ? parsed : Parsed()); !done) {
    return std::unexpected(std::vector{done.error()});
  }
  PriceBook book(plan.settings.user, context.environment);
  const auto rest = [&]() -> Result<void> {
    TRY_ASSIGN(auto hosts, hosts_allowed(plan.settings, parsed, context));
    KeyRequests keys(std::move(hosts), plan.agent);
    TRY(resolve_models(plan, context.environment, place.recording, keys));
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
  return plan;
}

namespace {

Asker asker_of(const Plan& plan, bool is_replayed) {
  Asker asker{.agent = &plan.agent};
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      if (!is_replayed) {
        asker.models.push_back(choice.spec);
      }
    }
  }
  return asker;
}

// All of it is settled before anything begins, and as that of the whole: a member by itself is
// begun with nothing left to settle.
void gather_key_requests(Plan& whole, const Place& place, const agent::Environment& environment) {
  const std::vector<Plan*> plans = plans_at_work(whole);
  std::vector<Asker> askers;
  Company company;
  for (const Plan* plan : plans) {
    askers.push_back(asker_of(*plan, place.recording != nullptr));
    company.add(plan->agent);
  }
  for (const agent::AgentSpec* one : place.above) {
    company.hear(*one);
  }
  const providers::KeyHosts hosts = whole.key_hosts.value_or(providers::KeyHosts(environment));
  for (Plan* plan : plans) {
    plan->key_requests.clear();
    if (company.has_network() && plan->key_hosts) {
      plan->key_hosts->share_loopback();
    }
  }
  whole.key_requests = key_requests_of(askers, company, hosts, environment);
}

// What its file says of it, for others than its own.
std::string store_of_whole(const Plan& plan) {
  const std::string& store = plan.agent.session.store;
  const bool is_file = store != "auto" && store != "none";
  return is_file ? std::filesystem::absolute(std::filesystem::path(plan.agent.directory) / store)
                       .string()
                 : store;
}

std::expected<Plan, std::vector<Error>> prepare_whole(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const Place& place,
    const std::function<Result<void>(Plan&)>& read_texts) {
  auto plan = prepare_with(parsed, source, context, place, read_texts);
  if (plan) {
    gather_key_requests(*plan, place, context.environment);
    keep_members_with(source.earlier ? source.earlier->store.string() : store_of_whole(*plan),
                      *plan);
  }
  return plan;
}

}  // namespace

std::expected<Plan, std::vector<Error>> prepare(
    const Parsed& parsed,
    const RunSource& source,
    const Context& context,
    const Result<Recording>& recording,
    const std::function<void(const agent::Limits&)>& on_limits) {
  if (!recording) {
    return std::unexpected(std::vector{recording.error()});
  }
  const std::vector<std::string> words = prompt_words(parsed, source.agent);
  Place place{.may_be_flow = true, .recording = *recording ? &**recording : nullptr};
  std::ranges::transform(source.above.agents,
                         std::back_inserter(place.above),
                         [](const agent::AgentSpec& one) { return &one; });
  const auto read_texts = [&](Plan& plan) -> Result<void> {
    TRY_ASSIGN(plan.use, chosen_prompt(parsed, plan.agent));
    if (plan.use) {
      TRY(check_is_new(source));
    }
    TRY_ASSIGN(const auto prompt,
               prompt_from_outside(
                   plan, parsed, words, source.paths_from, !source.says_own_prompt, on_limits));
    TRY_ASSIGN(plan.text,
               texts_of(plan.agent,
                        source,
                        prompt,
                        parsed,
                        reading_policy(plan.agent, plan.settings, parsed, context)));
    TRY(attach_mentioned(words, source.paths_from, plan.text.attachments));
    return plan.is_flow() ? check_attaches_nothing(plan.text.attachments) : Result<void>();
  };
  auto plan = prepare_whole(parsed, source, context, place, read_texts);
  if (plan && *recording && !(*recording)->cut.empty()) {
    plan->warnings.push_back({.message = (*recording)->cut, .help = {}});
  }
  return plan;
}

std::expected<Plan, std::vector<Error>> prepare_agent(const Parsed& parsed,
                                                      const RunSource& source,
                                                      const Context& context) {
  return prepare_whole(
      parsed, source, context, {.may_be_flow = false}, [](Plan&) { return Result<void>(); });
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
                      .repair_attempts = spec.output.repair_attempts,
                      .check_attempts = spec.checks.attempts,
                      .check_protect = spec.checks.protect,
                      .approval_deadline = spec.approval.deadline};
  for (const agent::CheckSpec& check : spec.checks.commands) {
    plan.checks.push_back({.name = check.name, .run = check.run});
  }
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
    plan.tool_bytes += bytes_of(tool);
    if (tool.repeatable) {
      plan.repeatable_tools.insert(tool.name);
    }
  }
  return plan;
}

}  // namespace cli

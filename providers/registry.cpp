#include "providers/registry.h"

#include "agent/text.h"
#include "providers/http/url.h"
#include "providers/preset_address.h"
#include "providers/recording/script_provider.h"
#include "providers/resilience/circuit_breaker.h"
#include "providers/resilience/fallback_provider.h"
#include "providers/resilience/patient_provider.h"
#include "providers/resilience/priced_provider.h"
#include "providers/resilience/rate_gate.h"
#include "providers/resilience/retry_provider.h"
#include "providers/wire/aws.h"
#include "providers/wire/output_limit.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Environment;
using agent::ModelSpec;

constexpr std::string_view k_custom = "custom";
constexpr std::string_view k_bedrock = "bedrock";

struct Protocol {
  std::string_view name;
  std::unique_ptr<Wire> (*make)(WireSettings);  // null: not over HTTP
};
constexpr auto k_protocols = std::to_array<Protocol>({
    {"anthropic_messages", make_anthropic_messages},
    {k_bedrock, make_bedrock},
    {"gemini", make_gemini},
    {"ollama", make_ollama},
    {"openai_chat", make_openai_chat},
    {"openai_responses", make_openai_responses},
    {k_replay, nullptr},
});

// Not one of a preset, nor of a provider that has none: half of the credentials of AWS.
constexpr std::string_view k_aws_secret = "AWS_SECRET_ACCESS_KEY";

std::span<const Protocol> protocols() {
  return k_protocols;
}

std::unexpected<agent::Error> invalid(std::string message, std::string help) {
  return agent::fail(Code::config_invalid, std::move(message), std::move(help));
}

template <typename Row>
const Row* find_row(std::span<const Row> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Row::name);
  return found == table.end() ? nullptr : &*found;
}

template <typename Row>
std::vector<std::string_view> names_of(std::span<const Row> table) {
  std::vector<std::string_view> names;
  std::ranges::transform(table, std::back_inserter(names), &Row::name);
  return names;
}

template <typename Row>
std::string suggestion(std::span<const Row> table, std::string_view word) {
  const auto names = names_of(table);
  const auto near = agent::nearest(word, names);
  return fmt::format("{}Known: {}.",
                     near ? fmt::format("Did you mean `{}`? ", *near) : "",
                     fmt::join(names, ", "));
}

agent::Result<void> check_protocol(const std::string& name) {
  if (find_row(protocols(), name) != nullptr) {
    return {};
  }
  return invalid(fmt::format("`model.protocol` names the unknown protocol `{}`", name),
                 suggestion(protocols(), name));
}

agent::Result<void> read_key(Resolved& resolved, const Environment& environment) {
  if (resolved.api_key_env.empty()) {
    return {};
  }
  resolved.api_key = agent::trimmed_value_of(environment, resolved.api_key_env);
  const auto no_key = [&](std::string_view what) {
    agent::Error error{
        .code = Code::provider_auth,
        .message =
            fmt::format("{} {}, the API key of {}", resolved.api_key_env, what, resolved.provider),
        .help = fmt::format(
            "Set it: export {}=…, or name another variable in the model's `api_key_env`.",
            resolved.api_key_env),
        .provider = resolved.provider,
        .model = resolved.model};
    return agent::fail(std::move(error));
  };
  if (resolved.api_key.empty()) {
    return no_key(environment.contains(resolved.api_key_env) ? "is empty" : "is not set");
  }
  if (std::ranges::any_of(resolved.api_key, [](char c) { return c < '!' || c > '~'; })) {
    return no_key("contains characters that no key has");
  }
  return {};
}

agent::Result<Resolved> pick(const Environment& environment) {
  std::vector<std::string_view> variables;
  for (const auto& preset : presets()) {
    if (preset.default_model.empty()) {
      continue;
    }
    if (!agent::trimmed_value_of(environment, preset.key_variable).empty()) {
      TRY_ASSIGN(auto base_url, preset_base_url(preset, environment));
      Resolved resolved{.provider = std::string(preset.name),
                        .model = std::string(preset.default_model),
                        .protocol = std::string(preset.protocol),
                        .base_url = std::move(base_url),
                        .api_key_env = std::string(preset.key_variable),
                        .picked = true,
                        .picked_because = fmt::format("{} is set", preset.key_variable)};
      return resolved;
    }
    variables.push_back(preset.key_variable);
  }
  return agent::fail(
      Code::provider_auth,
      fmt::format("`model: auto` found no API key: none of {} is set", fmt::join(variables, ", ")),
      "Set one of them, or name a model that needs no key, like ollama/MODEL.");
}

// What stands before and after the first slash.
std::pair<std::string, std::string> split(const std::string& name) {
  const auto slash = name.find('/');
  return slash == std::string::npos ? std::pair(std::string{}, name)
                                    : std::pair(name.substr(0, slash), name.substr(slash + 1));
}

agent::Result<Resolved> resolve_custom(const ModelSpec& spec) {
  auto [label, model] = split(spec.name);
  Resolved resolved{.provider = label.empty() ? std::string(k_custom) : std::move(label),
                    .model = std::move(model),
                    .protocol = spec.protocol,
                    .api_key_env = spec.api_key_env,
                    .is_custom = true};
  TRY_ASSIGN(resolved.base_url, checked_base_url(spec.base_url, "model.base_url"));
  return resolved;
}

std::unexpected<agent::Error> unknown_provider(const ModelSpec& spec, const std::string& provider) {
  const auto help = fmt::format("{} For another server give `model.protocol` and `model.base_url`.",
                                suggestion(presets(), provider));
  return spec.name.find('/') == std::string::npos
             ? invalid(fmt::format("`model` `{}` does not name its provider: write PROVIDER/{}",
                                   spec.name,
                                   spec.name),
                       help)
             : agent::fail(Code::registry_missing,
                           fmt::format("`model` names the unknown provider `{}`", provider),
                           help);
}

agent::Result<Resolved> resolve_preset(const ModelSpec& spec, const Environment& environment) {
  auto [provider, model] = split(spec.name);
  const auto* const preset = find_row(presets(), provider);
  if (preset == nullptr) {
    return unknown_provider(spec, provider);
  }
  Resolved resolved{
      .provider = std::move(provider),
      .model = std::move(model),
      .protocol = spec.protocol.empty() ? std::string(preset->protocol) : spec.protocol,
      .api_key_env = spec.api_key_env};
  if (spec.base_url.empty()) {
    TRY_ASSIGN(resolved.base_url, preset_base_url(*preset, environment));
  } else {
    TRY_ASSIGN(resolved.base_url, checked_base_url(spec.base_url, "model.base_url"));
  }
  // A key goes to the provider that it belongs to, not to whoever `base_url` names.
  const auto origin = origin_of(resolved.base_url, Code::config_invalid);
  const bool is_own_server =
      spec.base_url.empty() || resolved.base_url == preset->base_url ||
      (preset->name == k_bedrock && origin && is_own_origin(*preset, *origin));
  if (resolved.api_key_env.empty() && is_own_server) {
    resolved.api_key_env = preset->key_variable;
  }
  return resolved;
}

// Replay has no server, and every other protocol needs one.
agent::Result<void> check_replay(Resolved& resolved, const ModelSpec& spec) {
  if (resolved.protocol != k_replay) {
    if (resolved.base_url.empty()) {
      return invalid(fmt::format("the provider `{}` has no server that speaks `{}`",
                                 resolved.provider,
                                 resolved.protocol),
                     "Leave `model.protocol` out, or set `model.base_url` as well.");
    }
    return {};
  }
  if (!spec.base_url.empty()) {
    return invalid("`model.base_url` is set, but the protocol `replay` has no server",
                   "Leave `model.base_url` out.");
  }
  if (resolved.provider != k_replay) {
    return invalid(
        fmt::format("the protocol `replay` needs a script, and `{}` is not one", spec.name),
        "Write `model: replay/PATH`.");
  }
  resolved.api_key_env.clear();
  return {};
}

// The address of the imitation of OpenAI's protocol, given to Ollama's own.
agent::Result<void> check_ollama(const Resolved& resolved) {
  if (resolved.protocol == "ollama" && resolved.base_url.ends_with("/v1")) {
    return invalid("the protocol `ollama` has no `/v1` in its address",
                   "Leave `/v1` out, or set `model.protocol: openai_chat`.");
  }
  return {};
}

agent::Result<Resolved> resolve_name(const ModelSpec& spec, const Environment& environment) {
  if (!spec.protocol.empty()) {
    TRY(check_protocol(spec.protocol));
  }
  const bool is_custom = !spec.protocol.empty() && !spec.base_url.empty();
  if (spec.name == "auto" && !is_custom) {
    if (!spec.protocol.empty() || !spec.base_url.empty() || !spec.api_key_env.empty()) {
      return invalid(
          "`model.name: auto` picks provider, server and key by itself, but `model` sets them too",
          "Name the model, or leave `protocol`, `base_url` and `api_key_env` out.");
    }
    return pick(environment);
  }
  TRY_ASSIGN(auto resolved, is_custom ? resolve_custom(spec) : resolve_preset(spec, environment));
  if (resolved.model.empty()) {
    return invalid(fmt::format("`model` `{}` names no model", spec.name),
                   "Write it as PROVIDER/MODEL.");
  }
  TRY(check_replay(resolved, spec));
  TRY(check_ollama(resolved));
  return resolved;
}

// A value that says by itself where it goes is nobody else's word: `${env:LLM_URL}/v1`.
bool is_its_own_address(const agent::EnvironmentUse& use,
                        const Origin& origin,
                        const Environment& environment) {
  const auto own =
      origin_of(std::string(agent::value_of(environment, use.name)), Code::config_invalid);
  return own && *own == origin;
}

// What the request to the model says of the environment.
agent::Result<void> check_keys(const Resolved& resolved,
                               const ModelSpec& spec,
                               const Environment& environment,
                               const KeyCheck& may_send) {
  const bool sends_nothing =
      resolved.api_key_env.empty() && spec.in_headers.empty() && spec.in_base_url.empty();
  if (resolved.protocol == k_replay || sends_nothing) {
    return {};
  }
  TRY_ASSIGN(const Origin origin, origin_of(resolved.base_url, Code::config_invalid));
  const auto check = [&](const std::string& name,
                         KeyRequest::Place place,
                         const std::optional<agent::Where>& where) {
    return may_send({.variable = name, .origin = origin, .place = place, .where = where});
  };
  if (!resolved.api_key_env.empty()) {
    TRY(check(resolved.api_key_env, KeyRequest::Place::key, spec.api_key_where));
  }
  for (const agent::EnvironmentUse& use : spec.in_headers) {
    TRY(check(use.name, KeyRequest::Place::header, use.where));
  }
  for (const agent::EnvironmentUse& use : spec.in_base_url) {
    if (!is_its_own_address(use, origin, environment)) {
      TRY(check(use.name, KeyRequest::Place::address, use.where));
    }
  }
  return {};
}

agent::Result<void> read_credentials(Resolved& resolved,
                                     const ModelSpec& spec,
                                     const Environment& environment) {
  if (resolved.provider == k_bedrock && spec.api_key_env.empty() && !resolved.api_key_env.empty() &&
      agent::trimmed_value_of(environment, resolved.api_key_env).empty()) {
    TRY_ASSIGN(resolved.signer, bedrock_signer(resolved.base_url, environment));
    resolved.api_key_env = k_aws_secret;
    return {};
  }
  return read_key(resolved, environment);
}

// The same name at two addresses is two models.
ModelState& state_of(const Resolved& resolved, const Dependencies& dependencies) {
  return dependencies.models.of(resolved.base_url + " " + resolved.name());
}

}  // namespace

std::vector<std::string> protocol_names() {
  const auto names = names_of(protocols());
  return {names.begin(), names.end()};
}

std::vector<std::string> key_variables(const std::vector<std::string>& of_agent) {
  std::vector<std::string> names;
  for (const auto& other : other_key_variables()) {
    names.emplace_back(other.name);
  }
  for (const auto& preset : presets()) {
    if (!preset.key_variable.empty()) {
      names.emplace_back(preset.key_variable);
    }
  }
  std::ranges::copy_if(
      of_agent, std::back_inserter(names), [](const auto& name) { return !name.empty(); });
  if (std::ranges::find(of_agent, k_aws_secret) != of_agent.end()) {
    names.emplace_back("AWS_SESSION_TOKEN");  // the other half of it
  }
  std::ranges::sort(names);
  return names;
}

agent::Result<Resolved> resolve(const ModelSpec& spec,
                                const Environment& environment,
                                const KeyCheck& may_send) {
  const auto done = [&]() -> agent::Result<Resolved> {
    TRY_ASSIGN(auto resolved, resolve_name(spec, environment));
    TRY(check_keys(resolved, spec, environment, may_send));
    TRY(read_credentials(resolved, spec, environment));
    return resolved;
  };
  auto resolved = done();
  if (!resolved && !resolved.error().where) {
    resolved.error().where = spec.where;
  }
  return resolved;
}

agent::Result<Resolved> resolve(const ModelSpec& spec, const Environment& environment) {
  return resolve(spec, environment, strict_check(KeyHosts(environment)));
}

bool is_free(const Resolved& resolved) {
  const auto* const preset = resolved.is_custom ? nullptr : find_row(presets(), resolved.provider);
  return preset != nullptr && preset->key_variable.empty();
}

std::optional<KeylessModel> sends_no_key(const Resolved& resolved, const ModelSpec& spec) {
  const auto* const preset = resolved.is_custom ? nullptr : find_row(presets(), resolved.provider);
  if (preset == nullptr || preset->key_variable.empty() || !resolved.api_key_env.empty() ||
      !spec.headers.empty() || resolved.protocol == k_replay) {
    return std::nullopt;
  }
  const auto origin = origin_of(resolved.base_url, Code::config_invalid);
  if (!origin || origin->is_loopback) {
    return std::nullopt;
  }
  return KeylessModel{
      .message = fmt::format("no key is sent to {}, which is another server than that of {}",
                             origin->text,
                             resolved.provider),
      .help =
          fmt::format("`api_key_env: {}` beside `base_url` sends one, once --key-host says that "
                      "it may go there",
                      preset->key_variable)};
}

std::unique_ptr<Wire> make_wire(const Resolved& resolved, const ModelSpec& spec) {
  return find_row(protocols(), resolved.protocol)
      ->make({.provider = resolved.provider,
              .model = resolved.model,
              .base_url = resolved.base_url,
              .api_key = resolved.api_key,
              .api_key_env = resolved.api_key_env,
              .signer = resolved.signer,
              .stream = spec.stream,
              .extra_headers = spec.headers,
              .temperature = spec.temperature,
              .max_output_tokens = spec.max_output_tokens,
              .largest_cap = output_limit(resolved.model),
              .reasoning = spec.reasoning,
              .stop = spec.stop,
              .timeouts = spec.timeouts,
              .quirks = default_quirks(resolved.provider, resolved.base_url)});
}

namespace {

std::unique_ptr<agent::Provider> with_patience(std::unique_ptr<agent::Provider> inner,
                                               const Dependencies& dependencies) {
  return dependencies.is_patient
             ? std::make_unique<PatientProvider>(std::move(inner), dependencies.clock)
             : std::move(inner);
}

agent::Result<std::unique_ptr<agent::Provider>> make_member(const Choice& choice,
                                                            const agent::RetryPolicy& policy,
                                                            const Dependencies& dependencies) {
  const auto& [resolved, spec, tariff] = choice;
  TRY(check_protocol(resolved.protocol));
  const auto& protocol = *find_row(protocols(), resolved.protocol);
  std::unique_ptr<agent::Provider> inner;
  if (protocol.make == nullptr) {
    TRY_ASSIGN(auto script, dependencies.load_script(resolved.model));
    inner = std::make_unique<ScriptProvider>(
        std::move(script), dependencies.clock, spec.stream, resolved.name());
  } else {
    inner = make_wire_provider(make_wire(resolved, spec), dependencies.http, dependencies.clock);
  }
  if (dependencies.killed) {
    inner = std::make_unique<StoppableProvider>(std::move(inner), dependencies.killed);
  }
  ModelState& state = state_of(resolved, dependencies);
  inner =
      std::make_unique<GatedProvider>(std::move(inner),
                                      state.gate,
                                      GateLimits{.requests_per_minute = spec.requests_per_minute,
                                                 .max_in_flight = spec.max_in_flight,
                                                 .patience = policy.max_elapsed},
                                      dependencies.clock,
                                      resolved.provider,
                                      resolved.model);
  inner = std::make_unique<RetryProvider>(
      std::move(inner), policy, dependencies.clock, dependencies.seed);
  inner = std::make_unique<PricedProvider>(std::move(inner), tariff, dependencies.clock);
  return std::make_unique<CircuitBreaker>(
      std::move(inner), state.circuit, dependencies.clock, resolved.provider, resolved.model);
}

}  // namespace

agent::Result<std::unique_ptr<agent::Provider>> make(const Choice& choice,
                                                     const agent::RetryPolicy& policy,
                                                     const Dependencies& dependencies) {
  TRY_ASSIGN(auto provider, make_member(choice, policy, dependencies));
  return with_patience(std::move(provider), dependencies);
}

agent::Result<std::unique_ptr<agent::Provider>> make_chain(std::span<const Choice> chain,
                                                           const agent::FallbackSpec& fallback,
                                                           const agent::RetryPolicy& policy,
                                                           const Dependencies& dependencies) {
  std::vector<FallbackProvider::Member> members;
  for (const Choice& choice : chain) {
    TRY_ASSIGN(auto provider, make_member(choice, policy, dependencies));
    members.push_back({.name = choice.resolved.name(),
                       .provider = std::move(provider),
                       .memory = state_of(choice.resolved, dependencies).failures});
  }
  if (members.size() == 1) {
    return with_patience(std::move(members.front().provider), dependencies);
  }
  return with_patience(
      std::make_unique<FallbackProvider>(
          std::move(members),
          FallbackProvider::Policy{.cooldown = fallback.cooldown, .on = fallback.on},
          dependencies.clock),
      dependencies);
}

}  // namespace providers

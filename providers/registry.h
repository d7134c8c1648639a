// Which provider a model name means: the table of protocols, and the way from an agent file's
// `model` to a Provider.
#pragma once
#include "agent/clock.h"
#include "agent/environment.h"
#include "agent/http.h"
#include "agent/price.h"
#include "agent/provider.h"
#include "agent/replay_script.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "providers/key_hosts.h"
#include "providers/presets.h"
#include "providers/resilience/model_states.h"
#include "providers/resilience/stoppable_provider.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace providers {

class Wire;

// The provider, and the protocol, of a script that is played: it asks no server.
constexpr std::string_view k_replay = "replay";

// The protocols that `model.protocol` may name.
std::vector<std::string> protocol_names();
// The variables in which model providers expect a key, of presets and others, and those that the
// agent file names (empty ones are none): no child process may inherit them.
std::vector<std::string> key_variables(const std::vector<std::string>& of_agent);

// Who will be asked, and how.
struct Resolved {
  std::string provider;  // a preset's name, or a label
  std::string model;     // as the server names it; the script's path for `replay`
  std::string protocol;
  std::string base_url;     // without a trailing slash
  std::string api_key_env;  // where api_key comes from; empty: no key is sent
  std::string api_key;
  std::optional<agent::AwsSigner> signer;  // in place of api_key
  bool is_custom = false;      // the agent file names protocol and server: `provider` is a label
  bool picked = false;         // the name was `auto`
  std::string picked_because;  // "ANTHROPIC_API_KEY is set"

  std::string name() const { return provider + "/" + model; }
};

// `may_send` is asked for each value of the environment that goes to the server. Errors: those of
// `may_send`; config.invalid (unknown provider or protocol, bad URL, contradiction), provider.auth
// (the key's variable is unset or empty; `auto` found no key). No network, no file.
agent::Result<Resolved> resolve(const agent::ModelSpec& spec,
                                const agent::Environment& environment,
                                const KeyCheck& may_send);
// Where the user has said nothing about it.
agent::Result<Resolved> resolve(const agent::ModelSpec& spec,
                                const agent::Environment& environment);

// The wire protocol of `resolved`, which is over HTTP, with the settings of `spec`.
std::unique_ptr<Wire> make_wire(const Resolved& resolved, const agent::ModelSpec& spec);

// Whether nobody is paid by the token: a local server, or a script that is played.
bool is_free(const Resolved& resolved);

// A warning's sentence, where the provider wants a key and `base_url` keeps it from being sent;
// empty: nothing is to be said. And how to send one.
struct KeylessModel {
  std::string message;
  std::string help;
};
std::optional<KeylessModel> sends_no_key(const Resolved& resolved, const agent::ModelSpec& spec);

// A model that is asked.
struct Choice {
  Resolved resolved;
  agent::ModelSpec spec;
  agent::Tariff tariff = {};  // what it costs; empty: unknown
};

// What a provider is built with. All borrowed; outlives it.
struct Dependencies {
  agent::Http& http;
  agent::Clock& clock;
  ModelStates& models;
  std::uint64_t seed = 0;  // of the waits between two attempts
  std::function<agent::Result<agent::ReplayScript>(const std::string& path)> load_script = nullptr;
  Killed killed = nullptr;  // asked before each request, tries again included
  // Whether a request waits while every model that it could go to is known to be down.
  bool is_patient = false;
};

// A circuit breaker over a price over retry over the rate gate over the protocol; over all of it,
// patience, where it is asked for. Errors: those of load_script; config.invalid.
agent::Result<std::unique_ptr<agent::Provider>> make(const Choice& choice,
                                                     const agent::RetryPolicy& policy,
                                                     const Dependencies& dependencies);

// Each of them as `make` makes it, the fallback over all, and over that one patience. `chain` has
// at least one; the models in `fallback` are not looked at.
agent::Result<std::unique_ptr<agent::Provider>> make_chain(std::span<const Choice> chain,
                                                           const agent::FallbackSpec& fallback,
                                                           const agent::RetryPolicy& policy,
                                                           const Dependencies& dependencies);

}  // namespace providers

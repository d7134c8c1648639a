// Whose key goes where, as the user has said it: in the settings, with --key-host, in
// ERRAND_KEY_HOSTS. And the question, where nobody has.
#pragma once
#include "agent/cancellation.h"
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/settings.h"
#include "providers/key_hosts.h"
#include "providers/registry.h"

#include <filesystem>
#include <vector>

namespace cli {

// By option and variable. cli.usage.
agent::Result<providers::KeyHosts> key_hosts_of(const Parsed& parsed,
                                                const agent::Environment& environment);
// By the settings. config.invalid.
agent::Result<void> allow_settings(const UserSettings& settings, providers::KeyHosts& hosts);

// Gathers what is not allowed, each once, in the order of the questions.
class KeyRequests {
 public:
  // `agent` is the one whose requests these are, as it will run.
  KeyRequests(providers::KeyHosts hosts, const agent::AgentSpec& agent);

  // For providers::resolve: says yes to everything and remembers what is to be settled. Borrows
  // this object.
  providers::KeyCheck check();
  // What the agent's texts hold, for the server of this model.
  void add_texts(const agent::AgentSpec& agent, const providers::Resolved& model);

  // What its programs are given beside what all have, for every server that they can reach; and
  // what its texts hold, for every server that any of them can, or web_fetch.
  void add_programs(const agent::AgentSpec& agent, const agent::Environment& environment);

  std::vector<providers::KeyRequest> take() { return std::move(requests_); }

 private:
  void add(const providers::KeyRequest& request);

  providers::KeyHosts hosts_;
  std::vector<providers::KeyRequest> requests_;
};

// An address can have a secret in it: what is said of it goes through the redactor.
std::vector<agent::Error> refusals(const std::vector<providers::KeyRequest>& requests,
                                   const agent::Redactor& redactor);

struct KeySettler {
  const agent::Redactor& redactor;
  const agent::Cancellation& cancellation;
  std::filesystem::path user_config;  // where `always` is written; empty: nowhere
  bool color = false;
};
// Asks for each of them where a person is at the terminal. What stays refused: config.invalid.
std::vector<agent::Error> settle(const std::vector<providers::KeyRequest>& requests,
                                 const KeySettler& settler);

}  // namespace cli

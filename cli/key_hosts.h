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
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cli {

// By option and variable. cli.usage.
agent::Result<providers::KeyHosts> key_hosts_of(const Parsed& parsed,
                                                const agent::Environment& environment);
// By the settings. config.invalid.
agent::Result<void> allow_settings(const UserSettings& settings, providers::KeyHosts& hosts);

// The agents that are at work in one run, and its flows: what one of them is told comes to all, in
// a task, an answer, a conversation that is handed over, a file of the work.
class Company {
 public:
  static Company of(std::span<const agent::AgentSpec* const> agents);
  void add(const agent::AgentSpec& agent);   // or a flow, with its commands
  void hear(const agent::AgentSpec& agent);  // that is not at work: what was said there before

  bool has_network() const { return has_network_; }  // a program, which could also listen here
  bool fetches_pages() const { return fetches_pages_; }
  // What their texts hold: each variable once.
  std::span<const agent::EnvironmentUse> texts() const { return texts_; }

 private:
  bool has_network_ = false;
  bool fetches_pages_ = false;
  std::vector<agent::EnvironmentUse> texts_;
  std::set<std::string, std::less<>> names_;  // of these
};

// Gathers what is not allowed, each once, in the order of the questions.
class KeyRequests {
 public:
  // `agent` is the one whose requests these are, as it will run. Borrowed.
  KeyRequests(providers::KeyHosts hosts, const agent::AgentSpec& agent, Company company);
  // Of one that works alone.
  KeyRequests(providers::KeyHosts hosts, const agent::AgentSpec& agent);

  // For providers::resolve: says yes to everything and remembers what is to be settled. Borrows
  // this object.
  providers::KeyCheck check();
  // What the texts hold, for the server of this model.
  void add_texts(const providers::Resolved& model);

  // What its programs are given beside what all have, for every server that they can reach; and
  // what the texts hold, for every server that any of them can, or web_fetch.
  void add_programs(const agent::Environment& environment);

  // What requests to its MCP servers carry; and what the texts hold, which those come to hear.
  void add_servers();

  std::vector<providers::KeyRequest> take() { return std::move(requests_); }
  // What the user has allowed, for what only a run comes to know.
  const providers::KeyHosts& hosts() const { return hosts_; }

 private:
  void add(const providers::KeyRequest& request);

  providers::KeyHosts hosts_;
  std::vector<providers::KeyRequest> requests_;
  const agent::AgentSpec& agent_;
  Company company_;
};

// One of the agents of a run, as it will run, or a flow. Borrowed.
struct Asker {
  const agent::AgentSpec* agent = nullptr;
  std::vector<agent::ModelSpec> models = {};  // that are asked
};

// What a run of all of these would send without anybody's word: `company` is theirs.
std::vector<providers::KeyRequest> key_requests_of(std::span<const Asker> all,
                                                   const Company& company,
                                                   const providers::KeyHosts& hosts,
                                                   const agent::Environment& environment);

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

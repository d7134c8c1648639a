// What the rest of the program has names for, as far as a file may name it.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"
#include "config/named_files.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Names that exist elsewhere in the program, for checks and suggestions. An empty list switches
// its check off.
struct KnownNames {
  std::vector<std::string> tools;               // built-in tools
  std::vector<std::string> program_tools;       // those of them that run programs
  std::vector<std::string> web_tools;           // those of them that fetch from outside
  std::vector<std::string> protocols;           // wire protocols
  std::vector<std::string> key_variables = {};  // variables that hold a model's key
  // Why a text is no host, or pattern of hosts; nullopt: it is one.
  std::function<std::optional<agent::Error>(const std::string& host)> host_error = {};
  // Why a text is no rule of `permissions` for an agent with these tools (empty: any agent's).
  std::function<std::optional<agent::Error>(std::string_view rule,
                                            std::span<const std::string> tools)>
      rule_error = {};
  // What calls a hook of the agent misses that it should be told of; nullopt: none.
  std::function<std::optional<agent::Error>(const agent::HooksSpec& hooks,
                                            const agent::HookSpec& hook,
                                            std::span<const agent::ToolSpec> tools)>
      hook_warning = {};
  // What a model may read of the files that the agent names, by its `directory`, `sandbox` and
  // `permissions`.
  std::function<ReadingPolicy(const agent::AgentSpec& agent)> reading_policy = {};
  // The agent is out of a log: of the files that it names, none is looked at, and the schema is
  // this one (JSON text; empty: there is none).
  std::optional<std::string> recorded_schema = {};
};

}  // namespace config

// Agent files: YAML, or Markdown with YAML front matter, in; a checked agent::AgentSpec out, or
// every mistake with its place. Nothing here runs an agent, and no network is touched.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/spec.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Names that exist elsewhere in the program, for checks and suggestions. An empty list switches
// its check off.
struct Known {
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
};

struct Report {
  std::optional<agent::AgentSpec> agent;  // set exactly when `errors` is empty
  std::vector<agent::Error> errors;       // config.invalid or registry.duplicate, in file order
  std::vector<agent::Error> warnings;     // the same form; they stop nothing
};

// Files over 1 MiB, and whatever is no regular file, are refused unread. A file whose name ends in
// ".md" is read as Markdown. Never throws.
Report load_agent(const std::filesystem::path& file,
                  const agent::Environment& environment,
                  const Known& known);

// The same for a text in memory. `shown_file` stands in the messages and in AgentSpec::file;
// `directory` is where relative paths start.
Report parse_agent(std::string_view text,
                   const std::string& shown_file,
                   const std::filesystem::path& directory,
                   bool markdown,
                   const agent::Environment& environment,
                   const Known& known);

}  // namespace config

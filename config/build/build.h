// A checked tree into an agent::AgentSpec, and the checks that need more than one key.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"
#include "config/keys.h"
#include "config/known_names.h"
#include "config/named_files.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Values that check() refused are skipped; the spec counts only where `problems` stays empty.
agent::AgentSpec build_agent(const Value& root,
                             const std::filesystem::path& directory,
                             const KnownNames& known,
                             const agent::Environment& environment,
                             Problems& problems);
// `model`, and what has its keys.
agent::ModelSpec build_model(const Value& value, const KnownNames& known, Problems& problems);
// `output`: the schema, read and compiled.
// `output.repair_attempts`.
int repair_attempts(const Value& map);
agent::OutputSpec build_output(const Value& map, const NamedFiles& files, Problems& problems);
agent::SandboxSpec build_sandbox(const Value& value, const KnownNames& known, Problems& problems);
// `allow_hosts` of the map, each of that shape.
std::vector<std::string> build_hosts(const Value& map,
                                     Shape shape,
                                     const KnownNames& known,
                                     Problems& problems);
// What tools are built from, beside their own keys.
struct ToolWorld {
  const std::filesystem::path& directory;
  const KnownNames& known;
  const agent::Environment& environment;
  std::vector<std::string> key_variables;  // KnownNames::key_variables and the agent's own
};
std::vector<agent::ToolSpec> build_tools(const Value& list,
                                         const ToolWorld& world,
                                         Problems& problems);
// `sandbox` of a hook or a guardrail.
agent::CommandSandbox build_command_sandbox(const Value& item);
// `mcp_servers`.
// Of requests to a model or a server.
void check_headers(const Value& headers, Problems& problems);
std::vector<agent::McpServerSpec> build_mcp_servers(const Value& map,
                                                    const ToolWorld& world,
                                                    Problems& problems);
// `checks` and `attempts` of the file.
agent::ChecksSpec build_checks(const Value& root, Problems& problems);
// `env` of a tool, a hook or a guardrail, `who` in messages. A variable that is not set is a
// mistake, a model's key a warning.
agent::Environment build_tool_env(const Value& env,
                                  std::string_view who,
                                  const ToolWorld& world,
                                  Problems& problems);
// The variables that an item of a list in `env` names: NAME, or all that begin as `GH_*` says but
// models' keys.
std::vector<std::string> handed_on(std::string_view name, const ToolWorld& world);

// The variables whose values stand in the texts of a value, as expansion has put them there; of
// each the first place.
std::vector<agent::EnvironmentUse> build_uses(const Value& value, const Problems& problems);
// Those of the whole file that a model can come to see, but for what is sent beside a request's
// body: `base_url` and `headers`.
std::vector<agent::EnvironmentUse> build_text_uses(const Value& root,
                                                   const ToolWorld& world,
                                                   const Problems& problems);

// Those that the programs of a tool, a hook or a guardrail are given: in `command` and `env`.
std::vector<agent::EnvironmentUse> build_program_uses(const Value& item,
                                                      const ToolWorld& world,
                                                      const Problems& problems);

// `steps`, in the order that they or `flow` say, and what goes with them. Empty: there are none.
std::vector<agent::StepSpec> build_steps(const Value& root, Problems& problems);

// `sub_agents`. What stands in the agent file itself is an agent without `source` and `file`.
std::vector<agent::SubAgentSpec> build_sub_agents(const Value& root,
                                                  const ToolWorld& world,
                                                  Problems& problems);
// `handoffs`.
std::vector<agent::HandoffSpec> build_handoffs(const Value& root, Problems& problems);
// Sub-agents that stand in the file itself, each as the tree of a file of its own.
void for_each_written_out(const Value& root,
                          const std::function<void(const std::string& name, const Value&)>& visit);

// Templates of `instructions` and `prompt`, on the tree before expansion: undefined names are
// errors, parameters that no template names are warnings.
void check_templates(const Value& root, Problems& problems);

// Compiles a JSON Schema; a mistake is placed at the value that it is about.
void check_schema(const Value& schema, const agent::Json& json, Problems& problems);

// Whether `text` is a value for a parameter of this type (ParameterSpec::type).
bool is_value_of_type(std::string_view text, std::string_view type);

}  // namespace config

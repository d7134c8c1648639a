// A checked tree into an agent::AgentSpec, and the checks that need more than one key.
#pragma once
#include "agent/spec.h"
#include "config/load.h"
#include "config/problems.h"
#include "config/tree.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace config {

// Values that check() refused are skipped; the spec counts only where `problems` stays empty.
agent::AgentSpec build_agent(const Value& root,
                             const std::filesystem::path& directory,
                             const Known& known,
                             Problems& problems);
// `model`, and what has its keys.
agent::ModelSpec build_model(const Value& value, const Known& known, Problems& problems);
// `output`: the schema, read and compiled.
agent::OutputSpec build_output(const Value& map,
                               const std::filesystem::path& directory,
                               Problems& problems);
std::vector<agent::ToolSpec> build_tools(const Value& list,
                                         const std::filesystem::path& directory,
                                         const Known& known,
                                         Problems& problems);

// Templates of `instructions` and `prompt`, on the tree before expansion: undefined names are
// errors, parameters that no template names are warnings.
void check_templates(const Value& root, Problems& problems);

// Compiles a JSON Schema; a mistake is placed at the value that it is about.
void check_schema(const Value& schema, const agent::Json& json, Problems& problems);

// Whether `text` is a value for a parameter of this type (ParameterSpec::type).
bool is_value_of_type(std::string_view text, std::string_view type);

}  // namespace config

// What happens to a call before it may run: its name repaired, its arguments parsed and checked.
#pragma once
#include "agent/json.h"
#include "agent/result.h"
#include "agent/schema/json_schema.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tools {

// The tool that is meant, if that is beyond doubt: the only one whose name has the same words, but
// for case, -/_ and `functions.` or the like in front ("functions.ReadFile"). A letter may make it
// another one (`unlock`).
std::optional<std::string> repair_name(std::string_view name, std::span<const std::string> names);

// The name behind what models put in front of any tool's (`functions.`). Another namespace may be
// that of a server, whose tool is another one.
std::string_view without_namespace(std::string_view name);

// An object. tool.invalid_parameters where the text is empty (the call was cut off), no JSON, or
// something else than an object.
agent::Result<agent::Json> parse_arguments(std::string_view text);

// tool.type_mismatch where nothing but types are wrong, else tool.invalid_parameters; the message
// names the places.
agent::Result<void> check_arguments(const agent::JsonSchema& schema, const agent::Json& arguments);

}  // namespace tools

// What a call comes to beside what the rules say of it: a run and `errand policy check` ask this
// one place.
#pragma once
#include "agent/json.h"
#include "agent/result.h"
#include "agent/schema/json_schema.h"
#include "tools/tool.h"

namespace tools {

// Whether the tool takes the arguments. tool.type_mismatch, tool.invalid_parameters.
agent::Result<void> check_fit(const Tool& tool,
                              const agent::JsonSchema& schema,
                              const agent::Json& arguments);

// What would stop the call though it is permitted, as far as that is sure before it runs:
// Tool::check, and of a command line the files that it reads or writes itself (`> FILE`).
agent::Result<void> check_possible(const Tool& tool,
                                   const agent::Json& arguments,
                                   const CallContext& context);

}  // namespace tools

// The JSON Schemas of what a run prints: the result object and the events. Fields may be added
// within a major version, so unknown ones are allowed.
#pragma once
#include "agent/json.h"

namespace cli {

agent::Json result_schema();
agent::Json events_schema();

}  // namespace cli

// What decides the steps of a run beside what happens in it. It is in the run's first event, so
// that the log alone says what comes next.
#pragma once
#include "agent/price.h"
#include "agent/spec.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace agent {

struct RunPlan {
  Limits limits;
  std::set<std::string> repeatable_tools;
  std::map<std::string, Price> prices;  // by model, for estimates; unknown ones are left out
  std::int64_t tool_bytes = 0;  // of the tools' names, descriptions and schemas, for estimates
  std::string tool_choice;      // as ModelSpec::tool_choice
  std::string output_schema;    // as OutputSpec::schema

  static void fields(auto& self, auto& field) {
    field("limits", self.limits);
    field("repeatable_tools", self.repeatable_tools);
    field("prices", self.prices);
    field("tool_bytes", self.tool_bytes);
    field("tool_choice", self.tool_choice);
    field("output_schema", self.output_schema);
  }
};

}  // namespace agent

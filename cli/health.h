// What of errand's own is as it should be on this machine: keys, settings, journal, prices, and on
// request the providers.
#pragma once
#include "agent/error.h"
#include "agent/json.h"
#include "cli/commands/commands.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cli {

struct Health {
  agent::Json report = agent::Json::object();  // by subject; no value of a key is in it
  struct Line {
    std::string subject;
    std::string says;
  };
  std::vector<Line> lines;           // the same for people
  std::vector<agent::Error> errors;  // what would end a run, in the order of the subjects
};

// Nothing is sent, and nothing is made that is not there.
Health look_at_health(const Context& context);

// Asks each provider whose key is set, and those of the folder's agents, for its models: half a
// minute for each at most. What ends a run of such an agent before it is sent anywhere is an error
// of `health`. os.failed where signals cannot be watched; cli.usage and config.invalid for what the
// user says of where keys go.
agent::Result<void> ask_providers(const Parsed& parsed, Context& context, Health& health);

}  // namespace cli

// `errand schema`: what the agent file, the result and the events look like, for other programs.
#include "cli/commands/commands.h"
#include "cli/manual/schema_events.h"
#include "config/keys.h"

#include <nlohmann/json.hpp>

namespace cli {

agent::Result<int> command_schema(const Parsed& parsed, Context& context) {
  const std::string& name = parsed.positionals.front();
  const agent::Json schema = name == "agent"    ? config::agent_schema()
                             : name == "result" ? result_schema()
                                                : events_schema();
  context.out << schema.dump(2) << "\n";
  return 0;
}

}  // namespace cli

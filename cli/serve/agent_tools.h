// Agents as tools: a call is a run, from the same plan and by the same code as `errand run`.
#pragma once
#include "agent/http.h"
#include "agent/result.h"
#include "agent/schema/json_schema.h"
#include "agent/secrets/redact.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/outside_input.h"
#include "cli/plan.h"
#include "cli/serve/serve_log.h"
#include "cli/serve/served_tool.h"
#include "config/named_files.h"
#include "providers/resilience/model_states.h"
#include "tools/process/supervisor.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// What a client sees of an agent. `given`: parameters that the command line has set, and that no
// client can.
ServedTool tool_of(const agent::AgentSpec& agent, const std::map<std::string, std::string>& given);

// What it reads of how a run ended.
ServedResult result_of(const agent::RunResult& result,
                       const agent::Redactor& redactor,
                       bool is_structured);

class AgentTools final : public ServedTools {
 public:
  // What is there before and outlives it. Borrowed.
  struct World {
    const Parsed& parsed;
    const Context& context;
    tools::Supervisor& supervisor;
    const agent::Redactor& redactor;
    agent::Http& http;
    providers::ModelStates& models;
    ServeLog& log;
    Obeyed obeyed = {};  // what all that is served obeys
  };

  // The plans have no texts yet. cli.usage for parameters that no agent has, for two agents of one
  // name, and for one that nobody could tell what to do.
  static agent::Result<std::unique_ptr<AgentTools>> create(World world, std::vector<Plan> plans);

  std::span<const ServedTool> tools() const override { return tools_; }
  ServedResult call(std::string_view tool,
                    const agent::Json& arguments,
                    agent::Cancellation& cancellation,
                    const ServedProgress& progress) override;

  // After the last call: what `session.keep` says. Returns what is to be warned of.
  std::vector<agent::Error> remove_old_runs() const;

 private:
  struct Served {
    Plan plan;
    std::map<std::string, std::string> given;
    agent::JsonSchema input;
    config::ReadingPolicy reading;
    bool is_structured = false;
  };

  explicit AgentTools(World world) : world_(std::move(world)) {}

  agent::Result<void> add(Plan plan, const std::map<std::string, std::string>& parameters);
  agent::Result<agent::RunResult> perform(const Served& served,
                                          const agent::Json& arguments,
                                          agent::Cancellation& cancellation,
                                          const ServedProgress& progress) const;

  World world_;
  std::vector<ServedTool> tools_;
  std::vector<Served> served_;  // in the same order
};

}  // namespace cli

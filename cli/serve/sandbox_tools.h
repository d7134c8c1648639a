// The tools of an agent itself, without its model: in its sandbox, under its permissions.
#pragma once
#include "agent/http.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/serve/serve_log.h"
#include "cli/serve/served_tool.h"
#include "cli/tool_environment.h"
#include "tools/permissions/permissions.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cli {

class SandboxTools final : public ServedTools {
 public:
  // What is there before and outlives it. Borrowed.
  struct World {
    const Parsed& parsed;
    const Context& context;
    tools::Supervisor& supervisor;
    agent::Redactor& redactor;  // learns of the secrets of the agent
    agent::Http& http;
    ServeLog& log;
    std::vector<std::filesystem::path> obeyed;  // what else tools may not change: absolute
  };

  // config.invalid where the agent has hooks or guardrails, for they are about runs; its kill
  // switch holds. And what keeps tools of a run from being opened.
  static agent::Result<std::unique_ptr<SandboxTools>> open(World world, agent::AgentSpec agent);

  std::span<const ServedTool> tools() const override { return tools_; }
  // One after the other, in no order: they take turns.
  ServedResult call(std::string_view tool,
                    const agent::Json& arguments,
                    agent::Cancellation& cancellation,
                    const ServedProgress& progress) override;

  // After the last call, once. sandbox.violation where something is left that git or errand obey.
  agent::Result<void> tidy_up();

 private:
  SandboxTools(World world, agent::AgentSpec agent)
      : world_(std::move(world)), agent_(std::move(agent)) {}

  agent::Result<void> check_keys(const Settings& settings);
  agent::Result<void> open_tools();

  World world_;
  agent::AgentSpec agent_;
  std::unique_ptr<ToolEnvironment> tool_environment_;
  std::optional<tools::Permissions> permissions_;
  std::filesystem::path kill_file_;  // empty: it has none
  std::vector<ServedTool> tools_;
  std::mutex mutex_;  // of the next two
  std::unique_ptr<tools::Runner> runner_;
  std::int64_t calls_ = 0;
};

}  // namespace cli

// What a person sees while the MCP servers of a run start.
#pragma once
#include "cli/terminal/progress.h"
#include "tools/mcp/servers.h"

#include <string>
#include <vector>

namespace cli {

class StartProgress {
 public:
  // Servers by their names in the agent file. `progress` is borrowed; null: nobody looks.
  StartProgress(std::vector<std::string> servers, Progress* progress);
  ~StartProgress();
  StartProgress(const StartProgress&) = delete;
  StartProgress& operator=(const StartProgress&) = delete;

  // Of one at a time.
  void on_started(const tools::mcp::StartedServer& server);

 private:
  void show();

  std::vector<std::string> waiting_;
  Progress* progress_;
};

}  // namespace cli

// The MCP servers of one run: all are started at once, and their tools are the agent's.
#pragma once
#include "agent/clock.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/runner/runner.h"

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace tools::mcp {

// What the program of a server is run with.
struct ServerPlace {
  ProgramRunner* runner = nullptr;  // borrowed
  agent::Environment environment;
  std::filesystem::path folder;
};

struct ServersOptions {
  std::function<ServerPlace(const agent::McpServerSpec&)> place_of;
  agent::Clock* clock = nullptr;  // borrowed, required
  agent::RetryPolicy retry;       // of the start of one that has died
  std::string version;            // errand's, which servers are told
  std::uint64_t seed = 0;
};

// What is known of a server once it has answered.
struct ConnectedServer {
  std::string name;                 // in the agent file
  std::string revision;             // "2025-11-25"
  std::string server;               // as it calls itself; may be empty
  std::vector<std::string> tools;   // their names at the agent
  std::vector<std::string> hidden;  // in the server's words: those that are not offered
};

class Server;

class Servers {
 public:
  // Waits until each has answered or is late. Errors are those of the first required one, in the
  // order of the file: mcp.connection, mcp.initialization, mcp.transport, run.cancelled.
  static agent::Result<std::unique_ptr<Servers>> start(std::span<const agent::McpServerSpec> specs,
                                                       ServersOptions options,
                                                       std::stop_token stop);
  // Asks all to end, and waits.
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // As the end of this object does, without waiting.
  void close();

  // For a Runner, which must not outlive this.
  std::vector<ConfiguredTool> tools() const;
  std::vector<ConnectedServer> connected() const;
  const std::vector<agent::Warning>& warnings() const { return warnings_; }

 private:
  explicit Servers(ServersOptions options);
  void name_tools();

  ServersOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;  // those that answered
  std::vector<agent::Warning> warnings_;
};

}  // namespace tools::mcp

// One server of a run, from its first start to its end: started again where it has died.
#pragma once
#include "agent/clock.h"
#include "agent/retry.h"
#include "agent/spec.h"
#include "tools/mcp/servers.h"
#include "tools/mcp/session.h"

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace tools::mcp {

// A tool as its server describes it.
struct OfferedTool {
  std::string name;        // the server's
  std::string agent_name;  // mcp__SERVER__TOOL
  std::string description;
  std::string parameters;  // JSON Schema, as JSON text
  std::string definition;  // all of it, in one text for all ways to write it
};

class Server {
 public:
  Server(agent::McpServerSpec spec, const ServersOptions& options);

  // Starts it and asks for its tools. Errors as for Servers::start.
  agent::Result<void> start(std::stop_token stop);
  // Of a server that was started; starts it again where it has died. Thread-safe.
  Output call(const OfferedTool& tool, const agent::Json& arguments, const CallContext& context);
  void close();

  const agent::McpServerSpec& spec() const { return spec_; }
  const Agreement& agreement() const { return session_->agreement(); }
  std::vector<OfferedTool>& tools() { return tools_; }
  const std::vector<std::string>& hidden() const { return hidden_; }
  const std::vector<std::string>& unusable() const { return unusable_; }

 private:
  agent::Result<std::shared_ptr<Session>> connect(const std::stop_token& stop) const;
  agent::Result<std::shared_ptr<Session>> living_session(std::stop_token stop);
  agent::Result<std::shared_ptr<Session>> start_again(std::stop_token stop);
  void note_unchecked(const std::string& name, const std::string& parameters);
  agent::Result<void> read_tools(const std::vector<agent::Json>& items);

  agent::McpServerSpec spec_;
  const ServersOptions& options_;
  std::vector<OfferedTool> tools_;     // those that are offered
  std::vector<std::string> hidden_;    // by `tools`
  std::vector<std::string> unusable_;  // in sentences
  std::mutex mutex_;                   // of the next three
  std::shared_ptr<Session> session_;
  std::map<std::string, std::string> definitions_;  // of the server that is running, by name
  std::mt19937_64 rng_;
};

}  // namespace tools::mcp

// The MCP servers of one run: all are started at once, and their tools are the agent's.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/http.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/mcp/authorizer.h"
#include "tools/mcp/elicitation.h"
#include "tools/mcp/prompt.h"
#include "tools/mcp/tool_index.h"
#include "tools/mcp/tool_lock.h"
#include "tools/mcp/trace_context.h"
#include "tools/runner/runner.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools::mcp {

// What the program of a server is run with.
struct ServerPlace {
  ProgramRunner* runner = nullptr;  // borrowed
  agent::Environment environment;
  std::filesystem::path folder;
  // Of what it runs by what its line says, the first that is no longer what it was when the run
  // began; empty: all is, or nobody has to know. Null: likewise.
  std::function<std::filesystem::path()> changed = nullptr;
};

// How the start of one went.
struct StartedServer {
  std::string name;  // in the agent file
  bool is_ready = false;
  std::string revision;   // what follows: where it is ready
  std::size_t tools = 0;  // that it offers
  agent::Milliseconds took{0};
};

struct ServersOptions {
  std::function<ServerPlace(const agent::McpServerSpec&)> place_of;
  agent::Clock* clock = nullptr;  // borrowed, required
  agent::Http* http = nullptr;    // borrowed, required
  // Of a server that is reached by HTTP; null: its own headers are all that there is. May be empty.
  std::function<std::unique_ptr<Authorizer>(const agent::McpServerSpec&)> authorizer_of = {};
  agent::RetryPolicy retry;  // of the start of one that has died
  std::string version;       // errand's, which servers are told
  std::uint64_t seed = 0;
  const agent::Redactor* redactor = nullptr;  // borrowed, required
  TraceContext trace = {};  // of requests in revisions that have it; without an id: of none
  Questioner* questioner = nullptr;  // borrowed; null: nobody is there whom servers could ask
  // Why nothing may be asked of them any more; nullopt: it may. Empty: always.
  std::function<std::optional<agent::Error>()> killed = {};
  // Told of each when it is ready, or has failed; of one at a time, on threads of their own.
  std::function<void(const StartedServer& server)> on_started = {};
};

// What decides which servers' tools are found, instead of being seen.
struct SearchOptions {
  std::int64_t window = 0;  // of the model, in tokens; 0: nobody knows it
  bool may_search = true;   // find_tools runs without being asked for: else `automatic` is `all`
  std::function<bool(std::string_view tool)> is_denied;  // whatever its arguments are
};

struct ConnectedServer {
  agent::McpConnection connection;
  std::vector<std::string> hidden;  // tools that are not offered, in the server's words
};

// A prompt of a server that the user has chosen.
struct ChosenPrompt {
  std::string server;  // in the agent file
  std::string name;    // the server's
  std::map<std::string, std::string> arguments;
};

// One of the things that are looked at by `errand mcp test`.
struct ServerCheck {
  std::string name;
  std::string found;                  // what was seen, on a line; may be empty
  std::optional<agent::Error> error;  // it is not as it has to be
};

// Of warnings about a server that is gone without.
constexpr const char* k_of_missing_server = "mcp_server";

struct CheckedServer {
  std::string name;
  std::vector<ServerCheck> checks;
};

// What a server has beside tools.
struct OtherOffers {
  std::string server;
  std::vector<std::string> resources;  // URIs, where the agent can read them
  std::vector<std::string> templates;  // patterns of URIs, likewise
  std::vector<Prompt> prompts;
  std::vector<agent::Error> errors;  // of what it announces, and does not list
};

class Server;
struct OfferedTool;
struct ToolChanges;

class Servers {
 public:
  // Waits until each has answered or is late. Errors are those of the first required one, in the
  // order of the file: mcp.connection, mcp.initialization, mcp.transport; run.cancelled, which
  // names those that had not answered before `stop`.
  static agent::Result<std::unique_ptr<Servers>> start(std::span<const agent::McpServerSpec> specs,
                                                       ServersOptions options,
                                                       std::stop_token stop);
  // Asks all to end, and waits.
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // As the end of this object does, without waiting.
  void close();

  // Ends those in the sandbox, for what they write after the last call is to be seen, too. What a
  // person has to know of all of them.
  std::vector<agent::Leftover> tidy_up();

  // Once, before tools(): without it, no server is searched.
  void choose_searched(const SearchOptions& options);

  // For a Runner, which must not outlive this. With find_tools, where a server is searched, and
  // mcp_resources, where one has any. Those that are `added` already are not among those that the
  // model sees from the start.
  std::vector<ConfiguredTool> tools(const std::set<std::string, std::less<>>& added = {}) const;
  // As RunnerOptions::list_anew: those of servers that have said that their tools are others. All
  // of them are asked at once; what they have offered before stays.
  ListedTools list_anew(const std::stop_token& stop);
  // From now on no tool is new that is not in it.
  void keep_to(const ToolLock& lock);
  std::vector<ConnectedServer> connected() const;
  // Whether each is as it has to be, as far as that is seen without a call; of those that did not
  // start, why.
  std::vector<CheckedServer> check(const std::stop_token& stop);
  // Ends them, and says how each did.
  std::vector<CheckedServer> end_all();
  // Asks each, in the order of connected(); for people.
  std::vector<OtherOffers> other_offers(const std::stop_token& stop) const;
  // What a conversation begins with. Errors: mcp.connection (the server is not there), cli.no_input
  // (it has no such prompt), cli.usage (the arguments are not its), mcp.other (the server says no,
  // or what it says is no conversation), mcp.transport, mcp.auth, run.cancelled.
  agent::Result<PromptOpening> use(const ChosenPrompt& chosen, const std::stop_token& stop) const;
  // Of rules that are about the tools of one server which is there, and fit none of them: a typing
  // error, whichever list they are in.
  std::vector<agent::Warning> idle_rules(std::span<const agent::PermissionRule> rules) const;
  // The other rules, and those of servers that are not there.
  std::vector<agent::PermissionRule> without_own(std::vector<agent::PermissionRule> rules) const;
  // Of all tools that work together, in which those of a server stand as what their names begin
  // with: in place of that, the tools of each that is there.
  std::vector<std::string> with_own_tools(std::vector<std::string> names) const;
  // Of all tools that servers have, by the names that rules are about, whether they are offered or
  // not; those of servers that did not start are not known.
  std::set<std::string> names_of_tools() const;
  // Those that the run goes without, by name, and why.
  std::vector<std::string> missing() const;
  const std::vector<CheckedServer>& not_started() const { return missing_; }
  // The tools that are offered, for a lock.
  ToolLock lock(const agent::Redactor& redactor) const;
  const std::vector<agent::Warning>& warnings() const { return warnings_; }

 private:
  explicit Servers(ServersOptions options);
  void start_all(std::span<agent::Result<void>> started, const std::stop_token& stop);
  agent::Result<void> leave_out_failed(std::span<agent::Result<void>> started);
  void name_tools();
  Server* server_of_rule(std::string_view tool) const;
  std::string name_for(const Server& server, const OfferedTool& tool) const;
  void take(Server& server, ToolChanges changes, ListedTools& listed);
  void index(const OfferedTool& tool);
  bool are_many() const;
  ConfiguredTool finder() const;
  std::vector<Server*> servers_with_resources() const;

  ServersOptions options_;
  Elicitor elicitor_;
  std::vector<std::unique_ptr<Server>> servers_;  // those that answered
  std::vector<agent::Warning> warnings_;
  std::vector<CheckedServer> missing_;           // those that did not answer
  std::vector<agent::Leftover> left_;            // by these
  std::map<std::string, int> uses_;              // of tools' plain names
  std::set<std::string, std::less<>> searched_;  // servers, by name
  std::int64_t room_ = 0;  // for tools of servers that say `auto`, in tokens; 0: nobody knows
  std::shared_ptr<ToolIndex> index_;                      // of their tools
  std::function<bool(std::string_view tool)> is_denied_;  // as SearchOptions'; empty: none is
};

}  // namespace tools::mcp

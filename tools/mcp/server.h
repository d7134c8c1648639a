// One server of a run, from its first start to its end: started again where it has died.
#pragma once
#include "agent/clock.h"
#include "agent/retry.h"
#include "agent/spec.h"
#include "tools/mcp/header_mirror.h"
#include "tools/mcp/servers.h"
#include "tools/mcp/session.h"
#include "tools/mcp/tool_lock.h"

#include <chrono>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools::mcp {

// A tool as its server describes it.
struct OfferedTool {
  std::string name;        // the server's
  std::string agent_name;  // mcp__SERVER__TOOL
  std::string description;
  std::string parameters;  // JSON Schema, as JSON text
  std::string definition;  // what the model is shown of it, in one text for all ways to write it
  std::vector<HeaderMirror> mirrors = {};
  std::string results = {};  // JSON Schema of structured content; empty: it promises none
  bool only_reads = false;   // it says so
};

// What has become of a server's tools since they were listed before.
struct ToolChanges {
  std::vector<OfferedTool*> added;     // behind the others; they have no agent_name yet
  std::vector<std::string> sentences;  // for people
};

// Of a word or pattern that is none of the names: "; did you mean `get_page`?" (all that are as
// near), or what there is, for the end of a sentence. `prefix`: what is written before each.
std::string meant_among(std::string_view word,
                        std::span<const std::string> names,
                        std::string_view prefix);

// What the model reads of a tool, and calls are checked by, out of an item of `tools/list`.
std::string definition_of(const agent::Json& item);

class Server {
 public:
  // Both borrowed.
  Server(agent::McpServerSpec spec, const ServersOptions& options, Elicitor& elicitor);

  // Starts it and asks for its tools. Errors as for Servers::start.
  agent::Result<void> start(const std::stop_token& stop);
  // Of a server that was started; starts it again where it has died. Thread-safe.
  Output call(const OfferedTool& tool, const agent::Json& arguments, const CallContext& context);
  // Between calls: asks for the tools where it has said that they are others, or was started again.
  // Where it does not answer in seconds, they stay as they are.
  ToolChanges list_anew(const std::stop_token& stop);
  // From now on no tool is taken that is not as it is there.
  void keep_to(LockedTools lock) { lock_ = std::move(lock); }
  bool has_news() const;  // for list_anew()
  // Likewise; errors as of Session::request. The items, at least `enough` where there are so many.
  agent::Result<ItemList> list(std::string_view method,
                               std::string_view member,
                               std::size_t enough,
                               const std::stop_token& stop);
  // The result of `resources/read`.
  agent::Result<agent::Json> read_resource(const std::string& uri,
                                           std::function<void(std::string_view)> on_progress,
                                           const std::stop_token& stop);
  // The result of `prompts/get`; likewise.
  agent::Result<agent::Json> get_prompt(const std::string& name,
                                        const std::map<std::string, std::string>& arguments,
                                        const std::stop_token& stop);
  // As Servers' check(). check_end() waits for its end.
  std::vector<ServerCheck> check(const std::stop_token& stop);
  ServerCheck check_end();
  void close();
  // Waits for its end.
  void end();
  // What a person has to know of: what it has left of what git and errand obey, where it has ended,
  // how often it asked in vain, and that its login is over. Each once.
  std::vector<agent::Leftover> take_leftovers();

  const agent::McpServerSpec& spec() const { return spec_; }
  const Agreement& agreement() const { return session_->agreement(); }
  std::deque<OfferedTool>& tools() { return tools_; }
  bool offers_resources() const { return spec_.offers_resources && agreement().has_resources; }
  const std::vector<std::string>& hidden() const { return hidden_; }
  // All names that were in a list, whether they are offered or not.
  const std::set<std::string>& known() const { return known_; }
  // In sentences: each once.
  std::vector<std::string> take_unusable() { return std::exchange(unusable_, {}); }

 private:
  struct Connected {
    std::shared_ptr<Session> session;
    std::vector<agent::Json> tools;
  };
  agent::Result<Connected> connect(agent::Milliseconds start, const std::stop_token& stop);
  // Which revision is spoken, and the tools.
  agent::Result<std::vector<agent::Json>> talk_first(Session& session, const std::stop_token& stop);
  // `may_be_again`: whether it is tried again after that error.
  agent::Result<Connected> connect_in_time(
      agent::Milliseconds most,
      const std::stop_token& stop,
      const std::function<bool(const agent::Error&)>& may_be_again);
  agent::Result<std::unique_ptr<Transport>> open(Transport::Listener&& listener) const;
  agent::Result<std::shared_ptr<Session>> living_session(agent::Milliseconds most,
                                                         const std::stop_token& stop);
  agent::Result<Connected> start_again(agent::Milliseconds most, const std::stop_token& stop);
  void take_changes(Session& session);
  void count_unasked(std::string_view why);  // a literal
  agent::Json elicit(const agent::Json& params, const std::stop_token& stop);
  agent::Result<agent::Json> answers_to(const agent::Json& result, const std::stop_token& stop);
  std::unexpected<agent::Error> unknown(std::string_view result_type) const;
  agent::Result<void> check_may_ask() const;
  agent::Result<agent::Json> ask(Session& session, Question question, const Waiting& waiting);
  using Asking =
      std::function<agent::Result<agent::Json>(Session& session, const Waiting& waiting)>;
  agent::Result<agent::Json> answered(const Asking& ask,
                                      std::function<void(std::string_view)> on_progress,
                                      const std::stop_token& stop);
  std::optional<agent::Error> refusal_of(const OfferedTool& tool);
  std::string shown_definition(agent::Json item) const;
  std::optional<std::string> change_of(const OfferedTool& tool) const;
  std::vector<std::string> changes();
  std::optional<agent::Milliseconds> delay_of(const Session& session,
                                              const agent::Error& error,
                                              int attempt,
                                              agent::Milliseconds waited);
  agent::Error without_time(agent::Error error) const;
  std::expected<std::vector<HeaderMirror>, std::string> mirrors_of(
      const std::string& parameters) const;
  ServerCheck check_life(Session& session, const Waiting& waiting) const;
  ServerCheck check_same_tools(Session& session, const Waiting& waiting) const;
  std::string results_of(const agent::Json& item, const std::string& name);
  void note_unchecked(const std::string& name, const std::string& parameters);
  void note_unusable(std::string sentence);
  agent::Result<std::optional<std::vector<agent::Json>>> new_list(const std::stop_token& stop);
  agent::Result<void> read_tools(const std::vector<agent::Json>& items,
                                 std::chrono::steady_clock::time_point ends,
                                 const std::stop_token& stop);
  void read_tool(const agent::Json& item, const std::string& name);
  bool is_locked_out(const agent::Json& item, const std::string& name) const;
  void note_idle_patterns();

  agent::McpServerSpec spec_;
  const ServersOptions& options_;
  Elicitor& elicitor_;
  std::mutex unasked_mutex_;
  std::map<std::string_view, int> unasked_;  // why the person was not asked: how often
  std::unique_ptr<Authorizer> authorizer_;   // sessions borrow it; null: none
  std::deque<OfferedTool> tools_;            // those that are or were offered; calls refer to them
  std::optional<LockedTools> lock_;          // for tools that come later
  std::set<std::string> known_;              // all names that were in a list
  std::vector<std::string> hidden_;          // by `tools`
  std::vector<std::string> unusable_;        // in sentences
  std::set<std::string> said_;               // of unusable_, and of tools that are others
  int failed_lists_ = 0;                     // between turns
  mutable std::mutex mutex_;                 // of the next five
  std::shared_ptr<Session> session_;
  std::map<std::string, std::string> definitions_;  // as they were listed last, by name
  std::optional<std::vector<agent::Json>> listed_;  // when it was started again; not read yet
  std::vector<agent::Leftover> left_;               // by those that have ended
  std::mt19937_64 rng_;
};

}  // namespace tools::mcp

// What `errand mcp test` looks at, without a call of a tool.
#include "agent/text.h"
#include "tools/mcp/server.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;

ServerCheck passed(std::string name, std::string found = {}) {
  return {.name = std::move(name), .found = std::move(found), .error = {}};
}

ServerCheck wrong(std::string name, Error error) {
  return {.name = std::move(name), .found = {}, .error = before_a_run(std::move(error))};
}

ServerCheck wrong(std::string name, std::string message) {
  return wrong(std::move(name),
               Error{.code = Code::mcp_other, .message = std::move(message), .help = {}});
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

ServerCheck check_list(Session& session,
                       const Waiting& waiting,
                       std::string_view method,
                       std::string_view member,
                       std::string_view what,
                       std::string_view key) {
  const auto list = session.list(method, member, waiting);
  const std::string name(method.substr(0, method.rfind('/')));
  if (!list) {
    return wrong(name, list.error());
  }
  const auto nameless = std::ranges::count_if(
      list->items, [&](const Json& item) { return agent::text_at(item, key).empty(); });
  return nameless == 0 ? passed(name, counted(list->items.size(), what))
                       : wrong(name,
                               fmt::format("{} of {} have no `{}`, and cannot be used",
                                           nameless,
                                           counted(list->items.size(), what),
                                           key));
}

}  // namespace

std::vector<ServerCheck> Server::check(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  Session& session = *session_;
  const Agreement& agreed = session.agreement();
  const Waiting waiting{.stop = stop, .most = spec_.call, .silence = spec_.silence};
  std::vector<ServerCheck> checks;
  checks.push_back(passed("start", agreed.server));
  checks.push_back(passed("revision", agreed.revision));
  checks.push_back(
      passed("tools",
             counted(tools_.size(), "tool") +
                 (hidden_.empty() ? "" : fmt::format(", {} left out", hidden_.size()))));
  for (const std::string& sentence : said_) {
    checks.push_back(wrong("tools",
                           {.code = Code::mcp_other,
                            .message = sentence,
                            .help = "mend it in the server, or in `tools` of the agent file: "
                                    "`!NAME` leaves a tool out"}));
  }
  checks.push_back(check_life(session, waiting));
  checks.push_back(check_same_tools(session, waiting));
  if (offers_resources()) {
    checks.push_back(
        check_list(session, waiting, "resources/list", "resources", "resource", "uri"));
    checks.push_back(check_list(session,
                                waiting,
                                "resources/templates/list",
                                "resourceTemplates",
                                "template",
                                "uriTemplate"));
  }
  if (agreed.has_prompts) {
    checks.push_back(check_list(session, waiting, "prompts/list", "prompts", "prompt", "name"));
  }
  const std::string rest = session.misunderstood();
  checks.push_back(rest.empty() ? passed("messages", "all were understood")
                                : wrong("messages", rest.substr(rest.find_first_not_of("; "))));
  return checks;
}

// The stateless revision has no sign of life of its own.
ServerCheck Server::check_life(Session& session, const Waiting& waiting) const {
  const bool is_stateless = session.agreement().is_stateless;
  const auto answer = session.request(
      {.method = is_stateless ? "server/discover" : "ping", .params = Json::object()}, waiting);
  const std::string name = is_stateless ? "discover" : "ping";
  return answer ? passed(name) : wrong(name, answer.error());
}

ServerCheck Server::check_same_tools(Session& session, const Waiting& waiting) const {
  if (definitions_.empty()) {
    return passed("list again");
  }
  const auto list = session.list("tools/list", "tools", waiting);
  if (!list) {
    return wrong("list again", list.error());
  }
  std::map<std::string, std::string> again;
  for (const Json& item : list->items) {
    again.try_emplace(std::string(agent::text_at(item, "name")), shown_definition(item));
  }
  for (const auto& [name, definition] : definitions_) {
    const auto now = again.find(name);
    if (now == again.end() || now->second != definition) {
      return wrong("list again",
                   fmt::format("the tool `{}` is {} when the list is asked for once more",
                               agent::one_line(name, 60),
                               now == again.end() ? "gone" : "another one"));
    }
  }
  return again.size() == definitions_.size()
             ? passed("list again")
             : wrong("list again", "there are more tools when the list is asked for once more");
}

// Of a program that is killed nobody knows what it has left undone.
ServerCheck Server::check_end() {
  end();
  const std::lock_guard lock(mutex_);
  const std::string how = session_->ended();
  if (how.contains("by signal 9")) {
    return wrong("end", "it does not end when its stdin is closed, nor by SIGTERM: it was killed");
  }
  return passed("end", how);
}

}  // namespace tools::mcp

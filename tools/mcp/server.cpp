#include "tools/mcp/server.h"

#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "tools/mcp/tool_result.h"
#include "tools/permissions/text_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;
using agent::Milliseconds;
using agent::Result;

constexpr std::size_t k_most_tools = 10'000;
constexpr std::size_t k_most_description = 8'000;  // bytes
constexpr std::size_t k_most_schema = 256u << 10;

// By `tools`: the last pattern that is about it counts; with none that adds, all are offered.
bool is_wanted(const std::vector<std::string>& patterns, std::string_view tool) {
  bool is_in =
      std::ranges::none_of(patterns, [](const auto& one) { return !one.starts_with('!'); });
  for (const std::string& pattern : patterns) {
    const bool takes_out = pattern.starts_with('!');
    if (TextPattern(std::string_view(pattern).substr(takes_out ? 1 : 0)).covers(tool)) {
      is_in = !takes_out;
    }
  }
  return is_in;
}

// What a model reads of it: lines may be, control characters may not.
std::string clean_description(std::string_view text) {
  std::string clean = agent::to_valid_utf8(agent::prefix(text, k_most_description));
  std::erase_if(clean, [](char one) {
    const auto byte = static_cast<unsigned char>(one);
    return (byte < ' ' && one != '\n' && one != '\t') || byte == 0x7f;
  });
  return clean;
}

// As the schema of arguments: `{}` stands for an object of any kind. Empty: it is none.
std::string parameters_of(const Json& item) {
  const Json* const schema = agent::find(item, "inputSchema");
  if (schema == nullptr || !schema->is_object()) {
    return {};
  }
  if (const Json* const type = agent::find(*schema, "type");
      type != nullptr && (!type->is_string() || type->get<std::string>() != "object")) {
    return {};
  }
  Json object = *schema;
  object["type"] = "object";
  return agent::dump(object);
}

}  // namespace

Server::Server(agent::McpServerSpec spec, const ServersOptions& options)
    : spec_(std::move(spec)), options_(options), rng_(options.seed) {}

Result<std::shared_ptr<Session>> Server::connect(const std::stop_token& stop) const {
  const ServerPlace place = options_.place_of(spec_);
  auto session = std::make_shared<Session>(SessionOptions{.name = spec_.name,
                                                          .version = options_.version,
                                                          .start = spec_.start,
                                                          .call = spec_.call,
                                                          .silence = spec_.silence});
  TRY(session->connect(*place.runner,
                       {.argv = spec_.command,
                        .environment = place.environment,
                        .cwd = place.folder,
                        .temporary = {},
                        .input = {},
                        .timeout = {},
                        .idle_timeout = {}},
                       stop));
  return session;
}

Result<void> Server::start(std::stop_token stop) {
  TRY_ASSIGN(session_, connect(stop));
  TRY_ASSIGN(const std::vector<Json> items, session_->list("tools/list", "tools", std::move(stop)));
  return read_tools(items);
}

Result<void> Server::read_tools(const std::vector<Json>& items) {
  if (items.size() > k_most_tools) {
    return agent::fail(Code::mcp_transport,
                       fmt::format("the MCP server `{}` has {} tools, more than {}",
                                   spec_.name,
                                   items.size(),
                                   k_most_tools));
  }
  for (const Json& item : items) {
    const std::string name(agent::text_at(item, "name"));
    std::string parameters = parameters_of(item);
    const bool is_new = definitions_.try_emplace(name, agent::canonical(item)).second;
    if (name.empty() || !is_new) {
      unusable_.push_back(name.empty()
                              ? "a tool has no name"
                              : fmt::format("two tools are called `{}`: the first one counts",
                                            agent::one_line(name, 60)));
    } else if (parameters.empty() || parameters.size() > k_most_schema) {
      unusable_.push_back(fmt::format("the schema of `{}` is {}",
                                      agent::one_line(name, 60),
                                      parameters.empty() ? "not that of an object" : "too large"));
    } else if (!is_wanted(spec_.tools, name)) {
      hidden_.push_back(name);
    } else {
      note_unchecked(name, parameters);
      tools_.push_back({.name = name,
                        .agent_name = {},
                        .description = clean_description(agent::text_at(item, "description")),
                        .parameters = std::move(parameters),
                        .definition = definitions_.at(name)});
    }
  }
  return {};
}

void Server::note_unchecked(const std::string& name, const std::string& parameters) {
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(parameters));
  if (!schema) {
    unusable_.push_back(fmt::format("the arguments of `{}` are not checked before the call: {}",
                                    agent::one_line(name, 60),
                                    schema.error().message));
  }
}

// One caller starts it, the others wait.
Result<std::shared_ptr<Session>> Server::living_session(std::stop_token stop) {
  const std::lock_guard lock(mutex_);
  if (session_->is_over()) {
    TRY_ASSIGN(session_, start_again(std::move(stop)));
  }
  return session_;
}

Result<std::shared_ptr<Session>> Server::start_again(std::stop_token stop) {
  Milliseconds waited{0};
  for (int attempt = 1;; ++attempt) {
    const auto try_once = [&]() -> Result<std::shared_ptr<Session>> {
      TRY_ASSIGN(auto session, connect(stop));
      TRY_ASSIGN(const std::vector<Json> items, session->list("tools/list", "tools", stop));
      definitions_.clear();
      for (const Json& item : items) {
        definitions_.try_emplace(std::string(agent::text_at(item, "name")), agent::canonical(item));
      }
      return session;
    };
    auto session = try_once();
    if (session || session.error().code == Code::run_cancelled) {
      return session;
    }
    const auto delay = agent::next_delay(options_.retry, attempt, waited, session.error(), rng_);
    if (!delay || !options_.clock->sleep_for(*delay, stop)) {
      return session;
    }
    waited += *delay;
  }
}

Output Server::call(const OfferedTool& tool, const Json& arguments, const CallContext& context) {
  std::stop_source ends;
  const auto end = [&] { ends.request_stop(); };
  const std::stop_callback on_stop(context.stop, end);
  const std::stop_callback on_kill(context.kill, end);
  const auto failed = [&](const agent::Error& error) {
    return failure(error.code == Code::run_cancelled ? Code::tool_cancelled : error.code,
                   error.message);
  };
  const auto session = living_session(ends.get_token());
  if (!session) {
    return failed(session.error());
  }
  {
    const std::lock_guard lock(mutex_);
    const auto now = definitions_.find(tool.name);
    if (now == definitions_.end() || now->second != tool.definition) {
      return failure(
          Code::tool_policy_blocked,
          fmt::format("the MCP server `{}` was started again, and its tool `{}` is another one now",
                      spec_.name,
                      agent::one_line(tool.name, 60)));
    }
  }
  const auto result = (*session)->request("tools/call",
                                          {{"name", tool.name}, {"arguments", arguments}},
                                          {.stop = ends.get_token(),
                                           .most = spec_.call,
                                           .silence = spec_.silence,
                                           .on_progress = context.on_output});
  return result ? output_of(*result, context.temporary) : failed(result.error());
}

void Server::close() {
  const std::lock_guard lock(mutex_);
  if (session_) {
    session_->close();
  }
}

}  // namespace tools::mcp

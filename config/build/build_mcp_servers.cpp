#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace config {
namespace {

using agent::McpServerSpec;

// Outside where nothing is said: a server is a program of the user's own.
agent::CommandSandbox sandbox_of(const Value& server) {
  const Value* const value = value_at(server, "sandbox");
  if (value == nullptr || (value->kind == Kind::boolean && !boolean_of(*value).value_or(false))) {
    return {.is_off = true};
  }
  return build_command_sandbox(server);
}

McpServerSpec build_server(const Entry& entry, const ToolWorld& world, Problems& problems) {
  const Value& item = entry.value;
  McpServerSpec server{.name = entry.key, .command = {text_at(item, "command")}};
  std::ranges::copy(texts_at(item, "args"), std::back_inserter(server.command));
  if (const Value* env = value_at(item, "env")) {
    server.env =
        build_tool_env(*env, fmt::format("the MCP server `{}`", entry.key), world, problems);
  }
  server.in_programs = build_program_uses(item, world, problems);
  server.sandbox = sandbox_of(item);
  server.tools = texts_at(item, "tools");
  server.is_required = boolean_at(item, "required", true);
  const Value none;
  const Value* const given = value_at(item, "timeouts");
  const Value& timeouts = given != nullptr ? *given : none;
  server.start = duration_at(timeouts, "start").value_or(server.start);
  server.call = duration_at(timeouts, "call").value_or(server.call);
  server.silence = duration_at(timeouts, "silence").value_or(server.silence);
  return server;
}

}  // namespace

std::vector<McpServerSpec> build_mcp_servers(const Value& map,
                                             const ToolWorld& world,
                                             Problems& problems) {
  std::vector<McpServerSpec> servers;
  for (const Entry& entry : map.entries) {
    if (entry.value.kind == Kind::map && !is_free_key(entry.key)) {
      servers.push_back(build_server(entry, world, problems));
    }
  }
  return servers;
}

}  // namespace config

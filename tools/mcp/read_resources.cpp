#include "tools/mcp/read_resources.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tools/mcp/call_end.h"
#include "tools/mcp/resource_list.h"
#include "tools/mcp/server.h"
#include "tools/mcp/tool_result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;

std::vector<std::string> names_of(const std::vector<Server*>& servers) {
  std::vector<std::string> names;
  for (const Server* const server : servers) {
    names.push_back(server->spec().name);
  }
  return names;
}

agent::Result<void> check_uri(std::string_view uri) {
  if (uri.empty()) {
    return agent::fail(Code::tool_invalid_parameters,
                       "operation `read` needs `uri`",
                       "Operation `list` shows the URIs that the server has.");
  }
  if (has_blanks(uri)) {
    return agent::fail(Code::tool_invalid_parameters,
                       "the URI has a blank, a line end or a control character",
                       "Write it as the server lists it; `%20` is a blank.");
  }
  if (climbs(uri)) {
    return agent::fail(Code::tool_invalid_parameters,
                       "the URI climbs with `..`",
                       "Write it without `..`, as the server lists it.");
  }
  return {};
}

class ReadResources final : public Tool {
 public:
  explicit ReadResources(std::vector<Server*> servers)
      : servers_(std::move(servers)),
        info_{.name = std::string(k_resource_reader),
              .description =
                  "Reads resources of MCP servers: texts and files that they offer. "
                  "Call it with operation `list` first, then with `read` and a URI.",
              .parameters = resource_parameters(names_of(servers_))} {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return true; }

  Access access(const Json& arguments) const override { return access_to_resource(arguments); }

  agent::Result<void> check_arguments(const Json& arguments) const override {
    return check_resource_call(arguments);
  }

  Output call(const Json& arguments, const CallContext& context) override {
    const auto server =
        std::ranges::find(servers_, agent::text_at(arguments, "server"), [](const Server* one) {
          return std::string_view(one->spec().name);
        });
    if (server == servers_.end()) {
      return failure(Code::tool_invalid_parameters, "there is no such server");
    }
    const std::string_view operation = agent::text_at(arguments, "operation");
    return operation == "read"
               ? read(**server, std::string(agent::text_at(arguments, "uri")), context)
               : list(**server,
                      operation == "list" ? ResourceKind::resource : ResourceKind::pattern,
                      agent::text_at(arguments, "contains"),
                      context);
  }

 private:
  static Output read(Server& server, const std::string& uri, const CallContext& context) {
    if (const auto is_possible = check_uri(uri); !is_possible) {
      return failure_of(is_possible.error());
    }
    const CallEnd end(context);
    const auto result = server.read_resource(uri, context.on_output, end.token());
    if (result) {
      return output_of_contents(*result, context.temporary);
    }
    Output failed = failure_of(result.error());
    if (failed.code == Code::mcp_tool_call) {
      failed.suggestion = "Operation `list` shows the URIs that the server has.";
    }
    return failed;
  }

  static Output list(Server& server,
                     ResourceKind kind,
                     std::string_view contains,
                     const CallContext& context) {
    const bool is_of_resources = kind == ResourceKind::resource;
    const CallEnd end(context);
    const auto items = server.list(is_of_resources ? "resources/list" : "resources/templates/list",
                                   is_of_resources ? "resources" : "resourceTemplates",
                                   k_most_resources,
                                   end.token());
    Output output;
    if (items) {
      output.text = resource_list(*items, kind, contains);
    } else {
      output = failure_of(items.error());
    }
    return output;
  }

  std::vector<Server*> servers_;
  agent::ToolInfo info_;
};

}  // namespace

std::string resource_parameters(const std::vector<std::string>& servers) {
  const auto text = [](std::string_view description, std::size_t longest) {
    return Json{{"type", "string"}, {"maxLength", longest}, {"description", description}};
  };
  const Json operation = {
      {"type", "string"},
      {"enum", {"list", "templates", "read"}},
      {"description",
       "list: which resources a server has. templates: patterns of URIs for more of them. read: "
       "what the resource `uri` says."}};
  const Json server = {
      {"type", "string"}, {"enum", servers}, {"description", "The server that has the resource."}};
  const Json schema = {
      {"type", "object"},
      {"properties",
       {{"operation", operation},
        {"server", server},
        {"uri",
         text("For read, which needs it: a URI from list, or a pattern from templates with its {…} "
              "filled in.",
              2'000)},
        {"contains",
         text("For list and templates: only those that have this text in their URI, name or "
              "description.",
              200)}}},
      {"required", {"operation", "server"}},
      {"additionalProperties", false}};
  return agent::dump(schema);
}

agent::Result<void> check_resource_call(const Json& arguments) {
  return agent::text_at(arguments, "operation") == "read"
             ? check_uri(agent::text_at(arguments, "uri"))
             : agent::Result<void>();
}

Access access_to_resource(const Json& arguments) {
  std::string target;
  for (const char one : agent::text_at(arguments, "server")) {
    target += one == ' ' ? std::string("%20") : std::string(1, one);
  }
  if (agent::text_at(arguments, "operation") == "read") {
    target += fmt::format(" {}", agent::text_at(arguments, "uri"));
  }
  return {.kind = Access::Kind::server, .target = std::move(target)};
}

std::unique_ptr<Tool> make_read_resources(std::vector<Server*> servers) {
  return std::make_unique<ReadResources>(std::move(servers));
}

}  // namespace tools::mcp

// `mcp_resources`: what the model has for the resources of all MCP servers.
#pragma once
#include "tools/tool.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

constexpr std::string_view k_resource_reader = "mcp_resources";

class Server;

// What rules see of a call: the server, and behind a blank the URI. No name has a blank of its own
// there.
Access access_to_resource(const agent::Json& arguments);

// The schema of its arguments, with servers of these names.
std::string resource_parameters(const std::vector<std::string>& servers);

// What no schema says: which URIs are read. tool.invalid_parameters.
agent::Result<void> check_resource_call(const agent::Json& arguments);

// Of servers (borrowed) that have any, in this order; at least one.
std::unique_ptr<Tool> make_read_resources(std::vector<Server*> servers);

}  // namespace tools::mcp

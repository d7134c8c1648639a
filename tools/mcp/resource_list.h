// What an MCP server lists of its resources, or of the templates of their URIs, as words for a
// model.
#pragma once
#include "tools/mcp/session.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tools::mcp {

enum class ResourceKind : std::uint8_t { resource, pattern };

// Of a server that has more no further page is asked for.
constexpr std::size_t k_most_resources = 10'000;

// A line each, in the server's order. `contains`: only those that have this text in their URI,
// name, title or description, in whatever case; empty: all. What is left out is said, and why.
std::string resource_list(const ItemList& list, ResourceKind kind, std::string_view contains);

// Whether a URI has a blank, a control character or what nobody sees: it is none then, and parsers
// drop some of these, so that it names another place than the one that a rule of permissions sees.
bool has_blanks(std::string_view uri);

// Whether the path of a URI climbs (`..` as a part of it, percent-encoded or not): what it names is
// then not what a rule of permissions sees.
bool climbs(std::string_view uri);

}  // namespace tools::mcp

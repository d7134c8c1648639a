// Arguments that a server wants in the headers of a call, too (revision 2026-07-28): intermediaries
// route by them. The schema of a tool says which, by `x-mcp-header`.
#pragma once
#include "agent/http.h"
#include "agent/json.h"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

struct HeaderMirror {
  std::vector<std::string> path;  // of the property, from the arguments on
  std::string name;               // "Mcp-Param-…"
};

// Those of a tool's parameters. Else why the tool cannot be used, in a sentence's end.
std::expected<std::vector<HeaderMirror>, std::string> header_mirrors(const agent::Json& schema);

// With the values that are there.
agent::Headers mirrored(const std::vector<HeaderMirror>& mirrors, const agent::Json& arguments);

// As the value of a header: what such one cannot hold, as Base64 in a frame that says so.
std::string header_text(std::string_view text);
// And back; nullopt where the frame holds no Base64.
std::optional<std::string> text_of_header(std::string_view value);

}  // namespace tools::mcp

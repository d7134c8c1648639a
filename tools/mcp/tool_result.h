// What an MCP server's result is as a tool's output.
#pragma once
#include "agent/json.h"
#include "tools/tool.h"

#include <filesystem>

namespace tools::mcp {

// Of a call. Pictures and other bytes go into files in `folder`, the first 100, and the text names
// them. `schema`: of its structured content; empty: none is promised. A result that breaks it is a
// failure.
Output output_of(const agent::Json& result,
                 const std::filesystem::path& folder,
                 const std::string& schema = {});

// Likewise of `resources/read`.
Output output_of_contents(const agent::Json& result, const std::filesystem::path& folder);

// Of what has no result. Its message quotes the server, but where it cannot.
Output failure_of(const agent::Error& error);

}  // namespace tools::mcp

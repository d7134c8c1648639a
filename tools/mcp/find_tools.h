// `find_tools`: what the model has in place of the tools of large servers.
#pragma once
#include "tools/mcp/tool_index.h"
#include "tools/tool.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

constexpr std::string_view k_tool_finder = "find_tools";

// `tools` are those that it finds: more may come between its calls. `servers`: where they are from,
// for the model to read.
std::unique_ptr<Tool> make_find_tools(std::shared_ptr<const ToolIndex> tools,
                                      const std::vector<std::string>& servers);

}  // namespace tools::mcp

// What servers say in results, prompts and resources: whether it is something at all.
#pragma once
#include "agent/json.h"

#include <string_view>

namespace tools::mcp {

constexpr std::string_view k_no_base64 = "has bytes that are no base64";

// Why an item of `content` is none: in words that follow its name; empty: it is one. One of a type
// that nobody here knows is one.
std::string_view flaw_of_content(const agent::Json& item);

// Likewise of a resource's contents.
std::string_view flaw_of_resource(const agent::Json& resource);

}  // namespace tools::mcp

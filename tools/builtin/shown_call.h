// A call as a person would write it: `shell  make test`, `read_file  src/a.c:1-40`.
#pragma once
#include "agent/json.h"

#include <string>
#include <string_view>

namespace tools {

// The name and, behind two blanks, what the tool's row says is to be shown of the arguments (JSON
// text); `key=value` of each where the name is no built-in tool's or the arguments are not those of
// its schema. In one line, with ⏎ for the ends of others. Any other bytes that the arguments have:
// it is not safe to show as it is.
std::string shown_call(std::string_view name, std::string_view arguments);

// Of a row in registry.cpp; empty where the arguments lack what is to be shown.
std::string shown_commit(const agent::Json& arguments);
std::string shown_lines(const agent::Json& arguments);
std::string shown_patch(const agent::Json& arguments);
std::string shown_search(const agent::Json& arguments);
std::string shown_switch(const agent::Json& arguments);
std::string shown_result(const agent::Json& arguments);
std::string shown_todo(const agent::Json& arguments);

}  // namespace tools

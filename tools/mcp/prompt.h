// Prompts that MCP servers have for people to choose: what they take, and what they become.
#pragma once
#include "agent/event.h"
#include "agent/json.h"
#include "agent/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

struct PromptArgument {
  std::string name;
  bool is_required = false;
};

struct Prompt {
  std::string name;
  std::string description;  // on one line; may be empty
  std::vector<PromptArgument> arguments;
};

// Of what `prompts/list` brings; those without a name are left out.
std::vector<Prompt> prompts_in(const std::vector<agent::Json>& items);

// cli.usage: an argument that it needs is missing, or it does not take one. `server` is for the
// message.
agent::Result<void> check_arguments(const Prompt& prompt,
                                    const std::map<std::string, std::string>& arguments,
                                    std::string_view server);

struct PromptOpening {
  std::vector<agent::OpeningMessage> messages;
  std::vector<std::string> left_out;  // sentences, for people
};

// What `prompts/get` brings, as it stands in a conversation: those of one role in a row are one
// message, and the first is the user's. Pictures and PDFs go along, and their numbers stand where
// they were; of other content it is said that it was left out. mcp.other: it is no such
// conversation. `where` begins the message.
agent::Result<PromptOpening> opening_of(const agent::Json& result, std::string_view where);

}  // namespace tools::mcp

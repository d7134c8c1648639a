// What client and server have found that they both speak, and what leads there. No bytes here.
#pragma once
#include "agent/result.h"
#include "tools/mcp/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tools::mcp {

struct Agreement {
  std::string revision;       // "2025-11-25"
  bool is_stateless = false;  // from 2026-07-28 on: no handshake, each request says its revision
  std::string server;         // its own name and version, for people; may be empty
  // What it announces. Some have tools and do not say so.
  bool has_tools = false;
  bool tells_of_tools = false;  // when its list of tools changes
  bool has_resources = false;
  bool has_prompts = false;
};

// What errand asks for without a handshake.
Agreement newest_agreement();

// The params of `initialize`. `version` is errand's.
agent::Json handshake(std::string_view version);

// What each request of this era has in `_meta`: nothing in that of handshakes. As above.
agent::Json metadata(const Agreement& agreement, std::string_view version);

// Out of the answer to `server/discover`: nullopt: it is one that wants a handshake. `name` is the
// server's in the agent file. mcp.initialization.
agent::Result<std::optional<Agreement>> stateless_agreement(const Message& answer,
                                                            std::string_view name);

// Out of the answer to `initialize`. mcp.initialization.
agent::Result<Agreement> session_agreement(const Message& answer, std::string_view name);

}  // namespace tools::mcp

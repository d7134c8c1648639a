// JSON-RPC 2.0 as the Model Context Protocol has it: one message, read and written.
#pragma once
#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

struct Message {
  enum class Kind : std::uint8_t { request, notification, result, error };

  Kind kind = Kind::notification;
  agent::Json id;             // theirs of a request, ours of what answers one
  std::string method;         // of a request or a notification
  agent::Json body;           // its params, the result, or what an error has in `data`
  std::int64_t code = 0;      // of an error
  std::string error_message;  // likewise
};

// One line, or what one event has: a message, or a list of them (revision 2025-03-26). Else why it
// is none.
std::expected<std::vector<Message>, std::string> read_messages(std::string_view text);

std::string request_text(std::int64_t id, std::string_view method, const agent::Json& params);
std::string notification_text(std::string_view method, const agent::Json& params);
std::string result_text(const agent::Json& id, const agent::Json& result);
std::string error_text(const agent::Json& id, std::int64_t code, std::string_view message);

constexpr std::int64_t k_method_not_found = -32601;
constexpr std::int64_t k_invalid_params = -32602;
constexpr std::int64_t k_unsupported_version = -32022;  // `data.supported` has others

}  // namespace tools::mcp

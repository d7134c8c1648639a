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
  // unusable: it answers that request, and is neither a result nor an error; `error_message` says
  // why, in a clause about `it`.
  enum class Kind : std::uint8_t { request, notification, result, error, unusable };

  Kind kind = Kind::notification;
  agent::Json id;             // theirs of a request, ours of what answers one
  std::string method;         // of a request or a notification
  agent::Json body;           // its params, the result, or what an error has in `data`; all of an
                              // error that has no message, or no code
  std::int64_t code = 0;      // of an error; 0: it has none
  std::string error_message;  // likewise, and of what is unusable
};

// Lenient: what a server says for the model to read may have bytes that are no text, and is not
// lost for them: they become U+FFFD. What answers a request of ours and cannot be used is unusable,
// so that nobody waits for another answer; in strict reading it is no message.
enum class Reading : std::uint8_t { strict, lenient };

// One line, or what one event has: a message, or a list of them (revision 2025-03-26). Else why it
// is none.
std::expected<std::vector<Message>, std::string> read_messages(std::string_view text,
                                                               Reading reading);

// What can be known of a text that cannot be read: the id of its message, null where there is none,
// and what is wrong with it.
struct Unreadable {
  agent::Json id;
  std::string why;
};
Unreadable look_at_unreadable(std::string_view text);

// One of them.
std::expected<Message, std::string> read_message(agent::Json json, Reading reading);

// Of a message that answers a request of ours: 0: it is none that errand gives.
std::int64_t id_of(const Message& answer);

std::string request_text(std::int64_t id, std::string_view method, const agent::Json& params);
std::string notification_text(std::string_view method, const agent::Json& params);
std::string result_text(const agent::Json& id, const agent::Json& result);
// `data`: null: there is none.
std::string error_text(const agent::Json& id,
                       std::int64_t code,
                       std::string_view message,
                       const agent::Json& data = {});

// What a server says, in a sentence for people: one line, cut.
std::string shown(std::string_view text);
// Likewise, an error: its message, its code and its data, as far as they are there.
std::string shown_error(const Message& error);

constexpr std::int64_t k_parse_error = -32700;
constexpr std::int64_t k_invalid_request = -32600;
constexpr std::int64_t k_method_not_found = -32601;
constexpr std::int64_t k_invalid_params = -32602;
// What HTTP headers say, and the message does not.
constexpr std::int64_t k_header_mismatch = -32020;
constexpr std::int64_t k_unsupported_version = -32022;  // `data.supported` has others

}  // namespace tools::mcp

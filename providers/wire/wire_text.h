// What the wire protocols share on the way out: addresses, headers and pieces of JSON text.
#pragma once
#include "agent/http.h"
#include "providers/wire/wire.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace providers {

// `base` with `path` behind it, before its query. A base that ends in `path` already is kept.
std::string join_url(std::string_view base, std::string_view path);

// As one segment of a path, or one value of a query.
std::string percent_encoded(std::string_view text);

// content-type, accept and user-agent, replaced by `own`, all replaced by the settings' extra
// headers.
agent::Headers request_headers(const WireSettings& settings, const agent::Headers& own);

// How OpenAI and its imitators want the key: as a bearer, or as Azure does.
agent::Headers openai_credentials(const WireSettings& settings);

// What `encode` makes of each item, with commas between; what is empty is left out.
template <typename Item, typename Encode>
std::string joined(std::span<const Item> items, const Encode& encode) {
  std::string text;
  for (const Item& item : items) {
    std::string one = encode(item);
    if (text.empty()) {
      text = std::move(one);  // it may be large
    } else if (!one.empty()) {
      text += ',';
      text += one;
    }
  }
  return text;
}

inline bool is_assistants(const agent::Message& message) {
  return std::holds_alternative<agent::AssistantMessage>(message);
}

// Puts `items`, which may be empty, behind a body that ends in a list, with a comma where needed.
void append_items(std::string& body, std::string_view items);

// For servers that want the two sides to take turns: puts messages behind `body` as turns, each
// opened by `user` or `assistant` and holding a list of what `encode` makes of its messages (never
// empty). The last turn stays open, as more of the same side may follow: the tail closes it.
struct TurnOpenings {
  std::string_view user;
  std::string_view assistant;
};
template <typename Encode>
void append_turns(std::string& body,
                  std::span<const agent::Message> messages,
                  const agent::Message* previous,
                  const TurnOpenings& openings,
                  const Encode& encode) {
  for (const agent::Message& message : messages) {
    if (previous == nullptr || is_assistants(*previous) != is_assistants(message)) {
      body += previous == nullptr ? "" : "]},";
      body += is_assistants(message) ? openings.assistant : openings.user;
    }
    append_items(body, std::visit(encode, message));
    previous = &message;
  }
}

// `text` as a JSON string.
std::string json_text(std::string_view text);

// What most servers take with a prompt.
inline constexpr std::array<std::string_view, 5> k_common_media = {
    "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"};

// A picture or document as an address that holds it, as a JSON string: "data:image/png;base64,…".
std::string data_url(const agent::Attachment& attachment);

// What a user says, as both of OpenAI's protocols have it: a text, or a list of what `encode` makes
// of the attachments, and the text as a part of type `text_type`.
template <typename Encode>
std::string openai_user_message(const agent::UserMessage& message,
                                std::string_view text_type,
                                const Encode& encode) {
  std::string content = json_text(message.text);
  if (!message.attachments.empty()) {
    content = R"([)" + joined(std::span(message.attachments), encode) + R"(,{"type":")" +
              std::string(text_type) + R"(","text":)" + content + "}]";
  }
  return R"({"role":"user","content":)" + content + "}";
}

// `text` where it is one JSON object, compact; else `otherwise`.
std::string json_object(std::string_view text, std::string_view otherwise);

// The arguments of a call as the JSON object that servers demand of history: those that are none
// become {"malformed_arguments": "…"}, so that the model sees what it did.
std::string history_arguments(std::string_view arguments);
// Puts them behind `out`, as that object or as a JSON string of it, and copies them nowhere else.
void append_arguments(std::string& out, std::string_view arguments);
void append_arguments_text(std::string& out, std::string_view arguments);

// The start of a chat request in OpenAI's form, which others took over: model, tools and what
// stands before the first message.
std::string chat_head(std::string_view model,
                      std::span<const agent::ToolInfo> tools,
                      std::string_view instructions);

// What is missing where more stop sequences are wished for than the protocol takes.
std::optional<std::string> too_many_stops(const WireSettings& settings, std::size_t most);

// Texts as a JSON list.
std::string json_list(std::span<const std::string> texts);

// A choice that is the name of a tool.
bool is_tool_name(std::string_view tool_choice);

// The lower of the agent's maximum and the budget's.
std::optional<std::int64_t> max_tokens(const WireSettings& settings,
                                       const agent::ModelRequest& request);

}  // namespace providers

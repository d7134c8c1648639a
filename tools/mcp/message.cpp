#include "tools/mcp/message.h"

#include "agent/lenient_json.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Json;

constexpr int k_most_depth = 200;  // parse_json()'s own

agent::Json envelope() {
  return {{"jsonrpc", "2.0"}};
}

std::string why_unusable(const Json& answer) {
  if (const Json* const error = agent::find(answer, "error")) {
    return fmt::format("its `error` is no object: {}",
                       shown(error->is_string() ? error->get<std::string>() : agent::dump(*error)));
  }
  return answer.contains("result")  ? "its `result` is null"
         : answer.contains("error") ? "its `error` is null"
                                    : "it has neither a `result` nor an `error`";
}

// Some leave out a part of it, or write one as something else: then all that it has is shown.
void take_error(Json& error, Message& message) {
  message.kind = Message::Kind::error;
  message.code = agent::integer_at(error, "code");
  message.error_message = agent::text_at(error, "message");
  const bool has_words = !agent::is_blank(message.error_message);
  if (!has_words) {
    message.error_message = "an error without a message";
  }
  if (!has_words || message.code == 0) {
    message.body = std::move(error);
  } else if (Json* data = agent::find(error, "data")) {
    message.body = std::move(*data);
  }
}

// And not like what a program writes of its own in the wrong place.
bool looks_like_an_answer(const Json& json) {
  return json.is_object() && agent::find(json, "method") == nullptr &&
         (json.contains("jsonrpc") || json.contains("result") || json.contains("error"));
}

// Of a text that cannot be read as a whole: what stands at its top, and how deep it nests.
struct Outline {
  std::string text;  // with `null` in the place of lists and objects
  int depth = 0;
};

Outline outline_of(std::string_view text) {
  Outline outline;
  int level = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char one = text[at];
    const bool opens = !in_string && (one == '{' || one == '[');
    const bool closes = !in_string && (one == '}' || one == ']');
    level += opens ? 1 : 0;
    outline.depth = std::max(outline.depth, level);
    if (opens && level == 2) {
      outline.text += "null";
    } else if (level == 1) {
      outline.text += one;
    }
    level -= closes ? 1 : 0;
    in_string = in_string != (one == '"');
    if (in_string && one == '\\' && at + 1 < text.size()) {
      ++at;
      outline.text += level == 1 ? std::string(1, text[at]) : std::string();
    }
  }
  outline.text += level > 0 ? "}" : "";  // it was cut off, or brackets do not match
  return outline;
}

std::string why_unreadable(std::string_view text, const Outline& outline) {
  return outline.depth > k_most_depth ? fmt::format("it nests deeper than {} levels", k_most_depth)
         : agent::has_too_many_values(text)
             ? fmt::format("it has more than {} values", agent::k_most_json_values)
             : "it is not JSON";
}

// Where nothing but its id can be read; nullopt: not even that.
std::optional<Message> unreadable_answer(std::string_view text) {
  if (!agent::trimmed(text).starts_with('{')) {
    return std::nullopt;
  }
  const Outline outline = outline_of(text);
  const auto json = agent::parse_lenient(outline.text);
  if (!json || !looks_like_an_answer(*json)) {
    return std::nullopt;
  }
  Message message{.kind = Message::Kind::unusable};
  if (const Json* const id = agent::find(*json, "id")) {
    message.id = *id;
  }
  message.error_message = why_unreadable(text, outline);
  return id_of(message) == 0 ? std::nullopt : std::optional(std::move(message));
}

}  // namespace

Unreadable look_at_unreadable(std::string_view text) {
  if (!agent::trimmed(text).starts_with('{')) {
    return {.id = {}, .why = "it is not JSON"};
  }
  const Outline outline = outline_of(text);
  const auto json = agent::parse_lenient(outline.text);
  const Json* const id = json ? agent::find(*json, "id") : nullptr;
  return {.id = id != nullptr ? *id : Json(), .why = why_unreadable(text, outline)};
}

std::expected<Message, std::string> read_message(Json json, Reading reading) {
  if (!json.is_object()) {
    return std::unexpected("a message is a JSON object");
  }
  if (reading == Reading::strict && json.contains("id") && json["id"].is_null() &&
      json.contains("method")) {
    return std::unexpected("the id of a request is text or a whole number");
  }
  Message message;
  if (Json* id = agent::find(json, "id")) {
    message.id = std::move(*id);
  }
  if (const Json* method = agent::find(json, "method")) {
    if (!method->is_string()) {
      return std::unexpected("`method` is not text");
    }
    message.method = method->get<std::string>();
    message.kind = message.id.is_null() ? Message::Kind::notification : Message::Kind::request;
    if (Json* params = agent::find(json, "params")) {
      message.body = std::move(*params);
    }
    return message;
  }
  Json* const error = agent::find(json, "error");
  Json* const result = agent::find(json, "result");
  if (result != nullptr && error != nullptr) {
    if (reading == Reading::strict || id_of(message) == 0) {
      return std::unexpected("a message has a `result` or an `error`, not both");
    }
    message.kind = Message::Kind::unusable;
    message.error_message = "it has both a `result` and an `error`";
    return message;
  }
  if (result != nullptr) {
    message.kind = Message::Kind::result;
    message.body = std::move(*result);
    return message;
  }
  if (error == nullptr || !error->is_object()) {
    if (reading == Reading::strict || id_of(message) == 0 || !looks_like_an_answer(json)) {
      return std::unexpected("a message has a `method`, a `result` or an `error`");
    }
    message.kind = Message::Kind::unusable;
    message.error_message = why_unusable(json);
    return message;
  }
  take_error(*error, message);
  return message;
}

std::expected<std::vector<Message>, std::string> read_messages(std::string_view text,
                                                               Reading reading) {
  auto json = reading == Reading::strict ? agent::parse_json(text) : agent::parse_lenient(text);
  std::vector<Message> messages;
  if (!json) {
    auto answer = reading == Reading::lenient ? unreadable_answer(text) : std::nullopt;
    if (!answer) {
      return std::unexpected("it is not JSON");
    }
    messages.push_back(*std::move(answer));
    return messages;
  }
  if (!json->is_array()) {
    auto message = read_message(*std::move(json), reading);
    if (!message) {
      return std::unexpected(std::move(message).error());
    }
    messages.push_back(*std::move(message));
    return messages;
  }
  for (Json& one : *json) {
    auto message = read_message(std::move(one), reading);
    if (message) {
      messages.push_back(*std::move(message));
    } else if (reading == Reading::strict || json->size() == 1) {
      return std::unexpected(std::move(message).error());
    }
  }
  return messages;
}

std::string shown(std::string_view text) {
  return agent::one_line(text, 300);
}

std::string shown_error(const Message& error) {
  return fmt::format("{}{}{}",
                     shown(error.error_message),
                     error.code == 0 ? "" : fmt::format(" ({})", error.code),
                     error.body.is_null() ? "" : ": " + shown(agent::dump(error.body)));
}

std::int64_t id_of(const Message& answer) {
  return answer.id.is_number_integer() ? agent::integer_of(answer.id).value_or(0) : 0;
}

std::string request_text(std::int64_t id, std::string_view method, const Json& params) {
  Json json = envelope();
  json["id"] = id;
  json["method"] = method;
  json["params"] = params;
  return agent::dump(json);
}

std::string notification_text(std::string_view method, const Json& params) {
  Json json = envelope();
  json["method"] = method;
  if (!params.empty()) {
    json["params"] = params;
  }
  return agent::dump(json);
}

std::string result_text(const Json& id, const Json& result) {
  Json json = envelope();
  json["id"] = id;
  json["result"] = result;
  return agent::dump(json);
}

std::string error_text(const Json& id,
                       std::int64_t code,
                       std::string_view message,
                       const Json& data) {
  Json json = envelope();
  json["id"] = id;
  json["error"] = {{"code", code}, {"message", message}};
  if (!data.is_null()) {
    json["error"]["data"] = data;
  }
  return agent::dump(json);
}

}  // namespace tools::mcp

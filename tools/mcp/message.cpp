#include "tools/mcp/message.h"

#include <utility>

namespace tools::mcp {
namespace {

using agent::Json;

agent::Json envelope() {
  return {{"jsonrpc", "2.0"}};
}

std::expected<Message, std::string> read_one(Json& json) {
  if (!json.is_object()) {
    return std::unexpected("a message is a JSON object");
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
  if (Json* result = agent::find(json, "result")) {
    message.kind = Message::Kind::result;
    message.body = std::move(*result);
    return message;
  }
  Json* error = agent::find(json, "error");
  if (error == nullptr || !error->is_object()) {
    return std::unexpected("a message has a `method`, a `result` or an `error`");
  }
  message.kind = Message::Kind::error;
  message.code = agent::integer_at(*error, "code");
  message.error_message = agent::text_at(*error, "message");
  if (Json* data = agent::find(*error, "data")) {
    message.body = std::move(*data);
  }
  return message;
}

}  // namespace

std::expected<std::vector<Message>, std::string> read_messages(std::string_view text) {
  auto json = agent::parse_json(text);
  if (!json) {
    return std::unexpected("it is not JSON");
  }
  std::vector<Message> messages;
  if (!json->is_array()) {
    auto message = read_one(*json);
    if (!message) {
      return std::unexpected(std::move(message).error());
    }
    messages.push_back(*std::move(message));
    return messages;
  }
  for (Json& one : *json) {
    auto message = read_one(one);
    if (!message) {
      return std::unexpected(std::move(message).error());
    }
    messages.push_back(*std::move(message));
  }
  return messages;
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

std::string error_text(const Json& id, std::int64_t code, std::string_view message) {
  Json json = envelope();
  json["id"] = id;
  json["error"] = {{"code", code}, {"message", message}};
  return agent::dump(json);
}

}  // namespace tools::mcp

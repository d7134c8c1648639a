// Chat Completions: requests. What comes back is openai_chat_decode.h's.
#include "agent/json.h"
#include "agent/text.h"
#include "providers/wire/error_body.h"
#include "providers/wire/openai_chat_decode.h"
#include "providers/wire/openai_schema.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <utility>
#include <variant>

namespace providers {
namespace {

constexpr std::string_view k_name = "openai_chat";

std::string encode(const agent::Attachment& attachment) {
  return is_picture(attachment)
             ? fmt::format(R"({{"type":"image_url","image_url":{{"url":{}}}}})",
                           data_url(attachment))
             : fmt::format(R"({{"type":"file","file":{{"filename":{},"file_data":{}}}}})",
                           json_text(attachment.name),
                           data_url(attachment));
}

std::string encode(const agent::UserMessage& message) {
  return openai_user_message(
      message, "text", [](const agent::Attachment& one) { return encode(one); });
}

std::string encode(const agent::ToolMessage& message) {
  return fmt::format(R"({{"role":"tool","tool_call_id":{},"content":{}}})",
                     json_text(message.call_id),
                     json_text(message.content));
}

std::string encode(const agent::AssistantMessage& message) {
  const agent::Reply& reply = *message.reply;
  if (reply.protocol == k_name && !reply.raw.empty()) {
    return reply.raw;
  }
  if (reply.text.empty() && reply.tool_calls.empty()) {
    return {};
  }
  std::string text = R"({"role":"assistant","content":)";
  if (reply.text.empty()) {
    text += "null";
  } else {
    agent::append_json_text(text, reply.text);
  }
  std::string_view separator = R"(,"tool_calls":[)";
  for (const agent::ToolCall& call : reply.tool_calls) {
    text += fmt::format(R"({}{{"id":{},"type":"function","function":{{"name":{},"arguments":)",
                        separator,
                        json_text(call.id),
                        json_text(call.name));
    append_arguments_text(text, call.arguments);
    text += "}}";
    separator = ",";
  }
  text += reply.tool_calls.empty() ? "}" : "]}";
  return text;
}

class OpenaiChat final : public Wire {
 public:
  using Wire::Wire;

  std::string_view name() const override { return k_name; }
  std::string url() const override { return join_url(settings_.base_url, "/chat/completions"); }

  agent::Headers headers() const override {
    return request_headers(settings_, openai_credentials(settings_));
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    return chat_head(settings_.model, request.tools, request.instructions);
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* /*previous*/) const override {
    append_items(body, joined(messages, [](const agent::Message& message) {
                   return std::visit([](const auto& one) { return encode(one); }, message);
                 }));
  }

  std::span<const std::string_view> media() const override {
    return settings_.quirks.media ? std::span<const std::string_view>(k_common_media)
                                  : std::span<const std::string_view>();
  }

  std::optional<std::string> lacks(const agent::ModelRequest& request) const override {
    if (!request.output_schema.empty() && !settings_.quirks.json_schema) {
      return fmt::format("JSON Schema for answers at {}", settings_.provider);
    }
    return too_many_stops(settings_, 4);
  }

  std::string body_tail(const agent::ModelRequest& request) const override {
    std::string tail = "]";
    if (!request.tool_choice.empty() && !request.tools.empty()) {
      tail += is_tool_name(request.tool_choice)
                  ? fmt::format(R"(,"tool_choice":{{"type":"function","function":{{"name":{}}}}})",
                                json_text(request.tool_choice))
                  : R"(,"tool_choice":)" + json_text(request.tool_choice);
    }
    if (!request.output_schema.empty()) {
      tail += fmt::format(R"(,"response_format":{{"type":"json_schema","json_schema":{{{}}}}})",
                          named_schema(request.output_schema));
    }
    if (!settings_.stop.empty()) {
      tail += R"(,"stop":)" + json_list(settings_.stop);
    }
    if (const auto limit = max_tokens(settings_, request)) {
      tail += fmt::format(R"(,"{}":{})", settings_.quirks.max_tokens_field, *limit);
    }
    if (settings_.temperature) {
      tail += R"(,"temperature":)" + agent::dump(agent::number_json(*settings_.temperature));
    }
    if (!settings_.reasoning.empty()) {
      const bool is_object = settings_.quirks.reasoning_field == Quirks::ReasoningField::object;
      tail += is_object
                  ? fmt::format(R"(,"reasoning":{{"effort":{}}})", json_text(settings_.reasoning))
                  : R"(,"reasoning_effort":)" + json_text(settings_.reasoning);
    }
    if (settings_.stream) {
      tail += R"(,"stream":true)";
      tail += settings_.quirks.stream_options ? R"(,"stream_options":{"include_usage":true})" : "";
    }
    return tail + "}";
  }

  std::unique_ptr<Decoder> decoder() const override {
    return make_openai_chat_decoder(settings_.quirks);
  }

  bool adapt(int status, std::string_view body, const agent::ModelRequest& request) override;

 private:
  bool has_adapted_ = false;
};

// The one parameter with two names: reasoning models refuse the old, older servers the new one.
bool OpenaiChat::adapt(int status, std::string_view body, const agent::ModelRequest& request) {
  if (has_adapted_ || (status != 400 && status != 422) || !max_tokens(settings_, request)) {
    return false;
  }
  constexpr std::array<std::string_view, 6> k_refusals = {"unsupported parameter",
                                                          "not supported",
                                                          "unrecognized",
                                                          "unknown",
                                                          "extra inputs",
                                                          "extra_forbidden"};
  const ErrorBody error = read_error_body(body);
  std::string& field = settings_.quirks.max_tokens_field;
  const std::string text = agent::to_lower(error.message);
  bool is_refused = error.has_word("unsupported_parameter");
  for (const std::string_view refusal : k_refusals) {
    is_refused = is_refused || text.contains(refusal);
  }
  if (!is_refused || (error.param != field && !text.contains(field))) {
    return false;
  }
  field = field == "max_tokens" ? "max_completion_tokens" : "max_tokens";
  has_adapted_ = true;
  return true;
}

}  // namespace

std::unique_ptr<Wire> make_openai_chat(WireSettings settings) {
  return std::make_unique<OpenaiChat>(std::move(settings));
}

}  // namespace providers

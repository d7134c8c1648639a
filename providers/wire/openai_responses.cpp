// OpenAI's Responses: requests. What comes back is openai_responses_decode.h's. The server is asked
// to keep nothing: each request carries the whole conversation, sealed thoughts included.
#include "agent/json.h"
#include "agent/text.h"
#include "providers/wire/error_body.h"
#include "providers/wire/openai_responses_decode.h"
#include "providers/wire/openai_schema.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace providers {
namespace {

constexpr std::string_view k_name = "openai_responses";
constexpr std::int64_t k_least_output_tokens = 16;  // less is refused

std::string encode(const agent::Attachment& attachment) {
  return is_picture(attachment)
             ? fmt::format(R"({{"type":"input_image","image_url":{}}})", data_url(attachment))
             : fmt::format(R"({{"type":"input_file","filename":{},"file_data":{}}})",
                           json_text(attachment.name),
                           data_url(attachment));
}

std::string encode(const agent::UserMessage& message) {
  return openai_user_message(
      message, "input_text", [](const agent::Attachment& one) { return encode(one); });
}

std::string encode(const agent::ToolMessage& message) {
  return fmt::format(R"({{"type":"function_call_output","call_id":{},"output":{}}})",
                     json_text(message.call_id),
                     json_text(message.content));
}

std::string encode(const agent::AssistantMessage& message) {
  const agent::Reply& reply = *message.reply;
  if (reply.protocol == k_name && reply.raw.size() > 2) {
    return reply.raw.substr(1, reply.raw.size() - 2);  // the items, without the brackets
  }
  std::string text;
  if (!reply.text.empty()) {
    text = R"({"role":"assistant","content":)";
    agent::append_json_text(text, reply.text);
    text += '}';
  }
  for (const agent::ToolCall& call : reply.tool_calls) {
    text += text.empty() ? "" : ",";
    text += fmt::format(R"({{"type":"function_call","call_id":{},"name":{},"arguments":)",
                        json_text(call.id),
                        json_text(call.name));
    append_arguments_text(text, call.arguments);
    text += '}';
  }
  return text;
}

// `strict` is on where nothing is said, and refuses most schemas.
std::string encode_tool(const agent::ToolInfo& tool) {
  return fmt::format(
      R"({{"type":"function","name":{},"description":{},"parameters":{},"strict":false}})",
      json_text(tool.name),
      json_text(tool.description),
      json_object(tool.parameters, R"({"type":"object","properties":{}})"));
}

class OpenaiResponses final : public Wire {
 public:
  using Wire::Wire;

  std::string_view name() const override { return k_name; }
  std::string url() const override { return join_url(settings_.base_url, "/responses"); }
  agent::Headers headers() const override {
    return request_headers(settings_, openai_credentials(settings_));
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    std::string head = R"({"model":)" + json_text(settings_.model);
    if (!request.instructions.empty()) {
      head += R"(,"instructions":)" + json_text(request.instructions);
    }
    if (!request.tools.empty()) {
      head += fmt::format(R"(,"tools":[{}])", joined(request.tools, encode_tool));
    }
    return head + R"(,"input":[)";
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* /*previous*/) const override {
    append_items(body, joined(messages, [](const agent::Message& message) {
                   return std::visit([](const auto& one) { return encode(one); }, message);
                 }));
  }

  std::span<const std::string_view> media() const override { return k_common_media; }

  std::optional<std::string> lacks(const agent::ModelRequest& /*request*/) const override {
    return settings_.stop.empty() ? std::nullopt : std::optional("stop sequences");
  }

  std::string body_tail(const agent::ModelRequest& request) const override {
    std::string tail = R"(],"store":false)";
    if (!request.tool_choice.empty() && !request.tools.empty()) {
      tail += is_tool_name(request.tool_choice)
                  ? fmt::format(R"(,"tool_choice":{{"type":"function","name":{}}})",
                                json_text(request.tool_choice))
                  : R"(,"tool_choice":)" + json_text(request.tool_choice);
    }
    if (!request.output_schema.empty()) {
      tail += fmt::format(R"(,"text":{{"format":{{"type":"json_schema",{}}}}})",
                          named_schema(request.output_schema));
    }
    if (settings_.quirks.encrypted_reasoning) {
      tail += R"(,"include":["reasoning.encrypted_content"])";
    }
    if (const auto limit = max_tokens(settings_, request)) {
      tail += fmt::format(R"(,"max_output_tokens":{})", std::max(*limit, k_least_output_tokens));
    }
    if (settings_.temperature) {
      tail += R"(,"temperature":)" + agent::dump(agent::number_json(*settings_.temperature));
    }
    if (!settings_.reasoning.empty()) {
      tail += fmt::format(R"(,"reasoning":{{"effort":{}}})", json_text(settings_.reasoning));
    }
    return tail + (settings_.stream ? R"(,"stream":true})" : "}");
  }

  std::unique_ptr<Decoder> decoder() const override { return make_openai_responses_decoder(); }

  // A model that does not think has no thoughts to seal, and refuses to be asked for them.
  bool adapt(int status, std::string_view body, const agent::ModelRequest&) override {
    const std::string message = agent::to_lower(read_error_body(body).message);
    if (status != 400 || !settings_.quirks.encrypted_reasoning ||
        !(message.contains("encrypted content") || message.contains("encrypted_content"))) {
      return false;
    }
    settings_.quirks.encrypted_reasoning = false;
    return true;
  }
};

}  // namespace

std::unique_ptr<Wire> make_openai_responses(WireSettings settings) {
  return std::make_unique<OpenaiResponses>(std::move(settings));
}

}  // namespace providers

// Ollama's own chat protocol: requests. What comes back is ollama_decode.h's.
#include "agent/json.h"
#include "providers/wire/ollama_decode.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace providers {
namespace {

constexpr std::string_view k_name = "ollama";

constexpr auto k_media = std::to_array<std::string_view>({"image/png", "image/jpeg", "image/webp"});

// One message after the other. A result goes under the name by which the model called.
class Messages {
 public:
  std::string operator()(const agent::UserMessage& message) const {
    const std::string pictures =
        joined(std::span(message.attachments),
               [](const agent::Attachment& one) { return json_text(one.base64); });
    return fmt::format(R"({{"role":"user","content":{}{}}})",
                       json_text(message.text),
                       pictures.empty() ? pictures : fmt::format(R"(,"images":[{}])", pictures));
  }

  std::string operator()(const agent::ToolMessage& message) const {
    const auto called = names_.find(message.call_id);
    return fmt::format(R"({{"role":"tool","tool_name":{},"tool_call_id":{},"content":{}}})",
                       json_text(called == names_.end() ? message.name : called->second),
                       json_text(message.call_id),
                       json_text(message.content));
  }

  std::string operator()(const agent::AssistantMessage& message) {
    const agent::Reply& reply = *message.reply;
    for (const agent::ToolCall& call : reply.tool_calls) {
      names_[call.id] = call.name;
    }
    if (reply.protocol == k_name && !reply.raw.empty()) {
      return reply.raw;
    }
    if (reply.text.empty() && reply.tool_calls.empty()) {
      return {};
    }
    std::string text = R"({"role":"assistant","content":)";
    agent::append_json_text(text, reply.text);
    std::string_view separator = R"(,"tool_calls":[)";
    for (const agent::ToolCall& call : reply.tool_calls) {
      text += fmt::format(R"({}{{"id":{},"function":{{"name":{},"arguments":)",
                          separator,
                          json_text(call.id),
                          json_text(call.name));
      append_arguments(text, call.arguments);
      text += "}}";
      separator = ",";
    }
    text += reply.tool_calls.empty() ? "}" : "]}";
    return text;
  }

 private:
  std::map<std::string, std::string> names_;  // by call id
};

// Only gpt-oss knows levels; all others refuse them.
std::string thinking(const WireSettings& settings) {
  const std::string& effort = settings.reasoning;
  if (effort.empty()) {
    return {};
  }
  if (effort == "none" || !settings.model.contains("gpt-oss")) {
    return effort == "none" ? R"(,"think":false)" : R"(,"think":true)";
  }
  const bool is_low = effort == "minimal" || effort == "low";
  return fmt::format(R"(,"think":"{}")", is_low ? "low" : effort == "medium" ? "medium" : "high");
}

constexpr std::int64_t k_bytes_per_token = 3;
constexpr std::int64_t k_frame = 60;  // bytes that a model's template puts around a message, a call

std::int64_t bytes_of(const agent::Message& message) {
  const auto size = [](const auto& one) {
    if constexpr (requires { one.content; }) {
      return one.content.size();
    } else if constexpr (requires { one.reply; }) {
      return static_cast<std::size_t>(bytes_of(*one.reply)) + one.reply->raw.size();
    } else {
      std::size_t bytes = one.text.size();
      for (const agent::Attachment& attachment : one.attachments) {
        bytes += static_cast<std::size_t>(estimated_tokens(attachment) * k_bytes_per_token);
      }
      return bytes;
    }
  };
  return static_cast<std::int64_t>(std::visit(size, message));
}

// The server cuts what does not fit its window, and says nothing: so the window is asked for that
// surely holds the request. It grows in doublings, because each change loads the model anew.
std::int64_t context_window(const agent::ModelRequest& request, std::int64_t max_output) {
  constexpr std::int64_t k_least = 8'192;
  auto bytes = static_cast<std::int64_t>(request.instructions.size());
  for (const agent::ToolInfo& tool : request.tools) {
    bytes += static_cast<std::int64_t>(tool.name.size() + tool.description.size() +
                                       tool.parameters.size());
  }
  for (const agent::Message& message : request.conversation.messages) {
    bytes += bytes_of(message) + k_frame;
    if (const auto* said = std::get_if<agent::AssistantMessage>(&message)) {
      bytes += static_cast<std::int64_t>(said->reply->tool_calls.size()) * k_frame;
    }
  }
  std::int64_t window = k_least;
  while (window < bytes / k_bytes_per_token + max_output) {
    window *= 2;
  }
  return window;
}

class Ollama final : public Wire {
 public:
  using Wire::Wire;

  std::string_view name() const override { return k_name; }
  std::string url() const override { return join_url(settings_.base_url, "/api/chat"); }

  agent::Headers headers() const override {
    return request_headers(settings_, openai_credentials(settings_));
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    const bool offers_tools = request.tool_choice != "none";
    return chat_head(settings_.model,
                     offers_tools ? request.tools : std::span<const agent::ToolInfo>(),
                     request.instructions);
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* /*previous*/) const override {
    Messages encode;
    append_items(body, joined(messages, [&](const agent::Message& message) {
                   return std::visit(encode, message);
                 }));
  }

  std::span<const std::string_view> media() const override { return k_media; }

  // A format binds every answer, so that no tool could be called.
  std::optional<std::string> lacks(const agent::ModelRequest& request) const override {
    if (request.tool_choice == "required" || is_tool_name(request.tool_choice)) {
      return "way to demand a tool call";
    }
    return !request.output_schema.empty() && !request.tools.empty()
               ? std::optional("schema for answers beside tools")
               : std::nullopt;
  }

  std::string body_tail(const agent::ModelRequest& request) const override {
    constexpr std::int64_t k_usual_output = 2'048;
    const auto limit = max_tokens(settings_, request);
    std::string options =
        fmt::format(R"("num_ctx":{})", context_window(request, limit.value_or(k_usual_output)));
    if (limit) {
      options += fmt::format(R"(,"num_predict":{})", *limit);
    }
    if (settings_.temperature) {
      options += R"(,"temperature":)" + agent::dump(agent::number_json(*settings_.temperature));
    }
    if (!settings_.stop.empty()) {
      options += R"(,"stop":)" + json_list(settings_.stop);
    }
    return fmt::format(
        R"(],"options":{{{}}}{}{},"stream":{}}})",
        options,
        thinking(settings_),
        request.output_schema.empty() ? "" : fmt::format(R"(,"format":{})", request.output_schema),
        settings_.stream);
  }

  std::unique_ptr<Decoder> decoder() const override { return make_ollama_decoder(); }
};

}  // namespace

std::unique_ptr<Wire> make_ollama(WireSettings settings) {
  return std::make_unique<Ollama>(std::move(settings));
}

}  // namespace providers

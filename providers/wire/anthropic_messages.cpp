// Anthropic Messages: requests. What comes back is anthropic_decode.h's.
#include "agent/json.h"
#include "providers/wire/anthropic_decode.h"
#include "providers/wire/claude.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace providers {
namespace {

constexpr std::string_view k_name = "anthropic_messages";
constexpr std::string_view k_cache_mark = R"("cache_control":{"type":"ephemeral"})";

// Above this an answer that is not streamed may take longer than ten minutes.
constexpr std::int64_t k_max_unstreamed = 21'333;

std::int64_t default_max_output(const WireSettings& settings) {
  const std::int64_t limit = claude_max_output(settings.model);
  return settings.stream ? limit : std::min(limit, k_max_unstreamed);
}

std::string encode(const agent::Attachment& attachment) {
  return fmt::format(
      R"({{"type":"{}","source":{{"type":"base64","media_type":"{}","data":"{}"}}}})",
      is_picture(attachment) ? "image" : "document",
      attachment.media_type,
      attachment.base64);
}

std::string encode(const agent::ToolMessage& message) {
  return fmt::format(R"({{"type":"tool_result","tool_use_id":{},"content":{}{}}})",
                     json_text(message.call_id),
                     json_text(message.content),
                     message.is_error ? R"(,"is_error":true)" : "");
}

std::string encode(const agent::AssistantMessage& message) {
  const agent::Reply& reply = *message.reply;
  if (reply.protocol == k_name && !reply.raw.empty()) {
    return fmt::format(R"({{"role":"assistant","content":{}}})", reply.raw);
  }
  if (agent::is_blank(reply.text) && reply.tool_calls.empty()) {
    return {};
  }
  std::string turn = R"({"role":"assistant","content":[)";
  if (!agent::is_blank(reply.text)) {
    turn += R"({"type":"text","text":)";
    agent::append_json_text(turn, reply.text);
    turn += '}';
  }
  for (const agent::ToolCall& call : reply.tool_calls) {
    turn += fmt::format(R"({}{{"type":"tool_use","id":{},"name":{},"input":)",
                        turn.ends_with('[') ? "" : ",",
                        json_text(call.id),
                        json_text(call.name));
    append_arguments(turn, call.arguments);
    turn += '}';
  }
  return turn + "]}";
}

// What the user's side says between two turns of the model: one message, results first.
class UserTurn {
 public:
  void add(const agent::ToolMessage& message) { add(results_, encode(message)); }
  void add(const agent::UserMessage& message) {
    for (const agent::Attachment& attachment : message.attachments) {
      add(said_, encode(attachment));
    }
    if (!agent::is_blank(message.text)) {
      add(said_, fmt::format(R"({{"type":"text","text":{}}})", json_text(message.text)));
    }
  }
  std::string take() {
    std::string blocks = std::exchange(results_, {});
    if (!said_.empty()) {
      add(blocks, std::exchange(said_, {}));
    }
    return blocks.empty() ? blocks : fmt::format(R"({{"role":"user","content":[{}]}})", blocks);
  }

 private:
  static void add(std::string& list, const std::string& block) {
    list += (list.empty() ? "" : ",") + block;
  }

  std::string results_;
  std::string said_;
};

std::string output_config(std::string_view effort, std::string_view schema) {
  std::string members;
  if (!effort.empty()) {
    members = R"("effort":)" + json_text(effort);
  }
  if (!schema.empty()) {
    members += members.empty() ? "" : ",";
    members += fmt::format(R"("format":{{"type":"json_schema","schema":{}}})", schema);
  }
  return members.empty() ? members : fmt::format(R"(,"output_config":{{{}}})", members);
}

std::string tool_choice(const agent::ModelRequest& request) {
  const std::string_view choice = request.tool_choice;
  if (choice.empty() || request.tools.empty()) {
    return {};
  }
  if (is_tool_name(choice)) {
    return fmt::format(R"(,"tool_choice":{{"type":"tool","name":{}}})", json_text(choice));
  }
  return fmt::format(R"(,"tool_choice":{{"type":"{}"}})", choice == "required" ? "any" : choice);
}

class AnthropicMessages final : public Wire {
 public:
  using Wire::Wire;

  std::string_view name() const override { return k_name; }

  std::string url() const override {
    const std::string versioned = join_url(settings_.base_url, "/v1");
    return versioned.contains("/v1/messages") ? settings_.base_url
                                              : join_url(versioned, "/messages");
  }

  agent::Headers headers() const override {
    agent::Headers own = {{"anthropic-version", settings_.quirks.version}};
    if (!settings_.api_key.empty()) {
      if (settings_.quirks.bearer) {
        own.emplace_back("authorization", "Bearer " + settings_.api_key);
      } else {
        own.emplace_back("x-api-key", settings_.api_key);
      }
    }
    return request_headers(settings_, own);
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    std::string head = R"({"model":)" + json_text(settings_.model);
    std::string_view separator = R"(,"tools":[)";
    for (const agent::ToolInfo& tool : request.tools) {
      head += fmt::format(R"({}{{"name":{},"description":{},"input_schema":{}}})",
                          separator,
                          json_text(tool.name),
                          json_text(tool.description),
                          json_object(tool.parameters, R"({"type":"object","properties":{}})"));
      separator = ",";
    }
    head += request.tools.empty() ? "" : "]";
    if (!request.instructions.empty()) {
      const std::string text = json_text(request.instructions);
      head += settings_.quirks.cache_control
                  ? fmt::format(R"(,"system":[{{"type":"text","text":{},{}}}])", text, k_cache_mark)
                  : R"(,"system":)" + text;
    }
    return head + R"(,"messages":[)";
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* /*previous*/) const override;

  std::span<const std::string_view> media() const override { return k_common_media; }

  std::optional<std::string> lacks(const agent::ModelRequest& request) const override {
    if (!request.output_schema.empty() && !claude_takes_schema(settings_.model)) {
      return fmt::format("schema for answers in {}", settings_.model);
    }
    const bool thinks = !settings_.reasoning.empty() && settings_.reasoning != "none";
    const bool is_forced = request.tool_choice == "required" || is_tool_name(request.tool_choice);
    return thinks && is_forced ? std::optional("way to demand a tool call of a model that thinks")
                               : std::nullopt;
  }

  std::string body_tail(const agent::ModelRequest& request) const override {
    const std::int64_t most = default_max_output(settings_);
    std::int64_t limit = settings_.max_output_tokens.value_or(most);
    limit = std::min(limit, request.max_output_tokens.value_or(limit));
    std::string tail = fmt::format(R"(],"max_tokens":{})", limit);
    if (settings_.temperature) {
      tail += R"(,"temperature":)" + agent::dump(agent::number_json(*settings_.temperature));
    }
    const auto [thinking, effort] = claude_thinking(settings_.model, settings_.reasoning, limit);
    tail += thinking.empty() ? "" : R"(,"thinking":)" + thinking;
    tail += output_config(effort, request.output_schema);
    tail += tool_choice(request);
    if (!settings_.stop.empty()) {
      tail += R"(,"stop_sequences":)" + json_list(settings_.stop);
    }
    if (settings_.quirks.cache_control) {
      tail += fmt::format(",{}", k_cache_mark);
    }
    tail += settings_.stream ? R"(,"stream":true})" : "}";
    return tail;
  }

  std::unique_ptr<Decoder> decoder() const override { return make_anthropic_decoder(); }
};

void AnthropicMessages::append_messages(std::string& body,
                                        std::span<const agent::Message> messages,
                                        const agent::Message* /*previous*/) const {
  UserTurn user;
  for (const agent::Message& message : messages) {
    if (const auto* assistant = std::get_if<agent::AssistantMessage>(&message)) {
      // A turn without content is not sent; what stands around it becomes one message.
      if (const std::string turn = encode(*assistant); !turn.empty()) {
        append_items(body, user.take());
        append_items(body, turn);
      }
    } else if (const auto* tool = std::get_if<agent::ToolMessage>(&message)) {
      user.add(*tool);
    } else {
      user.add(std::get<agent::UserMessage>(message));
    }
  }
  append_items(body, user.take());
}

}  // namespace

std::unique_ptr<Wire> make_anthropic_messages(WireSettings settings) {
  return std::make_unique<AnthropicMessages>(std::move(settings));
}

}  // namespace providers

// Amazon Bedrock's Converse: requests. What comes back is bedrock_decode.h's.
#include "agent/json.h"
#include "agent/text.h"
#include "providers/wire/bedrock_decode.h"
#include "providers/wire/claude.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace providers {
namespace {

constexpr std::string_view k_name = "bedrock";
constexpr std::string_view k_cache_point = R"({"cachePoint":{"type":"default"}})";

// Models that refuse a cache point, or that are older than it, go without.
bool takes_cache_points(std::string_view model) {
  constexpr std::array<std::string_view, 5> k_models = {
      "claude-3-5-haiku", "claude-3-7-", "claude-sonnet-", "claude-opus-", "claude-haiku-"};
  return model.contains("amazon.nova") ||
         std::ranges::any_of(k_models, [&](auto part) { return model.contains(part); });
}

std::string encode_tool(const agent::ToolInfo& tool) {
  return fmt::format(R"({{"toolSpec":{{"name":{},{}"inputSchema":{{"json":{}}}}}}})",
                     json_text(tool.name),
                     tool.description.empty()
                         ? ""
                         : fmt::format(R"("description":{},)", json_text(tool.description)),
                     json_object(tool.parameters, R"({"type":"object","properties":{}})"));
}

std::string text_block(std::string_view text) {
  return fmt::format(R"({{"text":{}}})", json_text(text));
}

// The name of a document is read by the model; most characters are refused in it.
std::string document_name(std::string_view file) {
  std::string name(file.substr(0, file.rfind('.')));
  const auto is_refused = [](char c) {
    const char lower = agent::to_lower(c);
    return !agent::is_digit(c) && (lower < 'a' || lower > 'z');
  };
  std::ranges::replace_if(name, is_refused, '-');
  return name.empty() ? "document" : name;
}

std::string block_of(const agent::Attachment& attachment) {
  const std::string_view format =
      std::string_view(attachment.media_type).substr(attachment.media_type.find('/') + 1);
  return fmt::format(
      R"({{"{}":{{"format":"{}",{}"source":{{"bytes":"{}"}}}}}})",
      is_picture(attachment) ? "image" : "document",
      format,
      is_picture(attachment) ? "" : fmt::format(R"("name":"{}",)", document_name(attachment.name)),
      attachment.base64);
}

// The server refuses text that is blank.
std::string blocks_of(const agent::UserMessage& message) {
  std::string blocks;
  for (const agent::Attachment& attachment : message.attachments) {
    blocks += block_of(attachment) + ",";
  }
  return blocks + text_block(agent::is_blank(message.text) ? "(empty)" : message.text);
}

std::string blocks_of(const agent::ToolMessage& message) {
  return fmt::format(R"({{"toolResult":{{"toolUseId":{},"content":[{}],"status":"{}"}}}})",
                     json_text(message.call_id),
                     text_block(agent::is_blank(message.content) ? "(empty)" : message.content),
                     message.is_error ? "error" : "success");
}

std::string blocks_of(const agent::AssistantMessage& message) {
  const agent::Reply& reply = *message.reply;
  if (reply.protocol == k_name && reply.raw.size() > 2) {
    return reply.raw.substr(1, reply.raw.size() - 2);  // without the brackets
  }
  std::string blocks;
  if (!agent::is_blank(reply.text)) {
    blocks = text_block(reply.text);
  } else if (reply.tool_calls.empty()) {
    blocks = text_block("(empty)");
  }
  for (const agent::ToolCall& call : reply.tool_calls) {
    blocks += blocks.empty() ? "" : ",";
    blocks += fmt::format(R"({{"toolUse":{{"toolUseId":{},"name":{},"input":)",
                          json_text(call.id),
                          json_text(call.name));
    append_arguments(blocks, call.arguments);
    blocks += "}}";
  }
  return blocks;
}

std::string tool_choice(std::string_view choice) {
  if (is_tool_name(choice)) {
    return fmt::format(R"(,"toolChoice":{{"tool":{{"name":{}}}}})", json_text(choice));
  }
  return choice == "required" ? R"(,"toolChoice":{"any":{}})" : "";
}

// There is no word for "none"; but a conversation with calls needs the tools that were called.
bool offers_tools(const agent::ModelRequest& request) {
  return !request.tools.empty() &&
         (request.tool_choice != "none" ||
          std::ranges::any_of(request.conversation.messages, [](const agent::Message& message) {
            return std::holds_alternative<agent::ToolMessage>(message);
          }));
}

class Bedrock final : public Wire {
 public:
  explicit Bedrock(WireSettings settings)
      : Wire(std::move(settings)), has_cache_points_(takes_cache_points(settings_.model)) {}

  std::string_view name() const override { return k_name; }

  std::string url() const override {
    return join_url(settings_.base_url,
                    fmt::format("/model/{}/{}",
                                percent_encoded(settings_.model),
                                settings_.stream ? "converse-stream" : "converse"));
  }

  agent::Headers headers() const override {
    agent::Headers own;
    if (settings_.stream) {
      own.emplace_back("accept", "application/vnd.amazon.eventstream");
    }
    if (!settings_.api_key.empty()) {
      own.emplace_back("authorization", "Bearer " + settings_.api_key);
    }
    if (settings_.signer && !settings_.signer->session_token.empty()) {
      own.emplace_back("x-amz-security-token", settings_.signer->session_token);
    }
    return request_headers(settings_, own);
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    const std::string mark = has_cache_points_ ? fmt::format(",{}", k_cache_point) : "";
    std::string head = "{";
    if (!request.instructions.empty()) {
      head += fmt::format(R"("system":[{}{}],)", text_block(request.instructions), mark);
    }
    if (offers_tools(request)) {
      head += fmt::format(R"("toolConfig":{{"tools":[{}{}]{}}},)",
                          joined(request.tools, encode_tool),
                          mark,
                          tool_choice(request.tool_choice));
    }
    return head + R"("messages":[)";
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* previous) const override {
    constexpr TurnOpenings k_openings = {.user = R"({"role":"user","content":[)",
                                         .assistant = R"({"role":"assistant","content":[)"};
    append_turns(body, messages, previous, k_openings, [](const auto& message) {
      return blocks_of(message);
    });
  }

  std::span<const std::string_view> media() const override { return k_common_media; }

  std::optional<std::string> lacks(const agent::ModelRequest& request) const override {
    if (!request.output_schema.empty()) {
      return "schema for answers";
    }
    return too_many_stops(settings_, 4);
  }

  std::string body_tail(const agent::ModelRequest& request) const override;

  std::unique_ptr<Decoder> decoder() const override { return make_bedrock_decoder(); }

 private:
  std::string model_fields(std::optional<std::int64_t> max_output) const;

  bool has_cache_points_;
};

std::string Bedrock::body_tail(const agent::ModelRequest& request) const {
  std::string tail;
  if (!request.conversation.messages.empty()) {
    const bool ends_with_user = !is_assistants(request.conversation.messages.back());
    tail = has_cache_points_ && ends_with_user ? fmt::format(",{}]}}", k_cache_point) : "]}";
  }
  const auto limit = max_tokens(settings_, request);
  std::string inference = limit ? fmt::format(R"("maxTokens":{})", *limit) : "";
  if (settings_.temperature) {
    inference += inference.empty() ? "" : ",";
    inference += R"("temperature":)" + agent::dump(agent::number_json(*settings_.temperature));
  }
  if (!settings_.stop.empty()) {
    inference += inference.empty() ? "" : ",";
    inference += R"("stopSequences":)" + json_list(settings_.stop);
  }
  return fmt::format(R"({}],"inferenceConfig":{{{}}}{}}})", tail, inference, model_fields(limit));
}

// How much to think is each vendor's own field.
std::string Bedrock::model_fields(std::optional<std::int64_t> max_output) const {
  constexpr std::string_view k_fields = R"(,"additionalModelRequestFields":{{{}}})";
  const std::string& effort = settings_.reasoning;
  if (effort.empty()) {
    return {};
  }
  if (settings_.model.contains("anthropic.")) {
    const auto [thinking, level] = claude_thinking(
        settings_.model, effort, max_output.value_or(claude_max_output(settings_.model)));
    std::string fields = thinking.empty() ? "" : R"("thinking":)" + thinking;
    if (!level.empty()) {
      fields += fmt::format(R"(,"output_config":{{"effort":{}}})", json_text(level));
    }
    return fields.empty() ? fields : fmt::format(k_fields, fields);
  }
  if (settings_.model.contains("amazon.nova")) {
    return effort == "none"
               ? fmt::format(k_fields, R"("reasoningConfig":{"type":"disabled"})")
               : fmt::format(
                     k_fields,
                     fmt::format(
                         R"("reasoningConfig":{{"type":"enabled","maxReasoningEffort":{}}})",
                         json_text(effort)));
  }
  return fmt::format(k_fields, R"("reasoning_effort":)" + json_text(effort));
}

}  // namespace

std::unique_ptr<Wire> make_bedrock(WireSettings settings) {
  return std::make_unique<Bedrock>(std::move(settings));
}

}  // namespace providers

// Google's generateContent: requests. What comes back is gemini_decode.h's.
#include "agent/json.h"
#include "agent/text.h"
#include "providers/wire/gemini_decode.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace providers {
namespace {

constexpr std::string_view k_name = "gemini";

// What the newer models take as a level, the older ones take as a number of tokens.
struct Effort {
  std::string_view name;
  std::string_view level;
  int budget;
};
constexpr auto k_efforts = std::to_array<Effort>({
    {"none", "MINIMAL", 0},
    {"minimal", "MINIMAL", 512},
    {"low", "LOW", 1'024},
    {"medium", "MEDIUM", 8'192},
    {"high", "HIGH", 24'576},
    {"xhigh", "HIGH", 24'576},
    {"max", "HIGH", 24'576},
});

bool is_older_model(std::string_view model) {
  constexpr std::array<std::string_view, 3> k_older = {"gemini-1", "gemini-2", "gemini-robotics"};
  return std::ranges::any_of(k_older, [&](auto part) { return model.contains(part); });
}

std::string thinking(const WireSettings& settings) {
  const auto* const effort = std::ranges::find(k_efforts, settings.reasoning, &Effort::name);
  if (effort == k_efforts.end()) {
    return {};
  }
  return is_older_model(settings.model)
             ? fmt::format(R"("thinkingConfig":{{"includeThoughts":{},"thinkingBudget":{}}})",
                           effort->budget > 0,
                           effort->budget)
             : fmt::format(R"("thinkingConfig":{{"includeThoughts":true,"thinkingLevel":"{}"}})",
                           effort->level);
}

std::string encode(const agent::ToolInfo& tool) {
  return fmt::format(R"({{"name":{},"description":{},"parametersJsonSchema":{}}})",
                     json_text(tool.name),
                     json_text(tool.description),
                     json_object(tool.parameters, R"({"type":"object","properties":{}})"));
}

std::string text_part(std::string_view text) {
  return fmt::format(R"({{"text":{}}})", json_text(agent::is_blank(text) ? "(empty)" : text));
}

constexpr auto k_media =
    std::to_array<std::string_view>({"image/png", "image/jpeg", "image/webp", "application/pdf"});

// The parts of one message after the other. A result goes under the name by which the model called,
// and with an id only where the server gave one.
class Parts {
 public:
  explicit Parts(bool wants_signatures) : wants_signatures_(wants_signatures) {}

  std::string operator()(const agent::UserMessage& message) {
    std::string parts;
    for (const agent::Attachment& one : message.attachments) {
      parts += fmt::format(
          R"({{"inlineData":{{"mimeType":"{}","data":"{}"}}}},)", one.media_type, one.base64);
    }
    return parts + text_part(message.text);
  }

  std::string operator()(const agent::ToolMessage& message) {
    const std::string id = server_ids_.contains(message.call_id)
                               ? R"("id":)" + json_text(message.call_id) + ","
                               : std::string();
    const auto called = names_.find(message.call_id);
    return fmt::format(R"({{"functionResponse":{{{}"name":{},"response":{{"{}":{}}}}}}})",
                       id,
                       json_text(called == names_.end() ? message.name : called->second),
                       message.is_error ? "error" : "result",
                       json_text(message.content));
  }

  std::string operator()(const agent::AssistantMessage& message) {
    const agent::Reply& reply = *message.reply;
    for (const agent::ToolCall& call : reply.tool_calls) {
      names_[call.id] = call.name;
    }
    if (reply.protocol == k_name && reply.raw.size() > 2) {
      note_ids(reply.raw);
      return reply.raw.substr(1, reply.raw.size() - 2);  // without the brackets
    }
    std::string parts;
    if (!reply.text.empty() || reply.tool_calls.empty()) {
      parts = text_part(reply.text);
    }
    std::string_view signature = wants_signatures_ ? k_no_signature : "";
    for (const agent::ToolCall& call : reply.tool_calls) {
      parts += parts.empty() ? "" : ",";
      parts += fmt::format(R"({{"functionCall":{{"name":{},"args":)", json_text(call.name));
      append_arguments(parts, call.arguments);
      parts += fmt::format("}}{}}}", std::exchange(signature, ""));
    }
    return parts;
  }

 private:
  void note_ids(std::string_view raw) {
    const agent::Json parts = agent::parse_json(raw).value_or(agent::Json());
    for (const agent::Json& part : parts) {
      if (const agent::Json* call = agent::find(part, "functionCall")) {
        server_ids_.emplace(agent::text_at(*call, "id"));
      }
    }
  }

  // The newer models refuse a turn whose first call has no signature; this stands for the one that
  // a call by another model cannot have (ai.google.dev/gemini-api/docs/thought-signatures).
  static constexpr std::string_view k_no_signature =
      R"(,"thoughtSignature":"skip_thought_signature_validator")";

  bool wants_signatures_;
  std::map<std::string, std::string> names_;  // by call id
  std::set<std::string, std::less<>> server_ids_;
};

// Whether, and which, functions are to be called.
std::string calling(const agent::ModelRequest& request) {
  const std::string_view choice = request.tool_choice;
  if (choice.empty() || choice == "auto" || request.tools.empty()) {
    return {};
  }
  return fmt::format(R"(,"toolConfig":{{"functionCallingConfig":{{"mode":"{}"{}}}}})",
                     choice == "none" ? "NONE" : "ANY",
                     is_tool_name(choice)
                         ? fmt::format(R"(,"allowedFunctionNames":[{}])", json_text(choice))
                         : "");
}

class Gemini final : public Wire {
 public:
  using Wire::Wire;

  std::string_view name() const override { return k_name; }

  std::string url() const override {
    const std::string_view folder = settings_.model.contains('/') ? "/" : "/models/";
    return join_url(settings_.base_url, fmt::format("{}{}", folder, settings_.model)) +
           (settings_.stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
  }

  // Vertex wants an access token where AI Studio wants a key.
  agent::Headers headers() const override {
    agent::Headers own;
    if (!settings_.api_key.empty() && settings_.quirks.bearer) {
      own.emplace_back("authorization", "Bearer " + settings_.api_key);
    } else if (!settings_.api_key.empty()) {
      own.emplace_back("x-goog-api-key", settings_.api_key);
    }
    return request_headers(settings_, own);
  }

  std::string body_head(const agent::ModelRequest& request) const override {
    std::string head = "{";
    if (!request.instructions.empty()) {
      head += fmt::format(R"("systemInstruction":{{"parts":[{{"text":{}}}]}},)",
                          json_text(request.instructions));
    }
    if (!request.tools.empty()) {
      head += fmt::format(R"("tools":[{{"functionDeclarations":[{}]}}],)",
                          joined(request.tools, encode));
    }
    return head + R"("contents":[)";
  }

  void append_messages(std::string& body,
                       std::span<const agent::Message> messages,
                       const agent::Message* previous) const override {
    constexpr TurnOpenings k_openings = {.user = R"({"role":"user","parts":[)",
                                         .assistant = R"({"role":"model","parts":[)"};
    Parts parts(!is_older_model(settings_.model));
    append_turns(
        body, messages, previous, k_openings, [&](const auto& message) { return parts(message); });
  }

  std::span<const std::string_view> media() const override { return k_media; }

  std::optional<std::string> lacks(const agent::ModelRequest& request) const override {
    const bool is_old =
        settings_.model.contains("gemini-1") || settings_.model.contains("gemini-2");
    if (!request.output_schema.empty() && !request.tools.empty() && is_old) {
      return fmt::format("schema for answers beside tools in {}", settings_.model);
    }
    return too_many_stops(settings_, 5);
  }

  std::string body_tail(const agent::ModelRequest& request) const override {
    std::string settings;
    const auto add = [&](const std::string& setting) {
      settings += (settings.empty() || setting.empty() ? "" : ",") + setting;
    };
    if (const auto limit = max_tokens(settings_, request)) {
      add(fmt::format(R"("maxOutputTokens":{})", *limit));
    }
    if (settings_.temperature) {
      add(R"("temperature":)" + agent::dump(agent::number_json(*settings_.temperature)));
    }
    add(thinking(settings_));
    if (!settings_.stop.empty()) {
      add(R"("stopSequences":)" + json_list(settings_.stop));
    }
    if (!request.output_schema.empty()) {
      add(fmt::format(R"("responseMimeType":"application/json","responseJsonSchema":{})",
                      request.output_schema));
    }
    std::string tail = request.conversation.messages.empty() ? "]" : "]}]";
    tail += calling(request);
    if (!settings.empty()) {
      tail += fmt::format(R"(,"generationConfig":{{{}}})", settings);
    }
    return tail + "}";
  }

  std::unique_ptr<Decoder> decoder() const override { return make_gemini_decoder(); }
};

}  // namespace

std::unique_ptr<Wire> make_gemini(WireSettings settings) {
  return std::make_unique<Gemini>(std::move(settings));
}

}  // namespace providers

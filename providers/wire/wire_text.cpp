#include "providers/wire/wire_text.h"

#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace providers {
namespace {

bool is_same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

void replace(agent::Headers& headers, const agent::Headers& by) {
  for (const auto& [name, value] : by) {
    std::erase_if(headers, [&](const auto& field) { return is_same_name(field.first, name); });
  }
  headers.insert(headers.end(), by.begin(), by.end());
}

std::string encode_function(const agent::ToolInfo& tool) {
  return fmt::format(
      R"({{"type":"function","function":{{"name":{},"description":{},"parameters":{}}}}})",
      json_text(tool.name),
      json_text(tool.description),
      json_object(tool.parameters, R"({"type":"object","properties":{}})"));
}

}  // namespace

std::string join_url(std::string_view base, std::string_view path) {
  const auto query = std::min(base.find('?'), base.size());
  std::string_view front = base.substr(0, query);
  while (front.ends_with('/')) {
    front.remove_suffix(1);
  }
  std::string url(front);
  if (!front.ends_with(path)) {
    url += path;
  }
  url += base.substr(query);
  return url;
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';
    result += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

agent::Headers request_headers(const WireSettings& settings, const agent::Headers& own) {
  agent::Headers headers = {
      {"content-type", "application/json"},
      {"accept", settings.stream ? "text/event-stream" : "application/json"},
      {"user-agent", "errand/" ERRAND_VERSION},
  };
  replace(headers, own);
  replace(headers, settings.extra_headers);
  return headers;
}

agent::Headers openai_credentials(const WireSettings& settings) {
  if (settings.api_key.empty()) {
    return {};
  }
  return settings.quirks.api_key_header
             ? agent::Headers{{"api-key", settings.api_key}}
             : agent::Headers{{"authorization", "Bearer " + settings.api_key}};
}

void append_items(std::string& body, std::string_view items) {
  if (!items.empty()) {
    body += body.ends_with('[') ? "" : ",";
    body += items;
  }
}

std::string json_text(std::string_view text) {
  std::string json;
  agent::append_json_text(json, text);
  return json;
}

std::string data_url(const agent::Attachment& attachment) {
  return fmt::format(R"("data:{};base64,{}")", attachment.media_type, attachment.base64);
}

std::string json_object(std::string_view text, std::string_view otherwise) {
  const auto json = agent::parse_json(text);
  return json && json->is_object() ? agent::dump(*json) : std::string(otherwise);
}

namespace {

bool is_object(std::string_view text) {
  const auto json = agent::parse_json(text);
  return json && json->is_object();
}

std::string malformed(std::string_view arguments) {
  return arguments.empty() ? "{}" : R"({"malformed_arguments":)" + json_text(arguments) + "}";
}

}  // namespace

std::string history_arguments(std::string_view arguments) {
  return is_object(arguments) ? std::string(arguments) : malformed(arguments);
}

void append_arguments(std::string& out, std::string_view arguments) {
  if (is_object(arguments)) {
    out += arguments;
  } else {
    out += malformed(arguments);
  }
}

void append_arguments_text(std::string& out, std::string_view arguments) {
  if (is_object(arguments)) {
    agent::append_json_text(out, arguments);
  } else {
    agent::append_json_text(out, malformed(arguments));
  }
}

std::string chat_head(std::string_view model,
                      std::span<const agent::ToolInfo> tools,
                      std::string_view instructions) {
  std::string head = R"({"model":)" + json_text(model);
  if (!tools.empty()) {
    head += fmt::format(R"(,"tools":[{}])", joined(tools, encode_function));
  }
  head += R"(,"messages":[)";
  if (!instructions.empty()) {
    head += fmt::format(R"({{"role":"system","content":{}}})", json_text(instructions));
  }
  return head;
}

std::optional<std::string> too_many_stops(const WireSettings& settings, std::size_t most) {
  return settings.stop.size() > most
             ? std::optional(fmt::format("more than {} stop sequences", most))
             : std::nullopt;
}

std::string json_list(std::span<const std::string> texts) {
  return "[" + joined(texts, [](const std::string& text) { return json_text(text); }) + "]";
}

bool is_tool_name(std::string_view tool_choice) {
  return !tool_choice.empty() && tool_choice != "auto" && tool_choice != "required" &&
         tool_choice != "none";
}

std::optional<std::int64_t> max_tokens(const WireSettings& settings,
                                       const agent::ModelRequest& request) {
  if (settings.max_output_tokens && request.max_output_tokens) {
    return std::min(*settings.max_output_tokens, *request.max_output_tokens);
  }
  const bool is_small = request.max_output_tokens <= settings.largest_cap;
  return settings.max_output_tokens || !is_small ? settings.max_output_tokens
                                                 : request.max_output_tokens;
}

}  // namespace providers

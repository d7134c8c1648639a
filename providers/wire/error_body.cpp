#include "providers/wire/error_body.h"

#include "agent/sse.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace providers {
namespace {

using agent::Json;

constexpr auto npos = std::string_view::npos;

// A member as text: strings as they are, numbers in digits, other things as JSON.
std::string text_of(const Json& object, std::string_view key) {
  const Json* member = agent::find(object, key);
  if (member == nullptr) {
    return {};
  }
  return member->is_string() ? member->get<std::string>() : agent::dump(*member);
}

void add_word(ErrorBody& body, const Json& object, std::string_view key) {
  const Json* member = agent::find(object, key);
  if (member == nullptr || member->is_structured() || member->is_boolean()) {
    return;
  }
  std::string word = agent::to_lower(text_of(object, key));
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size()) {
    if (number >= 400 && number <= 599 && body.status == 0) {
      body.status = number;
    }
    return;
  }
  if (!word.empty()) {
    body.words.push_back(std::move(word));
  }
}

// FastAPI's list of what is wrong with each field.
std::string join_details(const Json& list) {
  std::string joined;
  for (const Json& item : list) {
    std::string message(agent::text_at(item, "msg", agent::text_at(item, "message")));
    if (message.empty()) {
      message = item.is_string() ? item.get<std::string>() : agent::dump(item);
    }
    joined += (joined.empty() ? "" : "; ") + message;
  }
  return joined;
}

std::string message_of(const Json& error) {
  for (const std::string_view key : {"message", "detail", "msg", "error_description", "errors"}) {
    const Json* member = agent::find(error, key);
    if (member == nullptr) {
      continue;
    }
    if (member->is_string()) {
      return member->get<std::string>();
    }
    if (member->is_array()) {
      return join_details(*member);
    }
    return member->is_object() ? message_of(*member) : agent::dump(*member);
  }
  return error.is_object() && !error.empty() ? agent::dump(error) : std::string();
}

void read_extras(ErrorBody& body, const Json& error) {
  if (const Json* details = agent::find(error, "details")) {
    add_word(body, *details, "error_code");
    if (details->is_array()) {
      for (const Json& detail : *details) {
        add_word(body, detail, "reason");
      }
    }
  }
  if (const Json* inner = agent::find(error, "innererror")) {
    add_word(body, *inner, "code");
  }
  if (const Json* metadata = agent::find(error, "metadata")) {
    add_word(body, *metadata, "error_type");
    if (agent::find(*metadata, "flagged_input") != nullptr) {
      body.words.emplace_back("content_policy_violation");
    }
    body.detail = text_of(*metadata, "raw");
  }
}

// `error` is the object (or text) with the message, `outer` what stands around it.
ErrorBody read_error(const Json& error, const Json& outer) {
  ErrorBody body;
  body.is_json = true;
  body.error = agent::dump(error);
  body.request_id = text_of(outer, "request_id");
  body.message = error.is_string() ? error.get<std::string>() : message_of(error);
  constexpr std::array<std::string_view, 7> k_word_keys = {
      "code", "type", "status", "status_code", "raw_status_code", "error_type", "error_code"};
  for (const std::string_view key : k_word_keys) {
    add_word(body, error, key);
    if (&error != &outer && !(key == "type" && agent::text_at(outer, key) == "error")) {
      add_word(body, outer, key);
    }
  }
  body.param = agent::text_at(error, "param");
  read_extras(body, error);
  return body;
}

bool is_text(const Json* member) {
  return member != nullptr && member->is_string() && !member->get_ref<const std::string&>().empty();
}

// {message, type, code}, {detail}: without an object around them.
bool is_flat_error(const Json& json) {
  if (agent::text_at(json, "object") == "error" || agent::text_at(json, "type") == "error") {
    return true;
  }
  if (agent::find(json, "choices") != nullptr || agent::find(json, "content") != nullptr) {
    return false;
  }
  const Json* detail = agent::find(json, "detail");
  if (is_text(detail) || (detail != nullptr && detail->is_array())) {
    return true;
  }
  return is_text(agent::find(json, "message")) &&
         (agent::find(json, "code") != nullptr || agent::find(json, "type") != nullptr ||
          json.size() == 1);
}

std::optional<ErrorBody> error_in_stream(std::string_view text) {
  std::optional<ErrorBody> found;
  const auto look = [&](const agent::StreamEvent& event) {
    if (const auto json = agent::parse_json(event.data)) {
      found = find_error(*json);
    }
    return !found;
  };
  agent::SseParser parser;
  parser.feed(text, look);
  if (const auto last = parser.finish()) {
    look(*last);
  }
  return found;
}

std::string html_title(std::string_view html) {
  const std::string words = agent::to_lower(html.substr(0, 4096));
  const auto open = words.find("<title");
  const auto start = open == npos ? npos : words.find('>', open);
  const auto end = start == npos ? npos : words.find("</title", start);
  return end == npos ? std::string() : std::string(html.substr(start + 1, end - start - 1));
}

}  // namespace

bool ErrorBody::has_word(std::string_view word) const {
  return std::ranges::find(words, word) != words.end();
}

std::optional<ErrorBody> find_error(const Json& json) {
  if (json.is_array()) {
    return json.empty() ? std::nullopt : find_error(json.front());
  }
  const Json* error = agent::find(json, "error");
  if (error != nullptr && (is_text(error) || (error->is_object() && !error->empty()))) {
    return read_error(*error, json);
  }
  if (is_flat_error(json)) {
    return read_error(json, json);
  }
  if (const Json* response = agent::find(json, "response");
      response != nullptr && agent::text_at(json, "type") == "response.failed") {
    return find_error(*response).value_or(ErrorBody{.is_json = true});
  }
  return std::nullopt;
}

ErrorBody read_error_body(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  text = start == npos ? std::string_view() : text.substr(start);
  if (const auto json = agent::parse_json(text)) {
    if (auto found = find_error(*json)) {
      return *std::move(found);
    }
    if (json->is_object()) {
      return read_error(*json, *json);
    }
  }
  if (auto found = error_in_stream(text)) {
    return *std::move(found);
  }
  ErrorBody body;
  const std::string valid = agent::to_valid_utf8(text);
  body.message = text.starts_with('<') ? html_title(valid) : valid;
  return body;
}

}  // namespace providers

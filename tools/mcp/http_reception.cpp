#include "tools/mcp/http_reception.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tools::mcp {
namespace {

constexpr std::size_t k_most_message = 64u << 20;  // bytes
constexpr std::chrono::milliseconds k_shortest_retry{10};
constexpr std::chrono::milliseconds k_longest_retry{60'000};
constexpr auto k_fields =
    std::to_array<std::string_view>({":", "data:", "event:", "id:", "retry:"});

}  // namespace

agent::Heard HttpReception::take(std::string_view bytes) {
  if (form_ == Form::unknown) {
    const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      return agent::Heard::nothing;
    }
    // No event begins with either.
    form_ = bytes[begin] == '{' || bytes[begin] == '[' ? Form::json : Form::events;
    is_stream_ = std::ranges::any_of(
        k_fields, [&](std::string_view field) { return bytes.substr(begin).starts_with(field); });
  }
  if (form_ == Form::json) {
    json_ += bytes;
  } else {
    stream_.feed(bytes, [this](const agent::StreamEvent& event) { return take_event(event); });
    note_stream();
  }
  if (std::max(json_.size(), stream_.pending()) > k_most_message) {
    problem_ = fmt::format("sent a message of more than {} MiB", k_most_message >> 20);
  }
  return is_answered_ || !problem_.empty() ? agent::Heard::enough : agent::Heard::answer;
}

void HttpReception::finish() {
  if (!problem_.empty()) {
    return;
  }
  if (form_ == Form::json) {
    take_messages(std::exchange(json_, {}));
  } else if (form_ == Form::events && !is_stream_ && !stream_.is_plausible()) {
    problem_ = "sent what is neither JSON nor a stream of events";
  } else if (const auto last = stream_.finish(); last && last_id_.empty()) {
    take_event(*last);
  }
}

void HttpReception::begin_again() {
  form_ = Form::unknown;
  stream_ = {};
}

void HttpReception::note_stream() {
  if (!stream_.last_id().empty()) {
    last_id_ = stream_.last_id();
  }
  if (const auto retry = stream_.retry()) {
    retry_ = std::clamp(*retry, k_shortest_retry, k_longest_retry);
  }
}

// False: what comes after it is not wanted. Events of other names are none of the protocol's, as
// `ping` for those who would take silence for death.
bool HttpReception::take_event(const agent::StreamEvent& event) {
  const bool is_message = event.name.empty() || event.name == "message";
  if (event.name == "endpoint" && heard_.on_endpoint) {
    heard_.on_endpoint(event.data);
  } else if (is_message && !event.data.empty()) {
    ++events_;
    take_messages(event.data);
  }
  return !is_answered_;
}

void HttpReception::take_messages(std::string_view text) {
  auto messages = read_messages(text, Reading::lenient);
  if (!messages && id_ == 0) {  // a stream of many answers does not end for what is nobody's
    if (heard_.on_noise) {
      heard_.on_noise(shown(text));
    }
    return;
  }
  if (!messages) {
    problem_ = "sent what is no message: " + shown(text);
    return;
  }
  for (Message& message : *messages) {
    if (message.kind == Message::Kind::error && message.id.is_null() && id_ != 0) {
      message.id = id_;  // it can be about nothing else
    }
    const bool is_answer =
        message.kind != Message::Kind::request && message.kind != Message::Kind::notification;
    is_answered_ = is_answered_ || (is_answer && id_ != 0 && id_of(message) == id_);
    heard_.on_message(std::move(message));
  }
}

}  // namespace tools::mcp

#include "agent/sse.h"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace agent {
namespace {

// Digits only, and few enough for a wait.
std::optional<std::chrono::milliseconds> retry_of(std::string_view value) {
  std::uint32_t milliseconds = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), milliseconds);
  if (error != std::errc{} || end != value.data() + value.size()) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

void SseParser::feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty() && !is_stopped_) {
    if (std::exchange(skips_lf_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      line_.append(bytes);
      return;
    }
    line_.append(bytes.substr(0, end));
    skips_lf_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(on_event);
  }
}

std::optional<StreamEvent> SseParser::finish() {
  if (is_stopped_) {
    return std::nullopt;
  }
  if (!line_.empty()) {
    take_line(line_);
    line_.clear();
  }
  if (!std::exchange(has_data_, false)) {
    return std::nullopt;
  }
  return std::exchange(event_, {});
}

void SseParser::end_line(const OnEvent& on_event) {
  const std::string line = std::exchange(line_, {});
  if (!line.empty()) {
    take_line(line);
    return;
  }
  const StreamEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false) && !on_event(event)) {
    is_stopped_ = true;
  }
}

void SseParser::take_line(std::string_view line) {
  constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";
  if (std::exchange(is_first_line_, false) && line.starts_with(k_byte_order_mark)) {
    line.remove_prefix(k_byte_order_mark.size());
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) {
    take_field(line, {});
    return;
  }
  comments_ += colon == 0 ? 1 : 0;
  std::string_view value = line.substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  take_field(line.substr(0, colon), value);
}

void SseParser::take_field(std::string_view field, std::string_view value) {
  if (field == "data") {
    if (std::exchange(has_data_, true)) {
      event_.data += '\n';
    }
    event_.data += value;
  } else if (field == "event") {
    event_.name = value;
  } else if (field == "id") {
    if (value.find('\0') == std::string_view::npos) {
      last_id_ = value;
    }
  } else if (field == "retry") {
    if (const auto retry = retry_of(value)) {
      retry_ = retry;
    }
  } else if (!field.empty()) {
    return;
  }
  has_seen_stream_ = true;
}

}  // namespace agent

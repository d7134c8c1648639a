#include "providers/wire/event_stream.h"

#include "agent/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>
#include <zlib.h>

namespace providers {
namespace {

// A frame: length of all, length of the headers, checksum of these two; headers; payload;
// checksum of all before it. Numbers are big-endian.
constexpr std::size_t k_prelude = 12;
constexpr std::size_t k_checksum = 4;
constexpr std::size_t k_longest_frame = 16u << 20;
constexpr std::uint8_t k_text_header = 7;

std::uint32_t number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes) {
    value = value << 8 | static_cast<std::uint8_t>(c);
  }
  return value;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  return number(bytes.substr(at, 4));
}

std::uint32_t checksum(std::string_view bytes) {
  // The type is what the library wants; the bytes are only read.
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(crc32(0, data, static_cast<uInt>(bytes.size())));
}

struct FrameHeaders {
  std::string message_type;
  std::string type;     // of the event, the exception or the error
  std::string message;  // of an error
};

// Bytes of a header's value by its type's number; nullopt: it says its own length.
std::optional<std::size_t> fixed_size(std::uint8_t type) {
  constexpr std::size_t k_sizes[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
  return type < std::size(k_sizes) && type != 6 && type != k_text_header
             ? std::optional(k_sizes[type])
             : std::nullopt;
}

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  // The next `size` bytes; fewer only where the headers end before.
  std::string_view take(std::size_t size) {
    const auto part = bytes_.substr(0, size);
    is_cut_ = is_cut_ || part.size() < size;
    bytes_.remove_prefix(part.size());
    return part;
  }
  bool is_cut() const { return is_cut_; }

 private:
  std::string_view bytes_;
  bool is_cut_ = false;
};

std::optional<FrameHeaders> read_headers(std::string_view bytes) {
  FrameHeaders headers;
  HeaderReader reader(bytes);
  while (!reader.is_at_end()) {
    const auto name = reader.take(number(reader.take(1)));
    const auto type = static_cast<std::uint8_t>(number(reader.take(1)));
    const auto fixed = fixed_size(type);
    const auto value = reader.take(fixed ? *fixed : number(reader.take(2)));
    if (reader.is_cut() || type > 9) {
      return std::nullopt;
    }
    if (name == ":message-type") {
      headers.message_type = value;
    } else if (name == ":event-type" || name == ":exception-type" || name == ":error-code") {
      headers.type = value;
    } else if (name == ":error-message") {
      headers.message = value;
    }
  }
  return headers;
}

agent::StreamEvent to_event(const FrameHeaders& headers, std::string_view payload) {
  if (headers.message_type == "event") {
    return {.name = headers.type, .data = std::string(payload)};
  }
  std::string message = headers.message;
  if (const auto json = agent::parse_json(payload)) {
    message = agent::text_at(*json, "message", message);
  }
  return {.name = headers.type,
          .data = agent::dump({{"error", {{"type", headers.type}, {"message", message}}}})};
}

}  // namespace

std::string EventStreamParser::over_limit() const {
  return long_frame_ == 0
             ? std::string()
             : fmt::format(
                   "has a frame of {} bytes, at most {} are read", long_frame_, k_longest_frame);
}

void EventStreamParser::feed(std::string_view bytes, const OnEvent& on_event) {
  buffer_ += bytes;
  std::string_view rest = buffer_;
  while (!is_broken_ && !is_stopped_ && rest.size() >= k_prelude) {
    const std::size_t size = number_at(rest, 0);
    const std::size_t header_size = number_at(rest, 4);
    const bool is_prelude = checksum(rest.substr(0, 8)) == number_at(rest, 8);
    long_frame_ = is_prelude && size > k_longest_frame ? size : 0;
    is_broken_ = !is_prelude || long_frame_ > 0 || size < k_prelude + header_size + k_checksum;
    if (is_broken_ || rest.size() < size) {
      break;
    }
    const std::string_view frame = rest.substr(0, size - k_checksum);
    const auto headers = read_headers(frame.substr(k_prelude, header_size));
    is_broken_ = !headers || checksum(frame) != number_at(rest, frame.size());
    if (!is_broken_) {
      is_stopped_ = !on_event(to_event(*headers, frame.substr(k_prelude + header_size)));
    }
    rest.remove_prefix(size);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
}

}  // namespace providers

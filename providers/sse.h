// Server-sent events out of bytes that come in any pieces. Knows no protocol and no JSON.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace providers {

struct SseEvent {
  std::string name;  // empty: none was sent
  std::string data;  // `data` lines, joined with LF

  bool operator==(const SseEvent&) const = default;
};

// Lines end with LF, CRLF or CR; a leading byte order mark, comments, `id`, `retry` and unknown
// fields are ignored. Bytes are never interpreted before their line is whole.
class SseParser {
 public:
  // Returning false stops the parser for good.
  using OnEvent = std::function<bool(const SseEvent&)>;

  void feed(std::string_view bytes, const OnEvent& on_event);
  // The event that the last byte left without its blank line, if there is one with data.
  std::optional<SseEvent> finish();
  // Whether any line so far belongs to an event stream (a known field, or a comment).
  bool has_seen_stream() const { return has_seen_stream_; }

 private:
  void end_line(const OnEvent& on_event);
  void take_line(std::string_view line);
  void take_field(std::string_view field, std::string_view value);

  std::string line_;  // the part of the current line that came
  SseEvent event_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool skips_lf_ = false;  // the last byte was the CR of a CRLF, perhaps
  bool has_seen_stream_ = false;
  bool is_stopped_ = false;
};

}  // namespace providers

// Server-sent events out of bytes that come in any pieces.
#pragma once
#include "agent/stream_parser.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

// Lines end with LF, CRLF or CR; several `data` lines are joined with LF; a leading byte order
// mark, comments and unknown fields are ignored. Bytes are never interpreted before their line is
// whole.
class SseParser final : public StreamParser {
 public:
  void feed(std::string_view bytes, const OnEvent& on_event) override;
  std::optional<StreamEvent> finish() override;
  std::size_t pending() const override { return line_.size() + event_.data.size(); }
  std::size_t comments() const override { return comments_; }
  // Some line so far is a known field, or a comment.
  bool is_plausible() const override { return has_seen_stream_; }
  // By which the stream can be taken up again after what has come; empty: it cannot.
  const std::string& last_id() const { return last_id_; }
  // How long to wait before that, where the server has said so.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void end_line(const OnEvent& on_event);
  void take_line(std::string_view line);
  void take_field(std::string_view field, std::string_view value);

  std::string line_;  // the part of the current line that came
  StreamEvent event_;
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  std::size_t comments_ = 0;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool skips_lf_ = false;  // the last byte was the CR of a CRLF, perhaps
  bool has_seen_stream_ = false;
  bool is_stopped_ = false;
};

}  // namespace agent

// Amazon's event stream (application/vnd.amazon.eventstream): binary frames with checksums, out of
// bytes that come in any pieces.
#pragma once
#include "agent/stream_parser.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace providers {

// An event is named by its `:event-type`. An exception becomes an event with an error object as its
// data: {"error": {"type": …, "message": …}}.
class EventStreamParser final : public agent::StreamParser {
 public:
  void feed(std::string_view bytes, const OnEvent& on_event) override;
  // A frame that is cut is nothing.
  std::optional<agent::StreamEvent> finish() override { return std::nullopt; }
  std::size_t pending() const override { return buffer_.size(); }
  // No checksum and no length was wrong.
  bool is_plausible() const override { return !is_broken_; }
  std::string over_limit() const override;

 private:
  std::string buffer_;  // the part of the current frame that came
  bool is_broken_ = false;
  std::size_t long_frame_ = 0;  // bytes, of one over the limit
  bool is_stopped_ = false;
};

}  // namespace providers

// JSON objects and arrays that stand in a row, as in NDJSON, out of bytes that come in any pieces.
#pragma once
#include "agent/stream_parser.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace providers {

// A value ends with its last bracket, wherever the lines end. What stands between two values and is
// no space is an event too, the last one.
class JsonLinesParser final : public agent::StreamParser {
 public:
  void feed(std::string_view bytes, const OnEvent& on_event) override;
  std::optional<agent::StreamEvent> finish() override;
  std::size_t pending() const override { return value_.size(); }
  bool is_plausible() const override { return true; }

 private:
  bool takes(char c);

  std::string value_;  // the part of the current value that came
  int depth_ = 0;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool is_stopped_ = false;
};

}  // namespace providers

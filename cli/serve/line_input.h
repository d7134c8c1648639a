// Lines of a descriptor, one at a time, in bounded memory whatever comes.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace cli {

class LineInput {
 public:
  struct Line {
    std::string text;          // without its end
    bool is_too_long = false;  // `text` is empty
  };

  // The descriptor is borrowed.
  LineInput(int descriptor, std::size_t most_bytes)
      : descriptor_(descriptor), most_bytes_(most_bytes) {}

  // The next one, also a last one without an end; nullopt at the end, and soon after `is_over` says
  // so. storage.io where reading fails.
  agent::Result<std::optional<Line>> next(const std::function<bool()>& is_over);

 private:
  std::optional<Line> take_line();
  agent::Result<void> read_more(const std::function<bool()>& is_over);

  int descriptor_;
  std::size_t most_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;      // of the line that is next
  std::size_t looked_at_ = 0;  // up to where it has no end
  bool is_too_long_ = false;   // that line: what came of it is dropped
  bool is_at_end_ = false;
};

// Whether the other end of a pipe or a socket is gone, though there may be something to read still.
bool is_hung_up(int descriptor);

}  // namespace cli

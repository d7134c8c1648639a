// A regular file line by line, in bounded memory however large the file or the line is.
#pragma once
#include "tools/files/regular_file.h"

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tools {

struct Line {
  std::string_view text;  // without its end; valid until the next call of next()
  bool is_cut = false;    // the line is longer than what is kept
  bool had_cr = false;    // it ended in CR LF
};

class LineReader {
 public:
  // Keeps at most `max_line` bytes of a line. The file and its name are borrowed.
  LineReader(const RegularFile& file, const NamedPath& name, std::size_t max_line);

  // nullopt at the end of the file. tool.cancelled after `stop`; tool.failed as read_some.
  agent::Result<std::optional<Line>> next(const std::stop_token& stop);

  // A NUL byte was in what has been read so far (at most 64 kB ahead of the last line).
  bool saw_nul() const { return saw_nul_; }

 private:
  agent::Result<bool> refill(const std::stop_token& stop);
  Line finish(std::string_view text, bool has_end);
  void keep(std::string_view part);

  const RegularFile& file_;
  const NamedPath& name_;
  std::size_t max_line_;
  std::string buffer_;
  std::string_view unread_;  // of buffer_
  std::string carried_;      // the beginning of a line that spans buffers
  bool is_cut_ = false;
  bool saw_nul_ = false;
};

}  // namespace tools

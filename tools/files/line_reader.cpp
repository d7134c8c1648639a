#include "tools/files/line_reader.h"

#include <algorithm>
#include <utility>

namespace tools {
namespace {

using agent::Result;

constexpr std::size_t k_buffer = 64 << 10;

}  // namespace

LineReader::LineReader(const RegularFile& file, const NamedPath& name, std::size_t max_line)
    : file_(file), name_(name), max_line_(max_line), buffer_(k_buffer, '\0') {}

Result<std::optional<Line>> LineReader::next(const std::stop_token& stop) {
  carried_.clear();
  is_cut_ = false;
  for (bool is_started = false;; is_started = true) {
    if (unread_.empty()) {
      TRY_ASSIGN(const bool has_more, refill(stop));
      if (!has_more) {
        return is_started ? std::optional(finish(carried_, false)) : std::nullopt;
      }
    }
    const std::size_t end = unread_.find('\n');
    const std::string_view part = unread_.substr(0, end);
    unread_.remove_prefix(end == std::string_view::npos ? unread_.size() : end + 1);
    if (end == std::string_view::npos) {
      keep(part);
      continue;
    }
    if (!is_started) {
      is_cut_ = part.size() > max_line_;
      return finish(part, true);
    }
    keep(part);
    return finish(carried_, true);
  }
}

Result<bool> LineReader::refill(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return agent::fail(agent::Code::tool_cancelled, "stopped while reading");
  }
  TRY_ASSIGN(const std::size_t got, read_some(file_, name_, buffer_.data(), buffer_.size()));
  unread_ = std::string_view(buffer_).substr(0, got);
  saw_nul_ = saw_nul_ || unread_.find('\0') != std::string_view::npos;
  return got > 0;
}

Line LineReader::finish(std::string_view text, bool has_end) {
  Line line{.text = text.substr(0, max_line_), .is_cut = is_cut_};
  if (has_end && !is_cut_ && line.text.ends_with('\r')) {
    line.text.remove_suffix(1);
    line.had_cr = true;
  }
  return line;
}

void LineReader::keep(std::string_view part) {
  const std::size_t room = max_line_ - carried_.size();
  carried_ += part.substr(0, room);
  is_cut_ = is_cut_ || part.size() > room;
}

}  // namespace tools

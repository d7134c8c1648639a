#include "cli/serve/line_input.h"

#include "agent/descriptor.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <stop_token>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

constexpr std::chrono::milliseconds k_look_up{50};

}  // namespace

agent::Result<std::optional<LineInput::Line>> LineInput::next(
    const std::function<bool()>& is_over) {
  for (;;) {
    if (is_over()) {
      return std::nullopt;
    }
    if (auto line = take_line()) {
      return line;
    }
    if (is_at_end_) {
      return std::nullopt;
    }
    TRY(read_more(is_over));
  }
}

// One that is too long is dropped while it comes.
std::optional<LineInput::Line> LineInput::take_line() {
  const std::size_t end = buffer_.find('\n', looked_at_);
  const bool is_whole = end != std::string::npos;
  const std::size_t length = (is_whole ? end : buffer_.size()) - begin_;
  is_too_long_ = is_too_long_ || length > most_bytes_;
  if (!is_whole && !(is_at_end_ && (length > 0 || is_too_long_))) {
    buffer_.erase(0, is_too_long_ ? buffer_.size() : begin_);
    begin_ = 0;
    looked_at_ = buffer_.size();
    return std::nullopt;
  }
  Line line{.text = {}, .is_too_long = std::exchange(is_too_long_, false)};
  if (!line.is_too_long) {
    line.text = buffer_.substr(begin_, length);
  }
  begin_ = is_whole ? end + 1 : buffer_.size();
  looked_at_ = begin_;
  return line;
}

agent::Result<void> LineInput::read_more(const std::function<bool()>& is_over) {
  std::array<char, 64 << 10> bytes;
  for (;;) {
    const auto until = std::chrono::steady_clock::now() + k_look_up;
    if (!agent::wait_for_input(descriptor_, {}, until)) {
      if (is_over()) {
        return {};
      }
      continue;
    }
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(count));
      is_at_end_ = count == 0;
      return {};
    }
    if (errno != EINTR && errno != EAGAIN) {
      return agent::fail(agent::Code::storage_io,
                         std::string("cannot read standard input: ") + std::strerror(errno));
    }
  }
}

bool is_hung_up(int descriptor) {
  pollfd one{.fd = descriptor, .events = 0, .revents = 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace cli

#include "tools/process/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Descriptor;

// How many of the bytes could be written; fewer where the disk is full.
std::size_t write_all(int file, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno != EINTR) {
      return done;
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return done;
}

}  // namespace

void Captured::remove_file() {
  if (!spill_path.empty()) {
    ::unlink(spill_path.c_str());
    spill_path.clear();
  }
}

Capture::Capture(std::filesystem::path folder, CaptureLimits limits)
    : folder_(std::move(folder)), limits_(limits) {}

void Capture::add(std::string_view bytes) {
  captured_.total_bytes += bytes.size();
  if (!is_long_ && head_.size() + bytes.size() <= limits_.memory) {
    head_ += bytes;
    return;
  }
  if (!is_long_) {
    is_long_ = true;
    open_file();
    spill(head_);
    keep_tail(std::string_view(head_).substr(std::min(head_.size(), limits_.memory / 2)));
    head_.resize(std::min(head_.size(), limits_.memory / 2));
  }
  spill(bytes);
  const std::size_t room = limits_.memory / 2 - head_.size();
  head_ += bytes.substr(0, room);
  keep_tail(bytes.substr(std::min(room, bytes.size())));
}

// The tail may grow to twice its size before it is cut, so that cutting costs little.
void Capture::keep_tail(std::string_view bytes) {
  const std::size_t size = limits_.memory - limits_.memory / 2;
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), size));
  if (tail_.size() > 2 * size) {
    tail_.erase(0, tail_.size() - size);
  }
}

void Capture::open_file() {
  if (limits_.file == 0) {
    return;
  }
  std::error_code ignored;  // what matters is whether the file can be made
  std::filesystem::create_directories(folder_, ignored);
  std::string path = (folder_ / "output-XXXXXX").string();
  file_ = Descriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (file_) {
    captured_.spill_path = path;
  }
}

// Once something did not fit, nothing more is written: the file is a prefix without gaps.
void Capture::spill(std::string_view bytes) {
  std::size_t written = 0;
  if (file_ && captured_.lost_bytes == 0) {
    const std::uint64_t room = limits_.file - in_file_;
    written = write_all(file_.get(), bytes.substr(0, std::min<std::uint64_t>(room, bytes.size())));
  }
  in_file_ += written;
  digest_ = agent::fnv1a(bytes.substr(0, written), digest_);
  captured_.lost_bytes += bytes.size() - written;
}

Captured Capture::finish() {
  const std::size_t size = limits_.memory - limits_.memory / 2;
  if (tail_.size() > size) {
    tail_.erase(0, tail_.size() - size);
  }
  captured_.is_whole = !is_long_;
  captured_.text = std::move(head_) + tail_;
  file_.reset();
  if (in_file_ == 0) {  // a full disk took nothing
    captured_.remove_file();
  }
  name_file();
  return std::move(captured_);
}

void Capture::name_file() {
  constexpr int k_most_alike = 1'000;
  const std::string made = captured_.spill_path;
  for (int alike = 1; !made.empty() && alike <= k_most_alike; ++alike) {
    const std::string name =
        fmt::format("output-{:016x}{}", digest_, alike == 1 ? "" : fmt::format("-{}", alike));
    const std::string path = (folder_ / name).string();
    if (::link(made.c_str(), path.c_str()) == 0) {
      ::unlink(made.c_str());
      captured_.spill_path = path;
      return;
    }
    if (errno != EEXIST) {
      return;  // it keeps the name that it has
    }
  }
}

}  // namespace tools

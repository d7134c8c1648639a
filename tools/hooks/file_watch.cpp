#include "tools/hooks/file_watch.h"

#include "agent/descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_longest_script = 16u << 20;  // what comes after it is data

// Of what is no regular file, its kind: a pipe would be waited for.
std::string content_of(const fs::path& file) {
  const agent::Descriptor opened(
      ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    return std::to_string(status.st_mode & S_IFMT);
  }
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  std::string content(static_cast<std::size_t>(std::min(size, k_longest_script)), '\0');
  std::size_t read = 0;
  while (read < content.size()) {
    const ssize_t some = ::read(opened.get(), content.data() + read, content.size() - read);
    if (some == 0 || (some < 0 && errno != EINTR)) {
      break;
    }
    read += some > 0 ? static_cast<std::size_t>(some) : 0;
  }
  content.resize(read);
  return content;
}

}  // namespace

FileWatch::FileWatch(std::vector<fs::path> files) {
  for (fs::path& file : files) {
    std::vector<sandbox::WayPoint> way = sandbox::way_to(file);
    std::string content = content_of(file);
    entries_.push_back(
        {.path = std::move(file), .way = std::move(way), .content = std::move(content)});
  }
}

std::vector<FileWatch::Mark> FileWatch::marks() const {
  std::vector<Mark> marks;
  for (const Entry& entry : entries_) {
    struct stat status{};
    const bool is_there = ::stat(entry.path.c_str(), &status) == 0;
    constexpr std::int64_t k_second = 1'000'000'000;
    marks.push_back(is_there ? Mark{static_cast<std::int64_t>(status.st_dev),
                                    static_cast<std::int64_t>(status.st_ino),
                                    status.st_ctim.tv_sec * k_second + status.st_ctim.tv_nsec}
                             : Mark{});
  }
  return marks;
}

fs::path FileWatch::changed_since(const std::vector<Mark>& marks) const {
  const std::vector<Mark> now = this->marks();
  const auto [before, after] = std::ranges::mismatch(marks, now);
  return before == marks.end() ? fs::path()
                               : entries_[static_cast<std::size_t>(before - marks.begin())].path;
}

fs::path FileWatch::changed() const {
  for (const Entry& entry : entries_) {
    if (sandbox::way_to(entry.path) != entry.way || content_of(entry.path) != entry.content) {
      return entry.path;
    }
  }
  return {};
}

}  // namespace tools

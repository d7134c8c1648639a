#include "tools/hooks/file_watch.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_longest_script = 16u << 20;  // what comes after it is data

std::string content_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  std::string content(error ? 0 : std::min(size, k_longest_script), '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
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

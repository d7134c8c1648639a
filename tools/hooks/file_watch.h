// Whether files are still what they were.
#pragma once
#include "tools/sandbox/way.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tools {

// Files as they were when this was made, and the links by which their names led to them.
class FileWatch {
 public:
  explicit FileWatch(std::vector<std::filesystem::path> files);

  bool is_empty() const { return entries_.empty(); }
  // The first one that is no longer what it was; empty: all are.
  std::filesystem::path changed() const;

  // By what is seen that a file was written or replaced, also where it is now what it was before:
  // its device, its number, and when that was changed, in nanoseconds.
  using Mark = std::array<std::int64_t, 3>;
  std::vector<Mark> marks() const;
  // The first one that was so; empty: none.
  std::filesystem::path changed_since(const std::vector<Mark>& marks) const;

 private:
  struct Entry {
    std::filesystem::path path;
    std::vector<sandbox::WayPoint> way;
    std::string content;
  };
  std::vector<Entry> entries_;
};

}  // namespace tools

// What decides where a path leads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace tools::sandbox {

struct WayPoint {
  enum class Kind : std::uint8_t {
    folder,      // gone through
    left_again,  // a folder that `..` follows: a link in its place would lead elsewhere
    link,
    target,  // what the path leads to; it need not exist
  };
  std::filesystem::path path;  // absolute; without links in what is above it
  Kind kind = Kind::folder;
  bool operator==(const WayPoint&) const = default;
};

// All that is on the way, links of links and of folders included, in order; the target comes last.
// More links than the kernel follows (40) end at the next one. A relative path starts at the
// current folder.
std::vector<WayPoint> way_to(const std::filesystem::path& path);

// Of these: what may be another file tomorrow by its name alone, the links and the target.
std::vector<std::filesystem::path> names_on(const std::vector<WayPoint>& way);
// And with the folders that it leaves again, in whose place there may be links.
std::vector<std::filesystem::path> deciding_on(const std::vector<WayPoint>& way);

}  // namespace tools::sandbox

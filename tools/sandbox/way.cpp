#include "tools/sandbox/way.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace tools::sandbox {

namespace {

constexpr int k_most_links = 40;

}  // namespace

std::vector<WayPoint> way_to(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  using Kind = WayPoint::Kind;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  std::deque<fs::path> left(whole.begin(), whole.end());
  std::vector<WayPoint> way;
  fs::path at = "/";
  for (int links = 0; !left.empty();) {
    const fs::path part = std::move(left.front());
    left.pop_front();
    if (part.empty() || part == "." || part == "/") {
      at = part == "/" ? part : at;
      continue;
    }
    if (at.has_relative_path()) {
      way.push_back({.path = at, .kind = part == ".." ? Kind::left_again : Kind::folder});
    }
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    fs::path next = at / part;
    const fs::path leads_to = fs::read_symlink(next, error);
    if (error) {
      at = std::move(next);
      continue;
    }
    if (++links > k_most_links) {
      at = std::move(next);
      break;
    }
    way.push_back({.path = std::move(next), .kind = Kind::link});
    left.insert(left.begin(), leads_to.begin(), leads_to.end());
  }
  way.push_back({.path = std::move(at), .kind = Kind::target});
  return way;
}

namespace {

std::vector<std::filesystem::path> paths_of(const std::vector<WayPoint>& way,
                                            std::initializer_list<WayPoint::Kind> kinds) {
  std::vector<std::filesystem::path> paths;
  for (const WayPoint& point : way) {
    if (std::ranges::find(kinds, point.kind) != kinds.end()) {
      paths.push_back(point.path);
    }
  }
  return paths;
}

}  // namespace

std::vector<std::filesystem::path> names_on(const std::vector<WayPoint>& way) {
  return paths_of(way, {WayPoint::Kind::link, WayPoint::Kind::target});
}

std::vector<std::filesystem::path> deciding_on(const std::vector<WayPoint>& way) {
  return paths_of(way, {WayPoint::Kind::left_again, WayPoint::Kind::link, WayPoint::Kind::target});
}

}  // namespace tools::sandbox

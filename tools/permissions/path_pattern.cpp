#include "tools/permissions/path_pattern.h"

#include "tools/permissions/shell_script.h"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <cstddef>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

constexpr int k_most_links = 40;  // as the kernel

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

// What follows `folder` in `path`; nullopt: it is elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
  if (folder == "/") {
    return path == "/" ? std::nullopt : std::optional(path.substr(1));
  }
  if (!path.starts_with(folder) || path.size() <= folder.size() || path[folder.size()] != '/') {
    return std::nullopt;
  }
  return path.substr(folder.size() + 1);
}

// Names with a `\` in them belong to the folder, too: `a\*b/**` is all of the folder `a*b`.
void move_names_to_folder(SplitPattern& split) {
  for (std::size_t end = split.rest.find('/'); end != std::string::npos;
       end = split.rest.find('/')) {
    std::string name;
    for (std::size_t at = 0; at < end; ++at) {
      if (std::string_view("*?[{").contains(split.rest[at])) {
        return;
      }
      at += split.rest[at] == '\\' ? 1 : 0;
      name += split.rest[at];
    }
    const bool is_last = end + 1 == split.rest.size();
    if (name.empty() || name == "." || name == ".." || name.contains('/') || is_last) {
      return;
    }
    split.folder += (split.folder.empty() || split.folder.ends_with('/') ? "" : "/") + name;
    split.rest.erase(0, end + 1);
  }
}

bool has_marks(std::string_view pattern) {
  return pattern.find_first_of("*?[{\\") != std::string_view::npos;
}

// No wildcard but `{a,b}`.
bool has_only_names(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size(); at += pattern[at] == '\\' ? 2 : 1) {
    if (std::string_view("*?[").contains(pattern[at])) {
      return false;
    }
  }
  return true;
}

// The pattern as a text pattern that matches all that it matches, and more.
std::string outline(std::string_view pattern) {
  std::string text;
  for (const char c : pattern) {
    text += std::string_view("*?[]{},\\").contains(c) ? '*' : c;
  }
  return text;
}

// What of /proc says the same to every program, and leads nowhere else.
constexpr auto k_of_the_machine = std::to_array<std::string_view>(
    {"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"});
constexpr auto k_streams =
    std::to_array<std::string_view>({"/dev/stderr", "/dev/stdin", "/dev/stdout"});

// A path without links in what is in front of its last name.
bool is_of_processes(const fs::path& place) {
  const std::string text = place.string();
  const auto in_proc = below(text, "/proc");
  return text == "/dev/fd" ||
         (in_proc && std::ranges::find(k_of_the_machine, *in_proc) == k_of_the_machine.end());
}

// Tells of each place on the way, links included.
template <typename Visit>
fs::path follow(const fs::path& path, Visit visit) {
  std::deque<fs::path> names(path.begin(), path.end());
  fs::path real = "/";
  int links = 0;
  while (!names.empty()) {
    const fs::path name = std::move(names.front());
    names.pop_front();
    if (name.empty() || name == "." || name == "/") {
      continue;
    }
    if (name == "..") {
      real = real.parent_path();
      continue;
    }
    visit(real / name);
    std::error_code error;
    const fs::path target = fs::read_symlink(real / name, error);
    if (error || ++links > k_most_links) {
      real /= name;
      continue;
    }
    if (target.is_absolute()) {
      real = "/";
    }
    names.insert(names.begin(), target.begin(), target.end());
  }
  return real;
}

}  // namespace

fs::path true_path(const fs::path& path) {
  return follow(path, [](const fs::path&) {});
}

bool is_own_stream(const fs::path& path) {
  return std::ranges::find(k_streams, path.string()) != k_streams.end();
}

bool leads_through_processes(const fs::path& path) {
  if (is_own_stream(path)) {
    return false;
  }
  bool is_found = false;
  const fs::path real =
      follow(path, [&](const fs::path& place) { is_found = is_found || is_of_processes(place); });
  return is_found || real == "/proc";
}

std::string literal_path(const fs::path& path) {
  std::string pattern;
  for (const char c : path.string()) {
    if (std::string_view("*?[]{},\\").contains(c)) {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern;
}

Result<PathPattern> PathPattern::compile(std::string_view pattern, const Folders& folders) {
  const bool at_home = pattern == "~" || pattern.starts_with("~/");
  const fs::path base = at_home                 ? folders.home
                        : folders.start.empty() ? folders.cwd
                                                : folders.start;
  SplitPattern split =
      split_pattern(at_home ? pattern.substr(std::min<std::size_t>(2, pattern.size())) : pattern);
  move_names_to_folder(split);
  if (!has_marks(split.rest) && (split.rest == "." || split.rest == ".." || split.rest.empty())) {
    return agent::fail(Code::config_invalid,
                       fmt::format("the path pattern `{}` names a folder", pattern),
                       "write `FOLDER/**` for all that is in it");
  }
  auto strict = Glob::compile(split.rest, {.hidden = true});
  auto wide = Glob::compile(lower(split.rest), {.hidden = true, .ignore_case = true});
  if (!strict || !wide) {
    return agent::fail(Code::config_invalid,
                       strict ? wide.error().message : strict.error().message,
                       "patterns know * ? [a-z] {a,b} ** and \\ before a character that stands for "
                       "itself");
  }
  fs::path folder = without_slash((base / split.folder).lexically_normal().string());
  const std::string cwd = folders.cwd.string() + "/";
  const bool is_around = (cwd).starts_with(folder.string() == "/" ? "/" : folder.string() + "/");
  PathPattern made(std::move(folder), std::move(split.rest), std::move(*strict), std::move(*wide));
  made.is_apart_ = !is_around;
  return made;
}

PathPattern::PathPattern(fs::path folder, std::string rest, Glob strict, Glob wide)
    : folder_(std::move(folder)),
      rest_(std::move(rest)),
      strict_(std::move(strict)),
      wide_(std::move(wide)),
      outline_(outline((folder_ / rest_).string())),
      is_file_(!has_marks(rest_)),
      is_of_names_(has_only_names(rest_)),
      is_apart_(false) {}

bool PathPattern::allows(const fs::path& true_path) const {
  const std::string path = true_path.string();
  const auto rest = below(path, folder_.string());
  return rest ? strict_.matches(*rest) : rest_ == "**" && true_path == folder_;
}

bool PathPattern::forbids(const fs::path& path, bool folder) const {
  const fs::path real_folder = true_path(folder_);
  const std::string asked = lower(without_slash(path.lexically_normal().string()));
  const std::string real = lower(true_path(path).string());
  for (const std::string& one : {asked, real}) {
    for (const fs::path& start : {folder_, real_folder}) {
      const std::string begin = lower(start.string());
      const auto rest = below(one, begin);
      if ((rest && wide_.matches(*rest)) || (folder && is_apart_ && one == begin)) {
        return true;
      }
    }
    if (is_file_ && one == lower(true_path(folder_ / rest_).string())) {
      return true;
    }
  }
  return false;
}

Match PathPattern::forbids_other_name(const fs::path& path) const {
  struct stat file = {};
  struct stat place = {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink < 2 ||
      ::stat((is_file_ ? folder_ / rest_ : folder_).c_str(), &place) != 0) {
    return Match::no;
  }
  const bool is_it = file.st_dev == place.st_dev && file.st_ino == place.st_ino;
  return is_it ? Match::yes : is_file_ ? Match::no : Match::maybe;
}

std::optional<fs::path> PathPattern::place() const {
  if (is_file_) {
    return folder_ / rest_;
  }
  return rest_ == "**" && is_apart_ ? std::optional(folder_) : std::nullopt;
}

// What the pattern's own links lead to is another text that it is about.
std::vector<TextPattern> PathPattern::outlines() const {
  std::vector<TextPattern> all{outline_};
  const fs::path real =
      is_file_ ? true_path(folder_ / rest_) : true_path(folder_) / fs::path(rest_);
  if (real != folder_ / rest_) {
    all.emplace_back(outline(real.string()));
  }
  return all;
}

// Each step on the way is taken for what it really is. Where no link is on it, what the text says
// is all that it can be.
class PathPattern::Search {
 public:
  Search(const PathPattern& pattern, int& to_look_at)
      : pattern_(pattern), outlines_(pattern.outlines()), to_look_at_(to_look_at) {}

  bool finds(const fs::path& path) {
    if (path.native().size() > PATH_MAX) {
      return true;
    }
    names_.assign(std::next(path.begin()), path.end());
    left_.push_back({.folder = path.root_path(), .at = 0});
    while (!left_.empty()) {
      const Step step = std::move(left_.back());
      left_.pop_back();
      if (is_forbidden(step)) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Step {
    fs::path folder;  // a true path
    std::size_t at;   // of the names that lead on from there
    auto operator<=>(const Step&) const = default;
  };

  // Or leads to steps that are left, or to more than can be looked at.
  bool is_forbidden(Step step) {
    while (step.at < names_.size() && !has_unknown(names_[step.at].native())) {
      step.folder /= names_[step.at++];
    }
    if (step.at == names_.size()) {
      return pattern_.forbids(step.folder, true);
    }
    step.folder = true_path(step.folder);
    if (!known_.insert(step).second) {
      return false;
    }
    fs::path text = step.folder;
    std::for_each(names_.begin() + static_cast<std::ptrdiff_t>(step.at),
                  names_.end(),
                  [&](const fs::path& name) { text /= name; });
    const std::string plain = text.lexically_normal().string();
    constexpr std::size_t k_as_one_entry = 64;  // bytes
    to_look_at_ -= 1 + static_cast<int>(plain.size() / k_as_one_entry);
    return to_look_at_ < 0 ||
           std::ranges::any_of(
               outlines_, [&](const TextPattern& one) { return one.may_cover(plain); }) ||
           !look_behind_wildcard(step);
  }

  // False: nobody can tell.
  bool look_behind_wildcard(const Step& step) {
    const bool is_last = step.at + 1 == names_.size();
    std::error_code error;
    for (fs::directory_iterator entry(step.folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (--to_look_at_ < 0) {
        return false;
      }
      std::error_code gone;
      const bool is_link = entry->is_symlink(gone);
      const std::string name = entry->path().filename().string();
      if ((is_link || (!is_last && entry->is_directory(gone))) &&
          TextPattern(literal_pattern(name)).may_cover(names_[step.at].native())) {
        left_.push_back(
            {.folder = is_link ? true_path(entry->path()) : entry->path(), .at = step.at + 1});
      }
    }
    return !error || error == std::errc::no_such_file_or_directory ||
           error == std::errc::not_a_directory || error == std::errc::permission_denied;
  }

  const PathPattern& pattern_;
  std::vector<TextPattern> outlines_;
  int& to_look_at_;
  std::vector<fs::path> names_;
  std::vector<Step> left_;
  std::set<Step> known_;
};

bool PathPattern::may_forbid(const fs::path& path, int& to_look_at) const {
  return outline_.may_cover(path.lexically_normal().string()) ||
         Search(*this, to_look_at).finds(path);
}

}  // namespace tools

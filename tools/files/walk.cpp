#include "tools/files/walk.h"

#include "tools/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tools {
namespace {

using agent::Result;
namespace fs = std::filesystem;

constexpr std::size_t k_max_entries = 100'000;    // of one folder
constexpr std::size_t k_max_visited = 1'000'000;  // of one walk

// Compares as the paths of what is in them would: "a.b" stands before "a/c".
bool comes_before(const FolderEntry& a, const FolderEntry& b) {
  const auto end_of = [](const FolderEntry& entry) { return entry.is_folder() ? '/' : '\0'; };
  const std::size_t size = std::min(a.name.size(), b.name.size());
  if (const int order = a.name.compare(0, size, b.name, 0, size); order != 0) {
    return order < 0;
  }
  const auto next = [&](const FolderEntry& entry) {
    return static_cast<unsigned char>(entry.name.size() > size ? entry.name[size] : end_of(entry));
  };
  return next(a) < next(b);
}

std::unexpected<agent::Error> cannot_list(const NamedPath& folder, int error_number) {
  std::error_code ignored;
  if (error_number == ENOTDIR && fs::exists(folder.path, ignored)) {
    return agent::fail(agent::Code::tool_failed,
                       fmt::format("`{}` is a file, not a folder", one_line(folder.shown, 400)),
                       "Name a folder.");
  }
  return file_error("list", folder.shown, error_number);
}

class Walker {
 public:
  Walker(const WalkOptions& options,
         const std::stop_token& stop,
         const std::function<Walk(const std::string&, const FolderEntry&)>& visit)
      : options_(options), stop_(stop), visit_(visit) {}

  Result<WalkEnd> walk(const NamedPath& root) {
    TRY_ASSIGN(Folder folder, read_folder(root, stop_));
    show(root, "", folder, 1);
    end_.stopped = stop_.stop_requested();
    return end_;
  }

 private:
  // False: the walk is over.
  bool show(const NamedPath& at,
            const std::string& prefix,
            const Folder& folder,
            std::size_t depth) {
    end_.is_whole = end_.is_whole && folder.is_whole;
    return std::ranges::all_of(folder.entries, [&](const FolderEntry& entry) {
      return show_entry(at, prefix, entry, depth);
    });
  }

  bool show_entry(const NamedPath& at,
                  const std::string& prefix,
                  const FolderEntry& entry,
                  std::size_t depth) {
    if (stop_.stop_requested()) {
      return false;
    }
    if (++visited_ > k_max_visited) {
      end_.is_whole = false;
      return false;
    }
    if (!options_.hidden && entry.name.starts_with('.')) {
      return true;
    }
    return entry.is_folder() ? enter(at, prefix, entry, depth)
                             : visit_(prefix + entry.name, entry) == Walk::go_on;
  }

  bool enter(const NamedPath& at,
             const std::string& prefix,
             const FolderEntry& entry,
             std::size_t depth) {
    if (entry.name == ".git") {
      return true;
    }
    if (depth >= options_.max_depth) {
      ++end_.too_deep;
      return true;
    }
    const NamedPath below{.shown = join_shown(at.shown, entry.name),
                          .path = at.path / entry.name,
                          .policy = at.policy};
    const auto folder = read_folder(below, stop_);
    if (!folder) {
      ++end_.unread;
      return true;
    }
    return show(below, prefix + entry.name + '/', *folder, depth + 1);
  }

  const WalkOptions& options_;
  const std::stop_token& stop_;
  const std::function<Walk(const std::string&, const FolderEntry&)>& visit_;
  std::size_t visited_ = 0;
  WalkEnd end_;
};

}  // namespace

Result<Folder> read_folder(const NamedPath& folder, const std::stop_token& stop) {
  TRY(check_listing(folder));
  std::error_code error;
  Folder read;
  for (fs::directory_iterator at(folder.path, error), end; !error && at != end;
       at.increment(error)) {
    if (stop.stop_requested() || read.entries.size() == k_max_entries) {
      read.is_whole = false;
      break;
    }
    std::error_code ignored;
    read.entries.push_back(
        {.name = at->path().filename().string(), .type = at->symlink_status(ignored).type()});
  }
  if (error) {
    return cannot_list(folder, error.value());
  }
  std::ranges::sort(read.entries, comes_before);
  return read;
}

std::string WalkEnd::notes() const {
  std::string notes;
  if (unread > 0) {
    notes += fmt::format("[{} folder{} could not be read]\n", unread, unread == 1 ? "" : "s");
  }
  if (too_deep > 0) {
    notes += fmt::format("[{} folder{} too deep to enter]\n", too_deep, too_deep == 1 ? "" : "s");
  }
  if (!is_whole) {
    notes += "[there is more than was looked at: name a folder further down]\n";
  }
  return notes;
}

Result<WalkEnd> walk(const NamedPath& folder,
                     const WalkOptions& options,
                     const std::stop_token& stop,
                     const std::function<Walk(const std::string&, const FolderEntry&)>& visit) {
  return Walker(options, stop, visit).walk(folder);
}

std::string join_shown(std::string_view folder, std::string_view name) {
  if (folder.empty() || folder == ".") {
    return std::string(name);
  }
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

}  // namespace tools

// Folders, in one fixed order: what is in one, and what is below one. Links are shown, not
// followed; `.git` is never entered, and no other file system that holds no files.
#pragma once
#include "tools/files/regular_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct FolderEntry {
  std::string name;
  std::filesystem::file_type type = std::filesystem::file_type::unknown;

  bool is_folder() const { return type == std::filesystem::file_type::directory; }
};

struct Folder {
  std::vector<FolderEntry> entries;  // sorted so that a walk in this order is in path order
  bool is_whole = true;              // false: over 100,000 entries, or stopped
  std::filesystem::path real;        // where it is
};

// tool.failed where it is missing, forbidden, or no folder; else as open_regular().
agent::Result<Folder> read_folder(const NamedPath& folder, const std::stop_token& stop);

enum class Walk : std::uint8_t { go_on, end };

struct WalkOptions {
  bool hidden = false;          // enter folders and show names that begin with a dot
  std::size_t max_depth = 100;  // names in a path; deeper folders are left out and counted
};

struct WalkEnd {
  bool stopped = false;      // by the stop token
  std::size_t unread = 0;    // folders that could not be read
  std::size_t too_deep = 0;  // folders below max_depth
  std::size_t made_up = 0;   // folders of other file systems that hold no files: proc, sysfs, FUSE
  bool is_whole = true;      // false: over a million entries, or a folder over its own limit

  // What the model must know about the gaps: "[2 folders could not be read]"; lines or empty.
  std::string notes() const;
};

// Shows every file (and link, pipe, …) below the folder with its path relative to it, folders
// left out. tool.failed only where the first folder cannot be read.
agent::Result<WalkEnd> walk(
    const NamedPath& folder,
    const WalkOptions& options,
    const std::stop_token& stop,
    const std::function<Walk(const std::string& relative, const FolderEntry& entry)>& visit);

// `folder/name` as the model may write it in its next call.
std::string join_shown(std::string_view folder, std::string_view name);

}  // namespace tools

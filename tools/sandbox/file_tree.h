// A file or folder as it was, with all that was in it: to see later what became of it, and to put
// it back. Never follows a link that somebody may have put in the way.
#pragma once
#include "tools/sandbox/sight.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace tools::sandbox {

class FileTree {
 public:
  // Of an absolute path free of links. Takes what it holds from `room` (bytes); content that has
  // no room, or cannot be read, is told by size and times alone and cannot be put back. What
  // `before` has and looks the same from outside is not read again.
  static FileTree read(const std::filesystem::path& path,
                       std::size_t& room,
                       Sight& sight,
                       const FileTree* before = nullptr);

  bool is_there() const { return !entries_.empty(); }
  bool is_link() const;
  // Whether a file of it could be written elsewhere: it has more than one link.
  bool has_other_names() const;
  // The devices and numbers of these files.
  void add_other_names(std::set<std::pair<dev_t, ino_t>>& to) const;
  // Content, kind and mode are the same.
  bool is_same(const FileTree& other) const;
  // One text for all that are the same, of what a file of the path's kind holds; short. What is not
  // known is told by its number, size and time.
  std::string fingerprint() const;
  // Whether nothing has been changed, added or taken away since, by what the file system tells.
  bool looks_untouched() const;
  // Where nothing is, with folders on the way where they are missing. False: it is not as it was.
  bool put_back() const;

  std::size_t size() const;  // bytes of content that it has
  // For a process of the same program. nlohmann::json::exception where it is none.
  nlohmann::json kept() const;
  static FileTree from(const nlohmann::json& kept);

 private:
  struct Entry {
    struct stat status = {};
    std::string content;  // of a file; the target of a link
    bool is_known = true;
  };

  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;  // by path
};

// The same of what the system says of a file.
nlohmann::json kept_status(const struct stat& status);
struct stat status_from(const nlohmann::json& kept);

// Gives what stands at the path another name beside it: NAME.untrusted, or with a number where that
// is taken, and less of NAME where that would be too long. Empty where there is nothing, or it
// could not be (errno says why). Folders on the way below `root` that refuse to be entered are
// opened for their owner.
std::filesystem::path move_aside(const std::filesystem::path& path,
                                 const std::filesystem::path& root);

// Gives what stands at `from` the path as its name, with folders on the way where they are missing.
// False: it is something else, or could not be.
bool move_back(const std::filesystem::path& from,
               const struct stat& what,
               const std::filesystem::path& path);

// Of a folder. False where it is none, or cannot be reached.
bool set_mode(const std::filesystem::path& folder, mode_t mode);

}  // namespace tools::sandbox

// A file on its way from its old content to a new one: the place found and checked, the new content
// written beside it, then renamed over. Whoever looks sees the old content or the new one, never
// half. What is not kept in the end is put back.
#pragma once
#include "agent/result.h"
#include "tools/files/regular_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tools {

class AtomicFileWrite {
 public:
  // Follows links and makes missing folders. sandbox.violation where the place is none to write to,
  // tool.policy_blocked where permissions do not let the call write there,
  // also where a folder on the way is swapped for a link meanwhile; tool.failed where something
  // else than a regular file is there, or one that is closed to the process.
  static agent::Result<std::unique_ptr<AtomicFileWrite>> open(NamedPath file);

  AtomicFileWrite(const AtomicFileWrite&) = delete;
  AtomicFileWrite& operator=(const AtomicFileWrite&) = delete;
  ~AtomicFileWrite();

  bool exists() const { return exists_; }
  const struct stat& old_status() const { return old_; }  // where it exists
  const std::filesystem::path& true_path() const { return path_; }

  // tool.failed where the file has a content that the model has not seen.
  agent::Result<void> check_known() const;
  // tool.failed where it is not the file any more that `seen` is the status of.
  agent::Result<void> check_is(const struct stat& seen) const;

  // Writes the new content beside the place, with the mode (but for set-user-ID and set-group-ID),
  // access control list, extended attributes and, where allowed, the owner of the file at `like`
  // (null: as new files have it), executable or not where `is_executable` says so. tool.failed
  // where that file has further names (hard links), or the disk is full.
  agent::Result<void> draft(std::string_view content,
                            const AtomicFileWrite* like,
                            std::optional<bool> is_executable = std::nullopt);

  // The draft takes the place for good.
  agent::Result<void> take_place();

  // The same, or the file goes, in a way that can still be undone. tool.failed where the file was
  // changed by somebody else meanwhile, or the rename fails: then all is as before.
  agent::Result<void> swap_in();
  agent::Result<void> set_aside();
  void keep();
  // tool.failed says where the old content is left.
  agent::Result<void> put_back();

 private:
  struct MadeFolder {
    agent::Descriptor parent;
    std::string name;
  };
  enum class Stage : std::uint8_t { prepared, replaced, removed, kept };

  explicit AtomicFileWrite(NamedPath file) : file_(std::move(file)) {}
  agent::Result<void> find();
  agent::Result<void> enter_folder(const std::filesystem::path& path);
  agent::Result<void> check_place();
  agent::Result<void> check_still() const;
  agent::Result<void> check_one_name() const;
  int rename_new(const std::string& from, const std::string& to) const;
  int back_up();
  void drop_backup();
  void drop(std::string& name) const;
  void note() const;

  NamedPath file_;
  agent::Descriptor folder_;
  std::vector<MadeFolder> made_;
  std::string name_;  // in the folder
  std::filesystem::path path_;
  bool exists_ = false;
  struct stat old_ = {};
  std::string draft_;       // its name in the folder; empty: there is none
  std::string backup_;      // the same of the old content
  bool is_linked_ = false;  // the backup is a second name
  struct stat new_ = {};
  Stage stage_ = Stage::prepared;
};

// sandbox.violation where AtomicFileWrite::open would refuse the place; makes nothing.
agent::Result<void> check_place_to_write(const NamedPath& file);

struct Replaced {
  bool is_new = false;
  std::int64_t old_size = 0;
};

// One file, whole, in place of the old one, as draft() has it. Errors: as open and draft, and where
// the model does not know what it would replace. No file is left over after a failure.
agent::Result<Replaced> replace_file(const NamedPath& file, std::string_view content);

}  // namespace tools

#include "tools/files/walk.h"

#include "tests/support/skip.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

using tests::FileFolder;

namespace {

struct Seen {
  std::size_t files = 0;
  bool has_kept = false;
  bool has_status = false;
  tools::WalkEnd end;
};

Seen walked(const std::filesystem::path& path, std::size_t depth) {
  Seen seen;
  const auto end = tools::walk({.shown = path.string(), .path = path},
                               {.max_depth = depth},
                               {},
                               [&](const std::string& relative, const tools::FolderEntry&) {
                                 ++seen.files;
                                 seen.has_kept |= relative.ends_with("kept");
                                 seen.has_status |= relative.ends_with("status");
                                 return tools::Walk::go_on;
                               });
  REQUIRE(end);
  seen.end = *end;
  return seen;
}

}  // namespace

TEST_CASE("walk: /proc and /sys are entered only where they are named", "[tools]") {
  const Seen root = walked("/", 2);
  CHECK(root.end.made_up >= 1);
  CHECK(root.end.notes().contains("not entered: no files on a disk are there"));
  const Seen named = walked("/proc/self/task", 3);
  CHECK(named.has_status);
  CHECK(named.end.made_up == 0);
}

TEST_CASE("walk: other file systems that hold files are entered, others are not", "[tools]") {
  const FileFolder folder;
  folder.write("disk/none", "");
  folder.write("made-up/none", "");
  constexpr int k_no_mount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.at("disk").c_str(), "tmpfs", 0, "size=256k") != 0 ||
        ::mount("proc", folder.at("made-up").c_str(), "proc", 0, nullptr) != 0) {
      ::_exit(k_no_mount);
    }
    folder.write("disk/kept", "");
    const Seen seen = walked(folder.path(), 100);
    ::_exit(seen.files == 1 && seen.has_kept && seen.end.made_up == 1 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WEXITSTATUS(status) == k_no_mount) {
    tests::skip("no file system can be mounted here");
  }
  CHECK(status == 0);
}

#include "tools/files/atomic_file_write.h"

#include "tests/support/skip.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace fs = std::filesystem;
using agent::Code;
using tests::FileFolder;
using tools::AtomicFileWrite;

namespace {

std::unique_ptr<AtomicFileWrite> place_of(const FileFolder& folder, const std::string& name) {
  auto place = AtomicFileWrite::open({.shown = name, .path = folder.at(name)});
  REQUIRE(place);
  return std::move(*place);
}

struct stat status_of(const fs::path& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

}  // namespace

TEST_CASE("replacement: what was swapped in can be put back, the very file", "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  const auto before = status_of(folder.at("a"));
  const auto place = place_of(folder, "a");
  REQUIRE(place->draft("new", place.get()));
  CHECK(folder.read("a") == "old");
  REQUIRE(place->swap_in());
  CHECK(folder.read("a") == "new");
  REQUIRE(place->put_back());
  CHECK(folder.read("a") == "old");
  CHECK(status_of(folder.at("a")).st_ino == before.st_ino);
  CHECK(folder.count() == 1);
}

TEST_CASE("replacement: what is dropped unkept is put back", "[tools]") {
  const FileFolder folder;
  folder.write("old", "old");
  folder.write("gone", "gone");
  {
    const auto fresh = place_of(folder, "deep/er/new");
    const auto old = place_of(folder, "old");
    const auto gone = place_of(folder, "gone");
    REQUIRE(fresh->draft("x", nullptr));
    REQUIRE(fresh->swap_in());
    REQUIRE(old->draft("x", nullptr));
    REQUIRE(old->swap_in());
    REQUIRE(gone->set_aside());
    CHECK(folder.read("deep/er/new") == "x");
    CHECK_FALSE(fs::exists(folder.at("gone")));
  }
  CHECK(folder.read("old") == "old");
  CHECK(folder.read("gone") == "gone");
  CHECK(folder.count() == 2);  // nor are there the folders
}

TEST_CASE("replacement: what is kept leaves nothing beside it", "[tools]") {
  const FileFolder folder;
  folder.write("old", "old");
  folder.write("gone", "gone");
  {
    const auto fresh = place_of(folder, "deep/new");
    const auto old = place_of(folder, "old");
    const auto gone = place_of(folder, "gone");
    REQUIRE(fresh->draft("1", nullptr));
    REQUIRE(old->draft("2", nullptr));
    REQUIRE(fresh->swap_in());
    REQUIRE(old->swap_in());
    REQUIRE(gone->set_aside());
    for (const auto* place : {&fresh, &old, &gone}) {
      (*place)->keep();
    }
  }
  CHECK(folder.read("deep/new") == "1");
  CHECK(folder.read("old") == "2");
  CHECK(folder.count() == 2);
}

TEST_CASE("replacement: what somebody else has changed is left to them", "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  const auto place = place_of(folder, "a");
  const auto fresh = place_of(folder, "new");
  REQUIRE(place->draft("new", nullptr));
  REQUIRE(fresh->draft("new", nullptr));
  folder.write("a", "theirs");
  folder.write("new", "theirs");
  for (const auto* one : {&place, &fresh}) {
    const auto done = (*one)->swap_in();
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Code::tool_failed);
    CHECK_THAT(done.error().message, Catch::Contains("changed by somebody else"));
    CHECK((*one)->put_back());
  }
  CHECK_FALSE(place->set_aside());
  CHECK(folder.read("a") == "theirs");
  CHECK(folder.read("new") == "theirs");
  CHECK(folder.count() == 2);
}

TEST_CASE("replacement: an old content that cannot be put back is named", "[tools]") {
  const FileFolder folder;
  folder.write("sub/a", "precious");
  const auto place = place_of(folder, "sub/a");
  REQUIRE(place->set_aside());
  folder.write("sub/a", "theirs");  // by now
  const auto done = place->put_back();
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message,
             Catch::Contains("`sub/a` could not be put back (File exists); its old content is in"));
  const std::string& message = done.error().message;
  const std::size_t at = message.find(".errand-");
  REQUIRE(at != std::string::npos);
  CHECK(folder.read("sub/" + message.substr(at, message.find('`', at) - at)) == "precious");
  CHECK(folder.read("sub/a") == "theirs");
}

namespace {

std::string attribute_of(const fs::path& path, const char* name) {
  std::string value(4'096, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  value.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return size < 0 ? "(none)" : value;
}

bool set_attribute(const fs::path& path, const char* name, std::string_view value) {
  return ::setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
}

// As the kernel has it: version, then tag, rights and id of each entry.
std::string access_list(std::uint16_t rights_of_a_user) {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t rights;
    std::uint32_t id;
  };
  constexpr std::uint32_t k_nobody = 0xFFFF'FFFF;
  const std::array<Entry, 5> entries{Entry{1, 6, k_nobody},
                                     Entry{2, rights_of_a_user, 12'345},
                                     Entry{4, 4, k_nobody},
                                     Entry{0x10, 6, k_nobody},
                                     Entry{0x20, 0, k_nobody}};
  std::string list("\x02\0\0\0", 4);
  list.append(reinterpret_cast<const char*>(entries.data()), sizeof entries);
  return list;
}

}  // namespace

TEST_CASE("replacement: attributes and the access control list stay", "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  if (!set_attribute(folder.at("a"), "user.origin", "somewhere") ||
      !set_attribute(folder.at("a"), "user.empty", "") ||
      !set_attribute(folder.at("a"), "system.posix_acl_access", access_list(6))) {
    tests::skip("this file system has no attributes");
  }
  const mode_t mode = status_of(folder.at("a")).st_mode;
  REQUIRE(tools::replace_file({.shown = "a", .path = folder.at("a")}, "new"));
  CHECK(folder.read("a") == "new");
  CHECK(attribute_of(folder.at("a"), "user.origin") == "somewhere");
  CHECK(attribute_of(folder.at("a"), "user.empty").empty());
  CHECK(attribute_of(folder.at("a"), "system.posix_acl_access") == access_list(6));
  CHECK(status_of(folder.at("a")).st_mode == mode);
}

TEST_CASE("replacement: the list of its folder does not come upon a file that has none",
          "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  fs::permissions(folder.at("a"), fs::perms(0600));
  if (!set_attribute(folder.path(), "system.posix_acl_default", access_list(6))) {
    tests::skip("this file system has no access control lists");
  }
  REQUIRE(tools::replace_file({.shown = "a", .path = folder.at("a")}, "new"));
  CHECK(attribute_of(folder.at("a"), "system.posix_acl_access") == "(none)");
  CHECK((status_of(folder.at("a")).st_mode & 07777) == 0600);
}

TEST_CASE("replacement: new content has no capabilities and runs as nobody else", "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  REQUIRE(::chmod(folder.at("a").c_str(), 06755) == 0);
  // Revision 2, "effective", CAP_NET_RAW.
  const std::string capability("\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  const bool has_capability = set_attribute(folder.at("a"), "security.capability", capability);
  REQUIRE(tools::replace_file({.shown = "a", .path = folder.at("a")}, "new"));
  CHECK(attribute_of(folder.at("a"), "security.capability") == "(none)");
  CHECK((status_of(folder.at("a")).st_mode & 07777) == 0755);
  if (!has_capability) {
    tests::skip("only root may give capabilities");
  }
}

TEST_CASE("replacement: a file of several names is left as it is", "[tools]") {
  const FileFolder folder;
  folder.write("a", "old");
  fs::create_hard_link(folder.at("a"), folder.at("b"));
  const auto replaced = tools::replace_file({.shown = "a", .path = folder.at("a")}, "new");
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().code == Code::tool_failed);
  CHECK(replaced.error().message.starts_with("`a` has 2 names (hard links)"));
  CHECK(folder.read("b") == "old");
  CHECK(status_of(folder.at("a")).st_ino == status_of(folder.at("b")).st_ino);
  CHECK(folder.count() == 2);
}

TEST_CASE("replacement: on a full disk the old content stays, attributes and all", "[tools]") {
  const FileFolder folder;
  constexpr int k_no_mount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    // A small file system of its own, which goes away with the child.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
      ::_exit(k_no_mount);
    }
    folder.write("a", "old");
    static_cast<void>(set_attribute(folder.at("a"), "user.origin", "somewhere"));
    const std::string before = attribute_of(folder.at("a"), "user.origin");
    const auto replaced =
        tools::replace_file({.shown = "a", .path = folder.at("a")}, std::string(400'000, 'x'));
    const bool is_whole = !replaced && replaced.error().message.contains("No space left") &&
                          folder.read("a") == "old" && folder.count() == 1 &&
                          attribute_of(folder.at("a"), "user.origin") == before;
    ::_exit(is_whole ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WEXITSTATUS(status) == k_no_mount) {
    tests::skip("no file system can be mounted here");
  }
  CHECK(status == 0);
}

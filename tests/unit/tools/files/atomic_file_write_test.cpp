#include "tools/files/atomic_file_write.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <sys/stat.h>

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
  REQUIRE(place->draft("new", &place->old_status()));
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

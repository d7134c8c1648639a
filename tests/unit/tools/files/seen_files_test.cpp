#include "tools/files/seen_files.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using agent::Code;
using tests::FileFolder;
using tools::SeenFiles;
using State = tools::SeenFiles::State;

namespace {

struct stat seen_status_of(const fs::path& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

// The file tools of one run.
class Desk {
 public:
  tools::Output read(const std::string& path) {
    return run(tools::make_read_file, {{"path", path}});
  }
  tools::Output page(const std::string& path, int line) {
    return run(tools::make_read_file, {{"path", path}, {"offset", line}, {"limit", 1}});
  }
  tools::Output edit(const std::string& path, std::string_view from, std::string_view to) {
    return run(tools::make_edit_file, {{"path", path}, {"old_string", from}, {"new_string", to}});
  }
  tools::Output write(const std::string& path, std::string_view content) {
    return run(tools::make_write_file, {{"path", path}, {"content", content}});
  }

  FileFolder folder;

 private:
  tools::Output run(tests::Maker make, const agent::Json& arguments) {
    return folder.call(*tests::made(make), agent::dump(arguments), {}, &seen_);
  }

  SeenFiles seen_;
};

}  // namespace

TEST_CASE("seen_files: a file is known until it is another or has changed", "[tools]") {
  const FileFolder folder;
  folder.write("a", "one");
  const fs::path path = folder.at("a");
  SeenFiles seen;
  CHECK(seen.state(path, seen_status_of(path)) == State::unseen);
  seen.note(path, seen_status_of(path));
  CHECK(seen.state(path, seen_status_of(path)) == State::known);

  auto changed = seen_status_of(path);
  SECTION("another size") {
    changed.st_size += 1;
  }
  SECTION("another time") {
    changed.st_mtim.tv_nsec ^= 1;
  }
  SECTION("another file of that name") {
    changed.st_ino += 1;
  }
  SECTION("on another disk") {
    changed.st_dev += 1;
  }
  CHECK(seen.state(path, changed) == State::changed);
  seen.note(path, changed);
  CHECK(seen.state(path, changed) == State::known);
}

TEST_CASE("seen_files: remembers the last files, however many there are", "[tools]") {
  SeenFiles seen;
  const struct stat status = {};
  const auto path = [](std::size_t number) { return fs::path(fmt::format("/file/{}", number)); };
  for (std::size_t number = 0; number < SeenFiles::k_capacity; ++number) {
    seen.note(path(number), status);
  }
  CHECK(seen.state(path(0), status) == State::known);
  seen.note(path(0), status);  // again: now the latest
  seen.note(path(SeenFiles::k_capacity), status);
  CHECK(seen.state(path(0), status) == State::known);
  CHECK(seen.state(path(1), status) == State::unseen);
  CHECK(seen.state(path(2), status) == State::known);
}

TEST_CASE("seen_files: threads may note and ask at once", "[tools]") {
  SeenFiles seen(16);
  const struct stat status = {};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 2'000; ++round) {
        const fs::path path(fmt::format("/{}/{}", thread, round % 20));
        seen.note(path, status);
        [[maybe_unused]] const auto state = seen.state(path, status);
      }
    });
  }
  threads.clear();
  seen.note("/last", status);
  CHECK(seen.state("/last", status) == State::known);
}

TEST_CASE("seen_files: what was never read is neither edited nor written over", "[tools]") {
  Desk desk;
  desk.folder.write("a.txt", "one\n");
  const auto edit = desk.edit("a.txt", "one", "two");
  CHECK(edit.code == Code::tool_failed);
  CHECK(edit.message == "`a.txt` exists, and you have not read it in this run");
  CHECK_THAT(edit.suggestion, Catch::Contains("read_file first"));
  CHECK(desk.write("a.txt", "two\n").code == Code::tool_failed);
  CHECK(desk.folder.read("a.txt") == "one\n");

  CHECK_FALSE(desk.read("a.txt").code);
  CHECK_FALSE(desk.edit("a.txt", "one", "two").code);
  CHECK_FALSE(desk.edit("a.txt", "two", "three").code);  // it knows what it wrote
  CHECK_FALSE(desk.write("a.txt", "four\n").code);
  CHECK(desk.folder.read("a.txt") == "four\n");
  CHECK_FALSE(desk.write("new.txt", "x\n").code);
  CHECK_FALSE(desk.edit("new.txt", "x", "y").code);
}

TEST_CASE("seen_files: what has changed since has to be read again", "[tools]") {
  Desk desk;
  desk.folder.write("a.txt", "one\n");
  CHECK_FALSE(desk.read("a.txt").code);
  desk.folder.write("a.txt", "other\n");
  const auto edit = desk.edit("a.txt", "other", "two");
  CHECK(edit.code == Code::tool_failed);
  CHECK(edit.message == "`a.txt` has changed since you read or wrote it");
  CHECK_THAT(edit.suggestion, Catch::Contains("Read it again"));
  CHECK(desk.write("a.txt", "two\n").code == Code::tool_failed);
  CHECK_FALSE(desk.read("a.txt").code);
  CHECK_FALSE(desk.edit("a.txt", "other", "two").code);
}

TEST_CASE("seen_files: a file is known by whatever way the path leads to it", "[tools]") {
  Desk desk;
  desk.folder.write("src/a.txt", "one\n");
  fs::create_directory_symlink("src", desk.folder.at("way"));
  fs::create_symlink("src/a.txt", desk.folder.at("link"));
  CHECK_FALSE(desk.read("way/../way/a.txt").code);
  CHECK_FALSE(desk.edit("src/a.txt", "one", "two").code);
  CHECK_FALSE(desk.edit("link", "two", "three").code);
  CHECK_FALSE(desk.edit("way/./a.txt", "three", "four").code);
  CHECK(desk.folder.read("src/a.txt") == "four\n");
}

TEST_CASE("seen_files: what counts as having read a file", "[tools]") {
  Desk desk;
  desk.folder.write("long.txt", "1\n2\n3\n");
  desk.folder.write("binary", std::string_view("\0\1", 2));
  desk.folder.write("empty.txt", "");
  desk.folder.write("short.txt", "1\n");

  CHECK_FALSE(desk.page("long.txt", 2).code);
  CHECK_FALSE(desk.edit("long.txt", "1", "one").code);         // a part is enough
  CHECK(desk.page("short.txt", 2).code == Code::tool_failed);  // there is no such line
  CHECK(desk.read("binary").code == Code::tool_result_unusable);
  CHECK_FALSE(desk.write("binary", "text").code);     // more cannot be known of it
  CHECK_FALSE(desk.write("empty.txt", "text").code);  // there is nothing to lose
  CHECK(desk.write("short.txt", "text").code == Code::tool_failed);
}

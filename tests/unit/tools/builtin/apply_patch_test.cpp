#include "tests/unit/tools/file_support.h"
#include "tools/files/seen_files.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <filesystem>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <thread>

namespace fs = std::filesystem;
using agent::Code;
using tests::FileFolder;
using tools::Access;

namespace {

tools::Output applied(const FileFolder& folder,
                      std::string_view patch,
                      tools::SeenFiles* seen = nullptr) {
  return folder.call(
      *tests::made(tools::make_apply_patch), agent::dump(agent::Json{{"patch", patch}}), {}, seen);
}

Access access(std::string_view patch) {
  return tests::made(tools::make_apply_patch)->access(agent::Json{{"patch", patch}});
}

mode_t mode_of(const fs::path& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

std::string change(std::string_view path, std::string_view from, std::string_view to) {
  return fmt::format("--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+{2}\n", path, from, to);
}

constexpr const char* k_new = "--- /dev/null\n+++ b/deep/er/new\n@@ -0,0 +1 @@\n+new\n";

}  // namespace

TEST_CASE("apply_patch: changes, makes, deletes and renames files at once", "[tools]") {
  const FileFolder folder;
  folder.write("src/a.c", "1\n2\n3\n");
  folder.write("old", "gone\n");
  folder.write("from", "1\n2\n");
  const auto output =
      applied(folder,
              change("src/a.c", "2", "two") + k_new +
                  "diff --git a/old b/old\ndeleted file mode 100644\n"
                  "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
                  "diff --git a/from b/to/here\nrename from from\nrename to to/here\n"
                  "--- a/from\n+++ b/to/here\n@@ -2 +2 @@\n-2\n+two\n"
                  "diff --git a/empty b/empty\nnew file mode 100644\n");
  CHECK(output.code == std::nullopt);
  CHECK(output.text ==
        "patched src/a.c (1 hunk at line 2)\n"
        "created deep/er/new (4 bytes)\n"
        "deleted old\n"
        "renamed from to to/here (1 hunk at line 2)\n"
        "created empty (0 bytes)\n");
  CHECK(folder.read("src/a.c") == "1\ntwo\n3\n");
  CHECK(folder.read("deep/er/new") == "new\n");
  CHECK(folder.read("to/here") == "1\ntwo\n");
  CHECK(fs::is_empty(folder.at("empty")));
  CHECK(folder.count() == 4);  // src, deep, to, empty
}

TEST_CASE("apply_patch: where one file cannot be changed, none is", "[tools]") {
  const FileFolder folder;
  folder.write("a", "1\n");
  folder.write("b", "1\n");
  const std::string good = change("a", "1", "2") + k_new;
  struct Row {
    std::string patch;
    Code code;
    const char* message;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {change("b", "x", "y"), Code::tool_failed, "b, hunk 1: line 1 should be `x`, but is `1`"},
      {change("c", "x", "y"), Code::tool_failed, "there is no file or folder `c`"},
      {change("a", "1", "3"), Code::tool_invalid_parameters, "the patch has `a` twice"},
      {change("./b/../a", "1", "3"), Code::tool_failed, "cannot read `./b/../a`: a part of the"},
      {"--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n", Code::tool_failed, "`b` already exists"},
      {"diff --git a/a b/b\nrename from b\nrename to a\n", Code::tool_invalid_parameters, "twice"},
      {"--- /dev/null\n+++ b/b/c\n@@ -0,0 +1 @@\n+x\n", Code::tool_failed, "is a file, not a"},
      {"--- /dev/null\n+++ b/deep/er\n@@ -0,0 +1 @@\n+x\n", Code::tool_failed, "is a folder"},
      {"--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n+2\n",
       Code::tool_failed,
       "not all of its lines"},
  }));
  const auto output = applied(folder, good + row.patch);
  CHECK(output.code == row.code);
  CHECK_THAT(output.message, Catch::Contains(row.message));
  CHECK_THAT(output.suggestion, Catch::EndsWith("Nothing was changed."));
  CHECK(folder.read("a") == "1\n");
  CHECK(folder.read("b") == "1\n");
  CHECK(folder.count() == 2);  // no draft is left, nor a folder
}

TEST_CASE("apply_patch: who means to make a file is told how", "[tools]") {
  const FileFolder folder;
  const auto output = applied(folder, "--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+x\n");
  CHECK(output.message == "there is no file or folder `new`");
  CHECK_THAT(output.suggestion, Catch::StartsWith("A new file has `--- /dev/null`"));
  CHECK_THAT(applied(folder, change("new", "1", "2")).suggestion,
             Catch::StartsWith("Check the path"));
}

TEST_CASE("apply_patch: modes stay, and executable files are made so", "[tools]") {
  const FileFolder folder;
  folder.write("run", "1\n");
  folder.write("plain", "1\n");
  REQUIRE(::chmod(folder.at("run").c_str(), 0751) == 0);
  REQUIRE(::chmod(folder.at("plain").c_str(), 0640) == 0);
  const mode_t mask = ::umask(027);
  const auto output = applied(folder,
                              change("run", "1", "2") +
                                  "diff --git a/plain b/plain\nold mode 100644\nnew mode 100755\n"
                                  "diff --git a/new b/new\nnew file mode 100755\n"
                                  "diff --git a/other b/other\nnew file mode 100644\n");
  ::umask(mask);
  CHECK(output.code == std::nullopt);
  CHECK(mode_of(folder.at("run")) == 0751);
  CHECK(mode_of(folder.at("plain")) == 0750);
  CHECK(mode_of(folder.at("new")) == 0750);
  CHECK(mode_of(folder.at("other")) == 0640);
  CHECK(folder.read("plain") == "1\n");
}

TEST_CASE("apply_patch: a link leads to its file, and cannot be deleted itself", "[tools]") {
  const FileFolder folder;
  folder.write("real", "1\n");
  fs::create_symlink("real", folder.at("link"));
  CHECK(applied(folder, change("link", "1", "2")).code == std::nullopt);
  CHECK(folder.read("real") == "2\n");
  CHECK(fs::is_symlink(folder.at("link")));
  CHECK_THAT(applied(folder, change("link", "2", "3") + change("real", "2", "4")).message,
             Catch::Contains("twice"));
  CHECK_THAT(applied(folder, "--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n").message,
             Catch::Contains("is a link"));
  CHECK_THAT(applied(folder, "diff --git a/link b/x\nrename from link\nrename to x\n").message,
             Catch::Contains("is a link"));
  CHECK(folder.read("real") == "2\n");
  CHECK(folder.count() == 2);
}

TEST_CASE("apply_patch: CR LF and binary bytes survive", "[tools]") {
  const FileFolder folder;
  folder.write("a", std::string_view("1\r\n\0\xff\r\n2\r\n", 10));
  CHECK(applied(folder, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+two\n+3\n").code == std::nullopt);
  CHECK(folder.read("a") == std::string("1\r\n\0\xff\r\ntwo\r\n3\r\n", 15));
}

TEST_CASE("apply_patch: a file may have sixteen megabytes", "[tools]") {
  const FileFolder folder;
  const std::size_t most = 16u << 20;
  folder.write("a", "1\n" + std::string(most - 2, 'x'));
  CHECK(applied(folder, change("a", "1", "2")).code == std::nullopt);
  folder.write("a", "1\n" + std::string(most - 1, 'x'));
  const auto output = applied(folder, change("a", "1", "2"));
  CHECK(output.code == Code::tool_failed);
  CHECK(output.message == "`a` is larger than 16 MB");
}

TEST_CASE("apply_patch: every file that exists must have been read", "[tools]") {
  const FileFolder folder;
  folder.write("a", "1\n");
  folder.write("b", "1\n");
  tools::SeenFiles seen;
  const auto read = [&](const char* name) {
    const auto tool = tests::made(tools::make_read_file);
    CHECK_FALSE(folder.call(*tool, agent::dump(agent::Json{{"path", name}}), {}, &seen).code);
  };
  const std::string both = change("a", "1", "2") + "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
  read("a");
  CHECK_THAT(applied(folder, both, &seen).message, Catch::Contains("`b` exists, and you have not"));
  CHECK(folder.read("a") == "1\n");
  read("b");
  CHECK_FALSE(applied(folder, both, &seen).code);
  CHECK_FALSE(applied(folder, change("a", "2", "3"), &seen).code);  // it knows what it wrote
  CHECK_FALSE(applied(folder, k_new, &seen).code);
  CHECK_FALSE(applied(folder, change("deep/er/new", "new", "2"), &seen).code);
}

TEST_CASE("apply_patch: all or nothing, whatever happens beside it", "[tools]") {
  const FileFolder folder;
  folder.write("b", "0\n");
  const std::jthread toucher([&](const std::stop_token& stop) {
    for (long second = 1; !stop.stop_requested(); ++second) {
      const timespec times[2] = {{.tv_sec = second, .tv_nsec = 0},
                                 {.tv_sec = second, .tv_nsec = 0}};
      ::utimensat(AT_FDCWD, folder.at("b").c_str(), times, 0);
      std::this_thread::yield();
    }
  });
  int done = 0;
  int refused = 0;
  for (int round = 0; round < 3'000 && (done < 20 || refused < 20); ++round) {
    folder.write("a", "0\n");
    folder.write("c", "0\n");
    std::ofstream(folder.at("b")) << "0\n";
    const auto output = applied(folder,
                                "--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-0\n" +
                                    change("a", "0", "1") + k_new + change("b", "0", "1"));
    const bool is_done = !output.code;
    (is_done ? done : refused) += 1;
    REQUIRE(folder.read("a") == (is_done ? "1\n" : "0\n"));
    REQUIRE(folder.read("b") == (is_done ? "1\n" : "0\n"));
    REQUIRE(fs::exists(folder.at("c")) == !is_done);
    REQUIRE(fs::exists(folder.at("deep")) == is_done);
    REQUIRE(folder.count() == 3);
    fs::remove_all(folder.at("deep"));
  }
  CHECK(done > 0);
  CHECK(refused > 0);
}

TEST_CASE("apply_patch: touches every file that it names, and only where it can be read",
          "[tools]") {
  const Access both = access(change("a", "1", "2") + change("b", "1", "2") + change("a", "3", "4") +
                             "diff --git a/x b/y\nrename from x\nrename to y\n");
  CHECK(both.kind == Access::Kind::writes);
  CHECK(both.target == "a");
  CHECK(both.further == std::vector<std::string>{"b", "x", "y"});
  CHECK(access("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n").target == "x");
  CHECK(access("no patch").kind == Access::Kind::nothing);
  const FileFolder folder;
  CHECK(applied(folder, "no patch").code == Code::tool_invalid_parameters);
  CHECK(applied(folder, change("", "1", "2")).code == Code::tool_invalid_parameters);
}

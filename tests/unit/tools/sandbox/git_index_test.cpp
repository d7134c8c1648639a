#include "tools/sandbox/git_index.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

using tools::sandbox::more_in;
using tools::sandbox::names_only_work;

namespace {

// Of files as many as names, by git itself.
std::string index_by_git(const std::string& settings, std::size_t files) {
  const tests::TemporaryFolder folder;
  const std::string script = fmt::format(
      "cd '{}' && git init -q {} . && h=$(echo x | git hash-object -w --stdin) && "
      "seq {} | sed \"s#^#100644 $h\tdeep/folder/file#\" | git {} update-index --index-info",
      folder.path().string(),
      settings.starts_with("--") ? settings : "",
      files,
      settings.starts_with("-c") ? settings : "");
  REQUIRE(std::system(script.c_str()) == 0);
  return tests::read_text(folder.path() / ".git/index");
}

void change(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("git's index: what git writes names the work alone", "[tools]") {
  CHECK(names_only_work(index_by_git("", 5), 20));
  CHECK(names_only_work(index_by_git("-c index.version=4", 5), 20));
  CHECK(names_only_work(index_by_git("--object-format=sha256", 5), 32));
  CHECK_FALSE(names_only_work(index_by_git("--object-format=sha256", 5), 20));
}

TEST_CASE("git's index: what its threads read is the same", "[tools]") {
  for (const char* settings : {"-c index.threads=4", "-c index.threads=4 -c index.version=4"}) {
    std::string index = index_by_git(settings, 30'000);
    REQUIRE(index.find("IEOT") != std::string::npos);
    CHECK(names_only_work(index, 20));
    std::string elsewhere = index;
    elsewhere[elsewhere.rfind("IEOT") + 8 + 4 + 3] ^= 8;
    CHECK_FALSE(names_only_work(elsewhere, 20));
    elsewhere = index;
    elsewhere[elsewhere.rfind("EOIE") + 8 + 3] ^= 8;
    CHECK_FALSE(names_only_work(elsewhere, 20));
  }
}

TEST_CASE("git's index: another length than the name's, a part, and nothing are none", "[tools]") {
  const std::string index = index_by_git("", 3);
  std::string cut = index;
  change(cut, "deep/folder/file3", std::string("deep/folder/fil\0 3", 17));
  CHECK_FALSE(names_only_work(cut, 20));
  std::string split = index;
  split.insert(split.size() - 20, std::string("link\0\0\0\0", 8));
  CHECK_FALSE(names_only_work(split, 20));
  for (std::size_t size = 0; size < index.size(); ++size) {
    CHECK_FALSE(names_only_work(index.substr(0, size), 20));
  }
}

TEST_CASE("git's index: submodules are what it has as commits of others", "[tools]") {
  using Names = std::vector<std::string>;
  const tests::TemporaryFolder folder;
  const std::string at = folder.path().string();
  const auto index_with = [&](const char* options) {
    const std::string script = fmt::format(
        "cd '{}' && rm -rf .git && git init -q . && "
        "h=$(echo x | git hash-object -w --stdin) && "
        "printf '%s %s\t%s\n' 100644 $h a 160000 $h libs/one 100644 $h m 160000 $h two "
        "| git {} update-index --index-info",
        at,
        options);
    REQUIRE(std::system(script.c_str()) == 0);
    return tests::read_text(folder.path() / ".git/index");
  };
  CHECK(more_in(index_with(""), 20).modules == Names{"libs/one", "two"});
  CHECK(more_in(index_with("-c index.version=4"), 20).modules == Names{"libs/one", "two"});
  CHECK(more_in(index_by_git("", 5), 20).modules.empty());
  CHECK(more_in("", 20).modules.empty());
  const std::string index = index_with("");
  for (std::size_t size = 0; size < index.size(); ++size) {
    CHECK(more_in(index.substr(0, size), 20).modules.size() <= 2);
  }
}

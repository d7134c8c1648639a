#include "tools/process/module_files.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

bool names(const Words& words, const std::filesystem::path& folder, const char* file) {
  const auto files = tools::module_files(words, folder);
  return std::ranges::find(files, folder / file) != files.end();
}

}  // namespace

TEST_CASE("module files: of Python, by a name or a folder", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/guard.py", "");
  const auto& at = folder.path();
  const auto words =
      GENERATE(values<Words>({{"python3", "-m", "ci.guard"},
                              {"python3.11", "-um", "ci.guard", "x"},
                              {"/usr/bin/python3", "-mci.guard"},
                              {"python3", "-W", "error", "-Xdev", "-m", "ci.guard"},
                              {"pypy3", "--check-hash-based-pycs", "never", "-m", "ci.guard"}}));
  CAPTURE(words);
  for (const char* file : {"ci.py",
                           "ci/__init__.py",
                           "ci/guard.py",
                           "ci/guard.pyc",
                           "ci/guard/__main__.py",
                           "ci/guard.cpython-311-x86_64-linux-gnu.so"}) {
    CAPTURE(file);
    CHECK(names(words, at, file));
  }
  CHECK(names({"python3", "-I", "ci/"}, at, "ci/__main__.py"));
  for (const Words& nothing : {Words{"python3", "-I", "-m", "ci.guard"},
                               Words{"python3", "-Pm", "ci.guard"},
                               Words{"python3", "-c", "-m", "ci.guard"},
                               Words{"python3", "ci/guard.py", "-m", "ci.guard"},
                               Words{"ruby", "-m", "ci.guard"}}) {
    CHECK(tools::module_files(nothing, at).empty());
  }
}

TEST_CASE("module files: of Node, without its ending", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/look.js", "");
  folder.write("whole.js", "");
  const auto& at = folder.path();
  for (const char* file : {"ci/look", "ci/look.js", "ci/look/index.js", "ci/look/package.json"}) {
    CHECK(names({"node", "--no-warnings", "ci/look"}, at, file));
  }
  CHECK(names({"bun", "ci"}, at, "ci/index.ts"));
  CHECK(tools::module_files(Words{"node", "whole.js"}, at).empty());
  CHECK(tools::module_files(Words{"node", "to-be-made.js"}, at).empty());
}

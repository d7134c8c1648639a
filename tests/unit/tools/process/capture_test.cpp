#include "tools/process/capture.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

TEST_CASE("capture: short output makes no file and no folder", "[tools]") {
  tests::TemporaryFolder folder;
  tools::Capture capture(folder.path() / "run", {.memory = 10, .file = 100});
  capture.add("12345");
  capture.add("67890");
  const tools::Captured captured = capture.finish();
  CHECK(captured.text == "1234567890");
  CHECK(captured.is_whole);
  CHECK(captured.spill_path.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE("capture: long output keeps head and tail, and all of it in a file", "[tools]") {
  tests::TemporaryFolder folder;
  std::string whole;
  for (int i = 0; i < 100; ++i) {
    whole += std::to_string(i) + ",";
  }
  const std::size_t step = GENERATE(1u, 3u, 7u, 50u, 1000u);
  tools::Capture capture(folder.path() / "run", {.memory = 20, .file = 1000});
  for (std::size_t i = 0; i < whole.size(); i += step) {
    capture.add(std::string_view(whole).substr(i, step));
  }
  const tools::Captured captured = capture.finish();
  CHECK_FALSE(captured.is_whole);
  CHECK(captured.text == whole.substr(0, 10) + whole.substr(whole.size() - 10));
  CHECK(captured.total_bytes == whole.size());
  CHECK(captured.lost_bytes == 0);
  CHECK(tests::read_text(captured.spill_path) == whole);
}

TEST_CASE("capture: the file is called as it was when the same was said before", "[tools]") {
  const auto names_of = [](const std::string& text) {
    tests::TemporaryFolder folder;
    std::vector<std::string> names;
    for (const std::string& one : {text, text, text + "."}) {
      tools::Capture capture(folder.path(), {.memory = 4, .file = 100});
      capture.add(one);
      const std::filesystem::path path = capture.finish().spill_path;
      CHECK(tests::read_text(path) == one);
      names.push_back(path.filename().string());
    }
    CHECK(std::set(names.begin(), names.end()).size() == 3);
    return names;
  };
  CHECK(names_of("abcdefgh") == names_of("abcdefgh"));
  CHECK(names_of("abcdefgh") != names_of("abcdefgi"));
}

TEST_CASE("capture: what does not fit into the file is counted", "[tools]") {
  tests::TemporaryFolder folder;
  tools::Capture capture(folder.path(), {.memory = 4, .file = 10});
  for (int i = 0; i < 5; ++i) {
    capture.add("abcde");
  }
  const tools::Captured captured = capture.finish();
  CHECK(captured.total_bytes == 25);
  CHECK(captured.lost_bytes == 15);
  CHECK(tests::read_text(captured.spill_path) == "abcdeabcde");
}

TEST_CASE("capture: without a folder to write to, head and tail are what is left", "[tools]") {
  tools::Capture capture("/proc/no/such/folder", {.memory = 4, .file = 100});
  capture.add("abcdefgh");
  const tools::Captured captured = capture.finish();
  CHECK(captured.text == "abgh");
  CHECK_FALSE(captured.is_whole);
  CHECK(captured.spill_path.empty());
  CHECK(captured.lost_bytes == 8);
}

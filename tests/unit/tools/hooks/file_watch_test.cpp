#include "tools/hooks/file_watch.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

TEST_CASE("file watch: one that was replaced and put back was changed", "[tools]") {
  const tests::FileFolder folder;
  folder.write("guard.sh", "exit 0");
  const tools::FileWatch watch({folder.path() / "guard.sh"});
  const auto marks = watch.marks();
  CHECK(watch.changed_since(marks).empty());
  std::this_thread::sleep_for(
      std::chrono::milliseconds(30));  // files' times go by the kernel's ticks
  folder.write("other.sh", "exit 1");
  const auto name = [&](const char* file) { return folder.path() / file; };
  std::filesystem::rename(name("guard.sh"), name("kept.sh"));
  std::filesystem::rename(name("other.sh"), name("guard.sh"));
  std::filesystem::rename(name("kept.sh"), name("guard.sh"));
  CHECK(watch.changed().empty());
  CHECK(watch.changed_since(marks).filename() == "guard.sh");
  std::filesystem::remove(name("guard.sh"));
  CHECK(watch.changed_since(marks).filename() == "guard.sh");
}

TEST_CASE("file watch: another link on the way to a script is a change of it", "[tools]") {
  const tests::FileFolder folder;
  folder.write("one/guard.sh", "exit 0");
  folder.write("two/guard.sh", "exit 0");
  std::filesystem::create_directory_symlink("one", folder.path() / "hooks");
  const tools::FileWatch watch({folder.path() / "hooks/guard.sh"});
  CHECK(watch.changed().empty());
  std::filesystem::remove(folder.path() / "hooks");
  std::filesystem::create_directory_symlink("two", folder.path() / "hooks");
  CHECK(watch.changed() == folder.path() / "hooks/guard.sh");
}

#include "cli/run_folder.h"

#include "agent/descriptor.h"
#include "agent/error.h"
#include "agent/id.h"
#include "tests/support/few_descriptors.h"
#include "tests/unit/cli/command_support.h"
#include "tools/sandbox/obeyed_survey.h"
#include "tools/sandbox/protected_files.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <thread>

namespace fs = std::filesystem;

TEST_CASE("run_folder: it is where no tool can write", "[cli]") {
  const Folder folder;
  const fs::path named = fs::canonical(folder.path);
  const agent::Environment environment = {{"TMPDIR", named.string()}};
  const auto found = [&](const cli::IsWritten& is_written) {
    return cli::find_temporary(environment, is_written);
  };
  CHECK(*found([](const fs::path&) { return false; }) == named);
  CHECK(*found([&](const fs::path& one) { return one == named; }) == fs::canonical("/tmp"));
  CHECK(*found([](const fs::path& one) { return one != fs::canonical("/var/tmp"); }) ==
        fs::canonical("/var/tmp"));
  const auto nowhere = found([](const fs::path&) { return true; });
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == agent::Code::sandbox_setup);
  CHECK(nowhere.error().message.contains(named.string() + ", /tmp, /var/tmp"));
}

TEST_CASE("run_folder: a TMPDIR behind a link is known by its true name", "[cli]") {
  const Folder folder;
  fs::create_directory(folder.path / "true");
  fs::create_directory_symlink("true", folder.path / "link");
  const auto found = cli::find_temporary({{"TMPDIR", (folder.path / "link").string()}},
                                         [](const fs::path&) { return false; });
  CHECK(*found == fs::canonical(folder.path / "true"));
}

TEST_CASE("run_folder: it waits for a sweep that has it, and makes it anew", "[cli]") {
  const Folder folder;
  const std::string id = agent::new_run_id();
  const fs::path path = folder.path / ("errand-" + id);
  const auto opened = [&] {
    return agent::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  agent::Descriptor swept = opened();
  REQUIRE(::flock(swept.get(), LOCK_EX | LOCK_NB) == 0);
  std::jthread sweeper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fs::remove(path);
    swept.reset();
  });
  const cli::RunFolder made(folder.path, id);
  sweeper.join();
  const agent::Descriptor another = opened();
  REQUIRE(another);
  CHECK(::flock(another.get(), LOCK_EX | LOCK_NB) != 0);
}

TEST_CASE("run_folder: what cannot be looked at is trouble of whose it is alone", "[cli]") {
  const Folder folder;
  const std::string id = agent::new_run_id();
  const fs::path path = folder.path / ("errand-" + id);
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  tools::sandbox::keep_survey({}, path, 1);
  const auto trouble = [&](const std::string& carried_on) {
    const tests::FewDescriptors one(1);
    return cli::sweep_after_kill(
               {{"TMPDIR", folder.path.string()}},
               folder.path / "journal",
               [](const fs::path&) { return false; },
               [&](const std::string& run_id) { return run_id == carried_on; })
        .trouble;
  };
  CHECK_FALSE(trouble(agent::new_run_id()));
  const auto own = trouble(id);
  REQUIRE(own);
  CHECK(own->code == agent::Code::os_failed);
  tools::sandbox::Sight sight;
  CHECK(tools::sandbox::has_surveys(path, sight));  // for when it can be looked at
}

TEST_CASE("run_folder: what a killed run has left stays while a program of another is at work",
          "[cli]") {
  const Folder folder;
  const fs::path work = fs::canonical(folder.path) / "work";
  fs::create_directories(work);
  const std::string id = agent::new_run_id();
  const fs::path kept = folder.path / ("errand-" + id);
  fs::create_directory(kept);
  fs::permissions(kept, fs::perms::owner_all);
  std::ofstream(folder.path / "journal") << "";
  std::ofstream(kept / "run") << id << "\n" << fs::canonical(folder.path / "journal").string();
  const fs::path pictures = folder.path / "at-work";
  using tools::sandbox::ProtectedFiles;
  const ProtectedFiles::Options places{
      .roots = {work}, .tops = {work}, .files = {}, .crossed = {}, .allowed = {}};
  ProtectedFiles killed(places);
  REQUIRE(killed.survey());
  std::uint64_t number = 0;
  tools::sandbox::keep_survey(*killed.surveyed_since(number), kept, 1);
  std::ofstream(work / "left.test.yaml") << "agent: a.yaml\n";
  const auto sweep = [&] {
    return cli::sweep_after_kill(
        {{"TMPDIR", folder.path.string()}},
        folder.path / "journal",
        [](const fs::path&) { return false; },
        [](const std::string&) { return true; },
        pictures);
  };
  ProtectedFiles other(places, pictures);
  REQUIRE(other.begin());
  const auto refused = sweep();
  CHECK(refused.changes.empty());
  REQUIRE(refused.trouble);
  CHECK(refused.trouble->code == agent::Code::cli_usage);
  CHECK(other.end(false).changes.empty());
  const auto done = sweep();
  CHECK_FALSE(done.trouble);
  REQUIRE(done.changes.size() == 1);
  CHECK(done.changes.front().path == work / "left.test.yaml");
}

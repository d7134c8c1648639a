#include "tests/unit/tools/process/process_support.h"
#include "tools/files/atomic_file_write.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fstream>
#include <stdio.h>
#include <stop_token>
#include <thread>

namespace fs = std::filesystem;
using tools::NamedPath;
using tools::sandbox::Policy;

namespace {

// A workspace, a secret beside it, and in the workspace `way`: a folder or a link, as `swap` has
// it.
class Workspace {
 public:
  Workspace() {
    for (const char* name : {"work/way", "home/.ssh", "outside"}) {
      fs::create_directories(root() / name);
    }
    std::ofstream(root() / "work/way/id") << "harmless";
    std::ofstream(root() / "home/.ssh/id") << "secret";
    auto made = Policy::create({},
                               {.workspace = root() / "work",
                                .temporary = {},
                                .agent_folder = root() / "work",
                                .homes = {.own = {root() / "home"}, .closed = {root() / "home"}},
                                .own = {},
                                .obeyed = {}});
    REQUIRE(made);
    policy_.emplace(std::move(*made));
  }

  fs::path root() const { return fs::canonical(folder_.path()); }
  NamedPath named(const std::string& path) const {
    return {.shown = path, .path = root() / "work" / path, .policy = &*policy_};
  }
  // A link to `target` beside the way, and the two changing places until the test is over.
  std::jthread swap(const std::string& target) const {
    fs::create_directory_symlink(root() / target, root() / "work/link");
    return std::jthread([root = root()](const std::stop_token& stop) {
      const fs::path way = root / "work/way";
      const fs::path link = root / "work/link";
      while (!stop.stop_requested()) {
        ::renameat2(AT_FDCWD, way.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
      }
    });
  }

 private:
  tests::TemporaryFolder folder_;
  std::optional<Policy> policy_;
};

constexpr int k_rounds = 3'000;

}  // namespace

TEST_CASE("sandbox: a link that is swapped in leads no write outside", "[tools]") {
  const Workspace workspace;
  const auto swapper = workspace.swap("outside");
  int written = 0;
  int refused = 0;
  for (int round = 0; round < k_rounds; ++round) {
    const auto done = tools::replace_file(workspace.named("way/new/file"), "x");
    written += done ? 1 : 0;
    refused += !done && done.error().code == agent::Code::sandbox_violation ? 1 : 0;
  }
  CHECK(written > 0);
  CHECK(refused > 0);
  CHECK(fs::is_empty(workspace.root() / "outside"));
}

TEST_CASE("sandbox: a link that is swapped in shows no secret", "[tools]") {
  const Workspace workspace;
  const auto swapper = workspace.swap("home/.ssh");
  int read = 0;
  int refused = 0;
  for (int round = 0; round < k_rounds; ++round) {
    const NamedPath name = workspace.named("way/id");
    const auto file = tools::open_regular(name);
    refused += !file && file.error().code == agent::Code::sandbox_violation ? 1 : 0;
    if (file) {
      const auto text = tools::read_whole(*file, name, 100, {});
      REQUIRE(text);
      REQUIRE(*text == "harmless");
      ++read;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

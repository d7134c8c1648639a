#include "config/named_files.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <filesystem>

using namespace config_test;
using config::NamedFiles;
using config::Reading;
namespace fs = std::filesystem;

namespace {

// agent/ in a folder with files of every kind around it.
struct Ground {
  Ground() {
    folder.write("agent/docs/style.md", "style");
    folder.write("secret/id", "secret");
    folder.write("near.md", "near");
    const fs::path agent = folder.path() / "agent";
    fs::create_symlink("../near.md", agent / "near_link.md");
    fs::create_symlink("docs/style.md", agent / "style_link.md");
    fs::create_symlink("../secret", agent / "secret_link");
    fs::create_symlink("..", agent / "up");
    fs::create_directory_symlink(agent, folder.path() / "agent_link");
  }

  config::ReadingPolicy policy() const {
    return [root = fs::canonical(folder.path())](const fs::path&,
                                                 const fs::path& real) -> agent::Result<Reading> {
      const std::string inner = real.lexically_relative(root).string();
      return inner.starts_with("secret") ? Reading::closed : Reading::open;
    };
  }

  Folder folder;
};

}  // namespace

TEST_CASE("named files: no link leads out of where a path starts, and what is closed stays so",
          "[config]") {
  const Ground ground;
  struct Row {
    const char* path;
    const char* why;  // empty: it is read
  };
  const auto row = GENERATE(values<Row>({
      {"docs/style.md", ""},
      {"./docs/../style_link.md", ""},
      {"../near.md", ""},
      {"../secret/id", "secret place"},
      {"secret_link/id", "secret place"},
      {"near_link.md", "by a link"},
      {"up/near.md", "by a link"},
      {"up/agent/docs/style.md", ""},
      {"docs/../../near.md", ""},
      {"secret_link/../near.md", "by a link"},
  }));
  INFO(row.path);
  for (const char* folder : {"agent", "agent_link"}) {
    const NamedFiles files(ground.folder.path() / folder, ground.policy());
    const auto text = files.read(row.path, 100);
    REQUIRE(text.has_value() == std::string_view(row.why).empty());
    if (!text) {
      CHECK(text.error().code == agent::Code::config_invalid);
      CHECK(text.error().message.contains(row.why));
      CHECK_FALSE(text.error().message.contains("secret\n"));
    }
  }
}

TEST_CASE("named files: a whole path starts nowhere, but in the agent's folder", "[config]") {
  const Ground ground;
  const fs::path root = ground.folder.path();
  const NamedFiles files(root / "agent", ground.policy());
  CHECK(files.read(root / "near.md", 100));
  CHECK_FALSE(files.read(root / "secret/id", 100));
  CHECK_FALSE(files.read(root / "agent/near_link.md", 100));
  CHECK(files.read(root / "agent/style_link.md", 100));
}

TEST_CASE("named files: what the sandbox opens by name may be behind a link", "[config]") {
  const Ground ground;
  const NamedFiles files(
      ground.folder.path() / "agent",
      [](const fs::path&, const fs::path&) -> agent::Result<Reading> { return Reading::named; });
  CHECK(files.read("near_link.md", 100));
  CHECK(files.read("secret_link/id", 100));
}

TEST_CASE("named files: a sandbox that cannot be made is the run's own failure", "[config]") {
  const Ground ground;
  const NamedFiles files(ground.folder.path() / "agent",
                         [](const fs::path&, const fs::path&) -> agent::Result<Reading> {
                           return agent::fail(agent::Code::sandbox_setup, "no");
                         });
  const auto text = files.read("docs/style.md", 100);
  REQUIRE_FALSE(text);
  CHECK(text.error().code == agent::Code::sandbox_setup);
  CHECK(files.foresee("docs/style.md", ground.folder.path() / "agent/docs/style.md"));
}

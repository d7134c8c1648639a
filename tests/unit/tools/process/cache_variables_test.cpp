#include "tools/process/cache_variables.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

namespace fs = std::filesystem;

TEST_CASE("cache variables: the run's own folder, but where the user's may be written", "[tools]") {
  const tests::TemporaryFolder folder;
  const fs::path root = fs::canonical(folder.path());
  for (const char* name : {"home/.cache/pip", "home/go", "work"}) {
    fs::create_directories(root / name);
  }
  const auto policy =
      tools::sandbox::Policy::create({.write = {"~/.cache/pip", "~/go"}},
                                     {.workspace = root / "work",
                                      .temporary = root / "tmp",
                                      .run_folder = root,
                                      .agent_folder = root / "work",
                                      .agent_file = {},
                                      .homes = {.own = {root / "home"}, .closed = {root / "home"}},
                                      .search_path = {},
                                      .own = {},
                                      .obeyed = {}});
  REQUIRE(policy);
  const std::string home = (root / "home").string();
  const std::string temporary = (root / "tmp").string();
  const agent::Environment variables = tools::cache_variables(
      {{"HOME", home}, {"GOCACHE", home + "/go/cache"}, {"npm_config_cache", home + "/.npm"}},
      *policy,
      root / "tmp");
  CHECK(variables == agent::Environment{{"XDG_CACHE_HOME", temporary + "/cache"},
                                        {"CCACHE_DIR", temporary + "/cache/ccache"},
                                        {"GOCACHE", home + "/go/cache"},
                                        {"PIP_CACHE_DIR", home + "/.cache/pip"},
                                        {"npm_config_cache", temporary + "/cache/npm"}});
}

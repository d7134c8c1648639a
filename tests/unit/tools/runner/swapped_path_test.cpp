// Rules of permissions against a folder that is swapped for a link while calls run.
#include "tests/unit/tools/file_support.h"
#include "tools/permissions/permissions.h"
#include "tools/runner/runner.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <stdio.h>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::ToolCall;
using agent::ToolStatus;

constexpr int k_swapped_rounds = 1'500;

class Silent final : public agent::ToolWatcher {
 public:
  bool started(const ToolCall&) override { return true; }
  void output(const ToolCall&, std::string_view) override {}
  void finished(const agent::ToolResult&) override {}
};

// src/way is a folder, or a link to the denied src/secret, as the swapper has it.
class Swapped {
 public:
  Swapped() {
    folder_.write("src/way/id", "harmless");
    folder_.write("src/secret/id", "secret");
    fs::create_directory_symlink("secret", folder_.at("src/link"));
    agent::PermissionSpec spec;
    spec.deny = {{"read_file(src/secret/**)", "test"},
                 {"write_file(src/secret/**)", "test"},
                 {"list_directory(src/secret/**)", "test"}};
    spec.allow = {{"write_file", "test"}, {"edit_file", "test"}, {"apply_patch", "test"}};
    permissions_ = std::make_unique<tools::Permissions>(
        tools::Permissions::create(
            spec,
            {.cwd = folder_.path(), .temporary = {}, .home = {}, .confined = {}, .guarded = {}})
            .value());
    std::vector<agent::ToolSpec> tools;
    for (const char* name :
         {"read_file", "write_file", "edit_file", "apply_patch", "list_directory", "grep"}) {
      tools.push_back({.name = name});
    }
    runner_ = tools::Runner::create(tools,
                                    {.cwd = folder_.path(),
                                     .temporary = folder_.path() / "tmp",
                                     .environment = {},
                                     .scrub = {},
                                     .clock = &clock_,
                                     .permissions = permissions_.get(),
                                     .guards_unseen = false})
                  .value();
    swapper_ = std::jthread([root = folder_.path()](const std::stop_token& stop) {
      const fs::path way = root / "src/way";
      const fs::path link = root / "src/link";
      while (!stop.stop_requested()) {
        ::renameat2(AT_FDCWD, way.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
      }
    });
  }

  agent::ToolResult call(const char* tool, const std::string& arguments) {
    const ToolCall call{.id = "1", .name = tool, .arguments = arguments};
    Silent watcher;
    return runner_->run({&call, 1}, watcher, {}, {}).front();
  }
  const tests::FileFolder& folder() const { return folder_; }

 private:
  tests::FileFolder folder_;
  agent::SystemClock clock_;
  std::unique_ptr<tools::Permissions> permissions_;
  std::unique_ptr<tools::Runner> runner_;
  std::jthread swapper_;
};

}  // namespace

TEST_CASE("permissions: a link that is swapped in shows nothing that is denied", "[tools]") {
  Swapped swapped;
  swapped.folder().write("src/secret/only_here", "secret");
  int shown = 0;
  int denied = 0;
  for (int round = 0; round < k_swapped_rounds; ++round) {
    for (const auto& [tool, arguments] : {std::pair{"read_file", R"({"path":"src/way/id"})"},
                                          std::pair{"grep", R"({"path":"src/way","pattern":"."})"},
                                          std::pair{"list_directory", R"({"path":"src/way"})"}}) {
      const auto result = swapped.call(tool, arguments);
      INFO(tool << ": " << result.content);
      REQUIRE_FALSE(result.content.contains(
          tool == std::string_view("list_directory") ? "only_here" : "secret\n"));
      shown += result.status == ToolStatus::ok ? 1 : 0;
      denied += result.status == ToolStatus::denied ? 1 : 0;
    }
  }
  CHECK(shown > 0);
  CHECK(denied > 0);
}

TEST_CASE("permissions: a link that is swapped in leads no write to what is denied", "[tools]") {
  Swapped swapped;
  int written = 0;
  int denied = 0;
  for (int round = 0; round < k_swapped_rounds; ++round) {
    for (const auto& [tool, arguments] :
         {std::pair{"write_file", R"({"path":"src/way/made/file","content":"x"})"},
          std::pair{"write_file", R"({"path":"src/way/id","content":"harmless"})"},
          std::pair{
              "edit_file",
              R"({"path":"src/way/id","old_string":"e","new_string":"e","replace_all":true})"},
          std::pair{
              "apply_patch",
              R"({"patch":"--- /dev/null\n+++ b/src/way/other/file\n@@ -0,0 +1 @@\n+x\n"})"}}) {
      const auto result = swapped.call(tool, arguments);
      written += result.status == ToolStatus::ok ? 1 : 0;
      denied += result.status == ToolStatus::denied ? 1 : 0;
    }
  }
  CHECK(written > 0);
  CHECK(denied > 0);
  CHECK(swapped.folder().read("src/secret/id") == "secret");
  CHECK_FALSE(fs::exists(swapped.folder().at("src/secret/made")));
  CHECK_FALSE(fs::exists(swapped.folder().at("src/secret/other")));
}

#include "tools/builtin/registry.h"

#include "agent/schema/json_schema.h"
#include "tests/unit/tools/file_support.h"
#include "tools/builtin/deadline.h"
#include "tools/permissions/offered_rule.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

using agent::Code;

TEST_CASE("registry: every built-in makes a tool of its name with a usable schema", "[tools]") {
  const auto names = tools::builtin_names();
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::set(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) {
    INFO(name);
    const auto tool = tools::make_builtin({.name = name, .repeatable = true});
    REQUIRE(tool != nullptr);
    CHECK(tool->info().name == name);
    CHECK(tool->info().repeatable);
    CHECK_FALSE(tool->info().description.empty());
    const auto schema = agent::parse_json(tool->info().parameters);
    REQUIRE(schema);
    CHECK(agent::text_at(*schema, "type") == "object");
    CHECK(agent::JsonSchema::compile(*schema));
  }
  CHECK(tools::make_builtin({.name = "fly"}) == nullptr);
}

// Else a rule about its paths is not refused where it is wrong, nor does it hold elsewhere.
TEST_CASE("registry: what takes a path has rules of paths", "[tools]") {
  const auto takes_path = [&](const std::string& name) {
    using Kind = tools::Access::Kind;
    const auto tool = tools::make_builtin({.name = name});
    const auto kind = tool->access({{"path", "a/b.txt"}}).kind;
    return kind == Kind::names || kind == Kind::reads || kind == Kind::writes ||
           agent::parse_json(tool->info().parameters).value()["properties"].contains("path");
  };
  for (const std::string& name : tools::builtin_names()) {
    INFO(name);
    const bool has_rules_of_paths =
        std::ranges::find(tools::file_tools(), name) != tools::file_tools().end();
    CHECK((!takes_path(name) || has_rules_of_paths));
  }
  CHECK(takes_path("grep"));
  CHECK_FALSE(takes_path("shell"));
}

TEST_CASE("registry: what only reads may run beside others, what changes may not", "[tools]") {
  for (const char* name : {"read_file", "list_directory", "glob", "grep", "web_fetch"}) {
    CHECK(tools::make_builtin({.name = name})->parallel());
  }
  for (const char* name : {"write_file", "edit_file", "apply_patch", "shell", "task_failed"}) {
    CHECK_FALSE(tools::make_builtin({.name = name})->parallel());
    CHECK_FALSE(tools::make_builtin({.name = name})->idempotent());
  }
}

namespace {

// Waits until it is stopped.
class WaitingTool final : public tools::Tool {
 public:
  const agent::ToolInfo& info() const override { return info_; }
  tools::Output call(const agent::Json&, const tools::CallContext& context) override {
    std::mutex mutex;
    std::condition_variable_any wakeup;
    std::unique_lock lock(mutex);
    if (!wakeup.wait_for(lock, context.stop, std::chrono::seconds(60), [] { return false; }) &&
        context.stop.stop_requested()) {
      return tools::failure(Code::tool_cancelled, "stopped");
    }
    return {.text = "never stopped"};
  }

 private:
  agent::ToolInfo info_{.name = "wait", .description = {}, .parameters = "{}"};
};

}  // namespace

TEST_CASE("deadline: a call that takes too long is a timeout, one that is stopped is not",
          "[tools]") {
  const tests::FileFolder folder;
  const auto brief =
      tools::with_deadline(std::make_unique<WaitingTool>(), std::chrono::milliseconds(10));
  const auto late = folder.call(*brief, "{}");
  CHECK(late.code == Code::tool_timeout);
  CHECK(late.message == "the call took longer than 10ms");

  const auto patient =
      tools::with_deadline(std::make_unique<WaitingTool>(), std::chrono::minutes(10));
  CHECK(folder.call(*patient, "{}", tests::requested_stop()).code == Code::tool_cancelled);
}

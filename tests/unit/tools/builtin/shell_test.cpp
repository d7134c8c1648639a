#include "tools/builtin/shell.h"

#include "agent/json.h"
#include "agent/schema/json_schema.h"
#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <thread>

using namespace std::chrono_literals;
using agent::Code;
using agent::Json;
using tools::Output;

namespace {

Output call(tests::ProcessWorld& world, const Json& arguments, const agent::ToolSpec& spec = {}) {
  return tools::make_shell(spec)->call(arguments, world.context());
}

Output sh(tests::ProcessWorld& world, const std::string& command) {
  return call(world, Json{{"command", command}});
}

}  // namespace

TEST_CASE("shell: the output is the result", "[tools]") {
  tests::ProcessWorld world;
  const Output output = sh(world, "echo out; echo err >&2; pwd");
  CHECK(output.text == "out\nerr\n" + world.folder.path().string() + "\n");
  CHECK_FALSE(output.code);
  CHECK(output.exit_status == 0);
  CHECK(sh(world, "true").text == "(no output)");
}

TEST_CASE("shell: a status other than 0 is a result with a last line", "[tools]") {
  tests::ProcessWorld world;
  const Output output = sh(world, "printf text; exit 3");
  CHECK(output.text == "text\n[exit status 3]");
  CHECK_FALSE(output.code);
  CHECK(output.exit_status == 3);
  CHECK(sh(world, "false").text == "(no output)\n[exit status 1]");
}

TEST_CASE("shell: what cannot be run is a failure with advice", "[tools]") {
  tests::ProcessWorld world;
  const Output missing = sh(world, "no-such-program-here");
  CHECK(missing.code == Code::tool_failed);
  CHECK(missing.exit_status == 127);
  CHECK_FALSE(missing.suggestion.empty());
  CHECK(missing.text.find("no-such-program-here") != std::string::npos);
  const Output no_program = sh(world, "/etc/passwd");
  CHECK(no_program.code == Code::tool_failed);
  CHECK(no_program.exit_status == 126);
}

TEST_CASE("shell: a signal is named", "[tools]") {
  tests::ProcessWorld world;
  const Output output = sh(world, "echo before; kill -KILL $$");
  CHECK(output.code == Code::tool_failed);
  CHECK(output.message == "ended by signal 9 (SIGKILL)");
  CHECK(output.text == "before\n");
  CHECK(output.exit_status == 137);
}

TEST_CASE("shell: a timeout keeps what was written", "[tools]") {
  tests::ProcessWorld world;
  const Json timeout = GENERATE(Json("500ms"), Json(1));
  const Output output =
      call(world, Json{{"command", "echo begun; sleep 1000"}, {"timeout", timeout}});
  CHECK(output.code == Code::tool_timeout);
  CHECK(output.text == "begun\n");
  CHECK(output.message.find("ran longer than") == 0);
}

TEST_CASE("shell: the agent's timeout is the most that the model gets", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world,
                             Json{{"command", "sleep 1000"}, {"timeout", "9m"}},
                             {.name = "shell", .timeout = 300ms});
  CHECK(output.code == Code::tool_timeout);
  CHECK(output.message == "ran longer than 300ms and was stopped");
}

TEST_CASE("shell: silence is ended where the agent says so", "[tools]") {
  tests::ProcessWorld world;
  const Output output =
      call(world, Json{{"command", "sleep 1000"}}, {.name = "shell", .idle_timeout = 200ms});
  CHECK(output.code == Code::tool_timeout);
  CHECK(output.message == "wrote nothing for 200ms and was stopped");
}

TEST_CASE("shell: a timeout that is none is the model's mistake", "[tools]") {
  tests::ProcessWorld world;
  const Json timeout = GENERATE(Json("soon"), Json("30"), Json(0), Json(-5), Json("0s"));
  const Output output = call(world, Json{{"command", "true"}, {"timeout", timeout}});
  CHECK(output.code == Code::tool_invalid_parameters);
  CHECK_FALSE(output.suggestion.empty());
}

TEST_CASE("shell: a NUL byte in the command is the model's mistake", "[tools]") {
  tests::ProcessWorld world;
  CHECK(sh(world, std::string("true\0false", 10)).code == Code::tool_invalid_parameters);
}

TEST_CASE("shell: a stopped call says so and keeps its output", "[tools]") {
  tests::ProcessWorld world;
  std::jthread stopper([&] {
    tests::pid_in(world.file("pid"));
    world.stop.request_stop();
  });
  const Output output = sh(world, "echo begun; echo $$ > pid; sleep 1000");
  CHECK(output.code == Code::tool_cancelled);
  CHECK(output.text == "begun\n");
}

TEST_CASE("shell: long output is head and tail, with the whole in a file", "[tools]") {
  tests::ProcessWorld world;
  const Output output = sh(world, "seq 1 200000; exit 2");
  CHECK_FALSE(output.code);
  CHECK(output.total_bytes == 1'288'895);
  CHECK(std::filesystem::file_size(output.spill_path) == 1'288'895);
  CHECK(output.text.starts_with("1\n2\n3\n"));
  CHECK(output.text.ends_with("200000\n[exit status 2]"));
}

TEST_CASE("shell: questions find no terminal and no input", "[tools]") {
  tests::ProcessWorld world;
  CHECK(sh(world, "read answer || echo none").text == "none\n");
  CHECK(sh(world, "(: < /dev/tty) 2>/dev/null || echo none").text == "none\n");
}

TEST_CASE("shell: its schema is one, and takes both forms of a timeout", "[tools]") {
  const auto tool = tools::make_shell({.name = "shell", .repeatable = true, .idempotent = true});
  CHECK(tool->info().name == "shell");
  CHECK(tool->info().repeatable);
  CHECK(tool->idempotent());
  CHECK_FALSE(tool->parallel());
  CHECK(tool->info().description.find("10m") != std::string::npos);
  const auto json = agent::parse_json(tool->info().parameters);
  REQUIRE(json);
  const auto schema = agent::JsonSchema::compile(*json);
  REQUIRE(schema);
  CHECK(schema->check(Json{{"command", "ls"}, {"timeout", 5}}).empty());
  CHECK(schema->check(Json{{"command", "ls"}, {"timeout", "5s"}}).empty());
  CHECK_FALSE(schema->check(Json{{"command", ""}}).empty());
  CHECK_FALSE(schema->check(Json{{"timeout", 5}}).empty());
  CHECK_FALSE(schema->check(Json{{"command", "ls"}, {"cwd", "/"}}).empty());
}

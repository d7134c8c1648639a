#include "tools/builtin/command_tool.h"

#include "agent/json.h"
#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>

using namespace std::chrono_literals;
using agent::Code;
using agent::Json;
using tools::Output;

namespace {

agent::ToolSpec spec(std::vector<std::string> command) {
  return {.kind = agent::ToolSpec::Kind::command,
          .name = "run_it",
          .description = "Runs it",
          .command = std::move(command)};
}

agent::ToolSpec script(const std::string& text) {
  return spec({"/bin/sh", "-c", text});
}

Output call(tests::ProcessWorld& world,
            const agent::ToolSpec& tool,
            const Json& arguments = Json::object()) {
  return tools::make_command_tool(tool)->call(arguments, world.context());
}

}  // namespace

TEST_CASE("command tool: the arguments come on stdin, stdout is the result", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, spec({"cat"}), Json{{"b", 1}, {"a", "x\ny"}});
  CHECK_FALSE(output.code);
  CHECK(output.text == "{\"b\":1,\"a\":\"x\\ny\"}\n");
  CHECK(call(world, spec({"true"})).text == "(no output)");
}

TEST_CASE("command tool: nothing in its argv is ever a shell's", "[tools]") {
  tests::ProcessWorld world;
  CHECK(call(world, spec({"echo", "$HOME; `id` > file", "*"})).text == "$HOME; `id` > file *\n");
}

TEST_CASE("command tool: stderr is live output, and no part of a good result", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, script("echo note >&2; echo result"));
  CHECK(output.text == "result\n");
  CHECK(world.live_output().find("note") != std::string::npos);
}

TEST_CASE("command tool: a failure carries status, stdout and stderr", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, script("printf 'half a result'; echo why >&2; exit 4"));
  CHECK(output.code == Code::tool_failed);
  CHECK(output.message == "`/bin/sh` ended with exit status 4");
  CHECK(output.exit_status == 4);
  CHECK(output.text == "half a result\n[stderr]\nwhy\n");
}

TEST_CASE("command tool: of a long stderr the last lines are shown", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, script("seq 1 200000 >&2; exit 1"));
  CHECK(output.code == Code::tool_failed);
  CHECK(output.text.size() < 5'000);
  CHECK(output.text.find("\n200000\n") != std::string::npos);
  CHECK(output.text.find("of 1288895 bytes") != std::string::npos);
  CHECK(output.text.find("[all of stderr: ") != std::string::npos);
}

TEST_CASE("command tool: a retry hint goes to the model", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, script("echo '{\"retry_hint\": \"give a date\"}'"));
  CHECK(output.code == Code::tool_model_retry);
  CHECK(output.message == "give a date");
}

TEST_CASE("command tool: what only looks like a retry hint is a result", "[tools]") {
  tests::ProcessWorld world;
  const std::string text = GENERATE(as<std::string>(),
                                    "{\"retry_hint\": \"x\", \"more\": 1}",
                                    "{\"retry_hint\": 5}",
                                    "[\"retry_hint\"]",
                                    "{\"retry_hint\": \"x\"} and text");
  const Output output = call(world, spec({"printf", "%s", text}));
  CHECK_FALSE(output.code);
  CHECK(output.text == text);
  const Output failed = call(world, script("echo '{\"retry_hint\": \"give a date\"}'; exit 1"));
  CHECK(failed.code == Code::tool_failed);
}

TEST_CASE("command tool: a missing program is named", "[tools]") {
  tests::ProcessWorld world;
  const Output output = call(world, spec({"no-such-program-here", "x"}));
  CHECK(output.code == Code::tool_failed);
  CHECK(output.message.find("`no-such-program-here`") != std::string::npos);
  const Output folder = call(world, spec({"/tmp"}));
  CHECK(folder.code == Code::tool_failed);
  CHECK(folder.message == "cannot run `/tmp`: Permission denied");
}

TEST_CASE("command tool: a program with a slash starts at the working folder", "[tools]") {
  tests::ProcessWorld world;
  std::filesystem::create_directory(world.file("bin"));
  std::ofstream(world.file("bin/tool")) << "#!/bin/sh\necho here\n";
  std::filesystem::permissions(world.file("bin/tool"), std::filesystem::perms::owner_all);
  CHECK(call(world, spec({"bin/tool"})).text == "here\n");
}

TEST_CASE("command tool: deadlines are the agent's", "[tools]") {
  tests::ProcessWorld world;
  agent::ToolSpec tool = script("echo begun; echo why >&2; sleep 1000");
  tool.timeout = 300ms;
  const Output late = call(world, tool);
  CHECK(late.code == Code::tool_timeout);
  CHECK(late.message == "ran longer than 300ms and was stopped");
  CHECK(late.text == "begun\n[stderr]\nwhy\n");
  tool.timeout.reset();
  tool.idle_timeout = 200ms;
  CHECK(call(world, tool).code == Code::tool_timeout);
}

TEST_CASE("command tool: name, text and policy are the agent's", "[tools]") {
  agent::ToolSpec tool = spec({"true"});
  tool.parallel = true;
  tool.idempotent = true;
  tool.repeatable = true;
  const auto made = tools::make_command_tool(tool);
  CHECK(made->info().name == "run_it");
  CHECK(made->info().description == "Runs it");
  CHECK(made->info().parameters == tool.parameters);
  CHECK(made->info().repeatable);
  CHECK(made->parallel());
  CHECK(made->idempotent());
}

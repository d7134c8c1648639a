#include "tests/unit/cli/command_support.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

constexpr auto k_agent = R"(version: 1
name: caller
model: anthropic/claude-sonnet-4-5
instructions: Call.
sandbox: {required: []}  # its layers are not what is tested
tools:
  - read_file
  - name: shout
    description: Says it louder.
    command: [tr, a-z, A-Z]
    parameters: {type: object, properties: {word: {type: string}}}
  - name: break
    description: Always fails.
    command: ["false"]
)";

agent::Environment environment() {
  return {{"PATH", "/usr/bin:/bin"}};
}

}  // namespace

TEST_CASE("tools list: the built-in tools, as text and as JSON", "[cli]") {
  const Ran text = run_command({"tools", "list"});
  CHECK(text.code == 0);
  CHECK(text.out.find("read_file") != std::string::npos);
  CHECK(text.out.find("shell") != std::string::npos);
  const auto json = agent::parse_json(run_command({"tools", "list", "-o", "json"}).out);
  REQUIRE(json);
  CHECK((*json)["schema"] == "errand.tools/1");
  REQUIRE((*json)["tools"].size() > 5);
  for (const agent::Json& tool : (*json)["tools"]) {
    CHECK(tool["parameters"]["type"] == "object");
    CHECK_FALSE(tool["description"].get<std::string>().empty());
  }
}

TEST_CASE("tools list: the tools of an agent", "[cli]") {
  const Folder folder;
  folder.write("agent.yaml", k_agent);
  const Ran ran = run_command({"tools", "list", "agent.yaml"}, folder.path, environment());
  CHECK(ran.code == 0);
  CHECK(ran.out.find("Says it louder.") != std::string::npos);
  CHECK(ran.out.find("glob") == std::string::npos);
  CHECK(run_command({"tools", "list", "none.yaml"}, folder.path).code == 78);
}

TEST_CASE("tools call: a built-in tool", "[cli]") {
  const Folder folder;
  folder.write("notes.txt", "remember the milk\n");
  const Ran ran = run_command(
      {"tools", "call", "read_file", R"({"path": "notes.txt"})"}, folder.path, environment());
  CHECK(ran.code == 0);
  CHECK(ran.out.find("remember the milk") != std::string::npos);
}

TEST_CASE("tools call: a command of an agent, with real processes", "[cli]") {
  const Folder folder;
  folder.write("agent.yaml", k_agent);
  const Ran ran =
      run_command({"tools", "call", "shout", R"({"word": "hello"})", "--agent", "agent.yaml"},
                  folder.path,
                  environment());
  CHECK(ran.code == 0);
  CHECK(ran.out.find("HELLO") != std::string::npos);
}

TEST_CASE("tools call: a failure has the exit code of its kind", "[cli]") {
  const Folder folder;
  folder.write("agent.yaml", k_agent);
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"tools", "call"});
    return run_command(words, folder.path, environment());
  };
  CHECK(call({"break", "--agent", "agent.yaml"}).code == 110);
  CHECK(call({"nothing_like_it"}).code == 110);
  CHECK(call({"read_file", R"({"path": 7})"}).code == 110);
  CHECK(call({"read_file", "{path"}).code == 2);
  CHECK(call({"read_file", "[1]"}).code == 2);
}

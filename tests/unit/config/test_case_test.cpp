#include "config/test_case.h"

#include "load_support.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <chrono>

using namespace config_test;
using namespace std::chrono_literals;

namespace {

// A folder with the files that the cases name.
struct Files : config_test::Folder {
  Files() {
    write("agent.yaml", "version: 1\n");
    write("a.cassette", "{}");
    write("script.yaml", "version: 1\n");
    write("schema.json", R"({"type": "object"})");
    write("broken.json", "{");
    write("wrong.json", R"({"type": "nothing"})");
    std::filesystem::create_directory(path() / "work");
  }

  std::expected<config::TestCase, std::vector<agent::Error>> load(const std::string& text) const {
    write("x.test.yaml", text);
    return config::load_test_case(path() / "x.test.yaml");
  }
};

std::vector<std::string> mistakes(const Files& files, const std::string& text) {
  const auto test = files.load(text);
  std::vector<std::string> found;
  if (!test) {
    for (const agent::Error& error : test.error()) {
      CHECK(error.code == agent::Code::config_invalid);
      found.push_back((error.where ? std::to_string(error.where->line) + ": " : "") +
                      error.message);
    }
  }
  return found;
}

using Lines = std::vector<std::string>;

const std::string k_least = "version: 1\nagent: agent.yaml\nreplay: script.yaml\n";

}  // namespace

TEST_CASE("test case: every key reaches the case", "[config]") {
  const Files files;
  const auto test = files.load(R"(version: 1
description: For people.
agent: agent.yaml
prompt: Say hello.
parameters: {target: main, count: 3, deep: true}
recording: a.cassette
workspace: work
timeout: 90s
x-note: free
expect:
  exit_code: 80
  text: {equals: Hello., contains: [a, b], matches: "^H"}
  tools: [read_file, grep]
  schema: schema.json
  max_cost_usd: 0.05
)");
  REQUIRE(test);
  CHECK(test->name == "x");
  CHECK(test->agent == files.path() / "agent.yaml");
  CHECK(test->prompt == "Say hello.");
  CHECK(test->parameters ==
        std::map<std::string, std::string>{{"target", "main"}, {"count", "3"}, {"deep", "true"}});
  CHECK(test->recording == files.path() / "a.cassette");
  CHECK(test->replay.empty());
  CHECK(test->workspace == files.path() / "work");
  CHECK(test->timeout == 90s);
  CHECK(test->expect.exit_code == 80);
  REQUIRE(test->expect.text);
  CHECK(test->expect.text->equals == "Hello.");
  CHECK(test->expect.text->contains == Lines{"a", "b"});
  CHECK(test->expect.text->matches == "^H");
  CHECK(test->expect.tools == Lines{"read_file", "grep"});
  REQUIRE(test->expect.text->pattern);
  CHECK(test->expect.text->pattern->check("Hello").empty());
  CHECK_FALSE(test->expect.text->pattern->check("oh").empty());
  REQUIRE(test->expect.schema);
  CHECK(test->expect.schema->check(agent::Json::object()).empty());
  CHECK_FALSE(test->expect.schema->check(agent::Json(1)).empty());
  CHECK(test->expect.max_cost_usd == agent::Money::parse("0.05"));
}

TEST_CASE("test case: what is left out", "[config]") {
  const Files files;
  const auto test = files.load(k_least);
  REQUIRE(test);
  CHECK_FALSE(test->prompt);
  CHECK(test->workspace.empty());
  CHECK(test->timeout == 60s);
  CHECK(test->expect.exit_code == 0);
  CHECK_FALSE(test->expect.text);
  CHECK_FALSE(test->expect.tools);
  CHECK_FALSE(test->expect.schema);
  CHECK_FALSE(test->expect.max_cost_usd);

  const auto free = files.load(
      "version: 1\nagent: agent.yaml\nrecording: a.cassette\nexpect: {max_cost_usd: 0}\n");
  REQUIRE(free);
  CHECK(free->expect.max_cost_usd == agent::Money());

  const auto none = files.load(k_least + "expect: {tools: [], text: {contains: one}}\n");
  REQUIRE(none);
  CHECK(none->expect.tools == Lines{});
  CHECK(none->expect.text->contains == Lines{"one"});
}

TEST_CASE("test case: every mistake is named, with its line", "[config]") {
  const Files files;
  const auto row = GENERATE(table<std::string, Lines>({
      {"version: 1\nagent: agent.yaml\n",
       {"1: nothing answers in the model's place: `recording` or `replay` is missing"}},
      {k_least + "recording: a.cassette\n",
       {"3: `replay` and `recording` are both given: only one can answer"}},
      {"# nothing\n", {"1: the file is empty"}},
      {"version: 1\nreplay: script.yaml\n", {"1: `agent` is missing"}},
      {"version: 1\nagent: no.yaml\nreplay: nor.yaml\n",
       {"2: there is no file `no.yaml`", "3: there is no file `nor.yaml`"}},
      {k_least + "workspace: agent.yaml\n", {"4: there is no folder `agent.yaml`"}},
      {k_least + "expect: {schema: broken.json}\n", {"4: `broken.json` is not valid JSON"}},
      {k_least + "expect: {schema: wrong.json}\n",
       {"4: `wrong.json`: the JSON Schema is wrong at `/type`: \"nothing\" is not a type"}},
      {k_least + "expect: {max_cost_usd: -1}\n",
       {"4: `expect.max_cost_usd` must be an amount in US dollars, not `-1`"}},
      {k_least + "expect: {max_cost_usd: 1}\n",
       {"4: `expect.max_cost_usd` could not fail: a script costs nothing"}},
      {k_least + "expect: {text: {}}\n",
       {"4: `expect.text` could not fail: nothing is expected of it"}},
      {k_least + "expect: {text: {contains: []}}\n",
       {"4: `expect.text` could not fail: nothing is expected of it"}},
      {k_least + "expect: {text: {contains: ''}}\n",
       {"4: `expect.text.contains` could not fail: every text contains the empty one"}},
      {k_least + "expect: {exit_code: 99}\n", {"4: no run ends with exit code 99"}},
      {k_least + "expect:\n  text: {matches: '('}\n",
       {"5: `expect.text.matches` is not a regular expression that RE2 understands"}},
  }));
  INFO(std::get<0>(row));
  CHECK(mistakes(files, std::get<0>(row)) == std::get<1>(row));
  CHECK(mistakes(files, k_least + "expect: {schema: gone.json}\n") ==
        Lines{"4: cannot read the schema `gone.json`: there is no file `" +
              (files.path() / "gone.json").string() + "`"});
  CHECK(mistakes(files, k_least + "timeout: 10\nexpect: {exit_code: 256, tools: shell, cost: 1}\n")
            .size() == 4);
  CHECK(mistakes(files, "- no map\n").size() == 1);
  CHECK(config::load_test_case(files.path() / "missing").error().size() == 1);
}

TEST_CASE("test case: what the cases of a folder name, broken ones too", "[config]") {
  Files files;
  files.write("a.test.yaml", "version: 1\nagent: agent.yaml\nreplay: later.yaml\nnone: 1\n");
  files.write("b.test.yaml", "version: 1\nagent: .\nrecording: a.cassette\n");
  files.write("c.test.yaml", "agent: [");
  files.write("d.yaml", "agent: d.agent.yaml\n");
  std::filesystem::create_directory(files.path() / "e.test.yaml");
  auto named = config::files_named_by_test_cases(files.path());
  std::ranges::sort(named);
  CHECK(named == std::vector{files.path() / "a.cassette",
                             files.path() / "agent.yaml",
                             files.path() / "later.yaml"});
}

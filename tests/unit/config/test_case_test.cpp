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
  CHECK(test->expect.tools.exactly == Lines{"read_file", "grep"});
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
  CHECK_FALSE(test->expect.tools.exactly);
  CHECK(test->repeat == 1);
  CHECK(test->pass == config::PassRule());
  CHECK(test->expect.files.empty());
  CHECK(test->expect.judges.empty());
  CHECK(test->needs_live.empty());
  CHECK_FALSE(test->expect.schema);
  CHECK_FALSE(test->expect.max_cost_usd);

  const auto free = files.load(
      "version: 1\nagent: agent.yaml\nrecording: a.cassette\nexpect: {max_cost_usd: 0}\n");
  REQUIRE(free);
  CHECK(free->expect.max_cost_usd == agent::Money());

  const auto none = files.load(k_least + "expect: {tools: [], text: {contains: one}}\n");
  REQUIRE(none);
  CHECK(none->expect.tools.exactly == Lines{});
  CHECK(none->expect.text->contains == Lines{"one"});
}

TEST_CASE("test case: every mistake is named, with its line", "[config]") {
  const Files files;
  const auto row = GENERATE(table<std::string, Lines>({
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
      {k_least + "repeat: 0\npass: most\n",
       {"4: `repeat` must be from 1 to 1000",
        "5: `pass` must be all, any, or a share from 1% to 100%: 80%"}},
      {k_least + "pass: 80\n", {"4: `pass` must be text, not a whole number"}},
      {k_least + "expect: {tools: {}}\n",
       {"4: `expect.tools` could not fail: nothing is expected of it"}},
      {k_least + "expect: {tools: {in_order: [], never: []}}\n",
       {"4: `expect.tools` could not fail: nothing is expected of it"}},
      {k_least + "expect: {tools: {in_order: [a, b], never: [b]}}\n",
       {"4: `expect.tools` could not hold: `b` is to run, and never to"}},
      {k_least + "expect: {tools: {inorder: [a]}}\n",
       {"4: `expect.tools` could not fail: nothing is expected of it",
        "4: unknown key `inorder` in `expect.tools`"}},
      {k_least + "expect:\n  files: {out.txt: {contains: Ada}}\n",
       {"5: `expect.files` looks into the workspace, and there is none"}},
      {k_least + "workspace: work\nexpect:\n  files: {}\n",
       {"6: `expect.files` could not fail: no file is named"}},
      {k_least + "workspace: work\nexpect:\n  files:\n    out.txt: {}\n",
       {"7: `expect.files.out.txt` could not fail: nothing is expected of it"}},
      {k_least + "workspace: work\nexpect:\n  files:\n    out.txt: {exists: false, equals: x}\n",
       {"7: `expect.files.out.txt` could not hold: a file that is not there has no text"}},
      {k_least +
           "workspace: work\nexpect:\n  files:\n    ../x: {contains: a}\n    /x: {contains: a}\n"
           "    a/: {contains: a}\n",
       {"7: `../x` is not the path of a file in the workspace",
        "8: `/x` is not the path of a file in the workspace",
        "9: `a/` is not the path of a file in the workspace"}},
      {k_least + "workspace: work\nexpect:\n  files:\n    out.txt: {matches: '(', has: x}\n",
       {"7: `expect.files.out.txt.matches` is not a regular expression that RE2 understands",
        "7: unknown key `has` in `expect.files.out.txt`"}},
      {k_least + "expect:\n  judge: [{says: x}, {model: a/b}, {says: x, model: auto}]\n",
       {"5: `expect.judge[].model` is missing",
        "5: `expect.judge[].says` is missing",
        "5: `expect.judge[].model` must be PROVIDER/NAME"}},
      {k_least + "expect:\n  judge: [{says: x, model: {name: a/b, url: c}, votes: 10}]\n",
       {"5: unknown key `url` in `expect.judge[].model`",
        "5: `expect.judge[].votes` must be from 1 to 9"}},
      {k_least + "expect:\n  judge: [{says: x, model: replay/gone.yaml}]\n",
       {"5: there is no file `gone.yaml`"}},
      {k_least + "expect: {judge: []}\n", {"4: `expect.judge` is empty"}},
      {k_least + "model: a/b\n", {"4: unknown key `model` at the top"}},
      {k_least + "expect: {text: {}}\n",
       {"4: `expect.text` could not fail: nothing is expected of it"}},
      {k_least + "expect: {text: {contains: []}}\n",
       {"4: `expect.text` could not fail: nothing is expected of it"}},
      {k_least + "expect: {text: {contains: ''}}\n",
       {"4: `expect.text.contains` could not fail: every text contains the empty one"}},
      {k_least + "expect: {text: {matches: 'Ada|'}}\n",
       {"4: `expect.text.matches` could not fail: what matches the empty text matches in every "
        "text"}},
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

TEST_CASE("test case: the keys of live tests reach the case", "[config]") {
  const Files files;
  const auto test = files.load(R"(version: 1
agent: agent.yaml
workspace: work
repeat: 5
pass: 80%
expect:
  tools: {in_order: [read_file, write_file], never: shell}
  files:
    out.txt: {equals: a, contains: [b], matches: c}
    sub/gone.txt: {exists: false}
  judge:
    - {says: Names both files., model: openai/gpt-5-mini, votes: 3, timeout: 5s}
    - {says: Is kind., model: {name: local/m, base_url: "http://localhost:1", temperature: 0}}
    - {says: Is short., model: replay/script.yaml}
)");
  REQUIRE(test);
  CHECK(test->repeat == 5);
  CHECK(test->pass.text() == "80%");
  CHECK_FALSE(test->expect.tools.exactly);
  CHECK(test->expect.tools.in_order == Lines{"read_file", "write_file"});
  CHECK(test->expect.tools.never == Lines{"shell"});
  CHECK(test->expect.files.at("out.txt").exists);
  CHECK(test->expect.files.at("out.txt").text.equals == "a");
  CHECK(test->expect.files.at("out.txt").text.contains == Lines{"b"});
  CHECK(test->expect.files.at("out.txt").text.pattern);
  CHECK_FALSE(test->expect.files.at("sub/gone.txt").exists);
  REQUIRE(test->expect.judges.size() == 3);
  const auto& judges = test->expect.judges;
  CHECK(judges[0].says == "Names both files.");
  CHECK(judges[0].model == "openai/gpt-5-mini");
  CHECK(judges[0].model_json == "\"openai/gpt-5-mini\"");
  CHECK(judges[0].votes == 3);
  CHECK(judges[0].timeout == 5s);
  CHECK(judges[1].model == "local/m");
  CHECK(agent::Json::parse(judges[1].model_json) ==
        agent::Json({{"name", "local/m"}, {"base_url", "http://localhost:1"}, {"temperature", 0}}));
  CHECK(judges[1].votes == 1);
  CHECK(judges[1].timeout == 60s);
  CHECK(judges[2].model_json == agent::dump("replay/" + (files.path() / "script.yaml").string()));
}

TEST_CASE("test case: what nothing answers without a model is said, with its place", "[config]") {
  const Files files;
  const auto needs = [&](const std::string& text) {
    const auto test = files.load(text);
    REQUIRE(test);
    Lines lines;
    for (const agent::Error& error : test->needs_live) {
      REQUIRE(error.where);
      CHECK(error.help.contains("errand test --live"));
      lines.push_back(std::to_string(error.where->line) + ":" +
                      std::to_string(error.where->column) + " " + error.message);
    }
    return lines;
  };
  CHECK(needs("version: 1\nagent: agent.yaml\n") ==
        Lines{"1:1 nothing answers in the model's place: `recording` or `replay` is missing"});
  CHECK(needs(k_least + "expect: {max_cost_usd: 1}\n") ==
        Lines{"4:10 `expect.max_cost_usd` could not fail: a script costs nothing"});
  CHECK(needs(k_least + "expect:\n  judge:\n    - {says: x, model: a/b}\n") ==
        Lines{"6:17 the judge `a/b` is a model: nothing answers in its place"});
  CHECK(needs(k_least + "expect:\n  judge:\n    - {says: x, model: replay/script.yaml}\n").empty());
}

TEST_CASE("test case: what the cases of a folder name, broken ones too", "[config]") {
  Files files;
  files.write("a.test.yaml", "version: 1\nagent: agent.yaml\nreplay: later.yaml\nnone: 1\n");
  files.write("b.test.yaml",
              "version: 1\nagent: .\nrecording: a.cassette\n"
              "expect: {judge: [{says: x, model: replay/judge.yaml}, {says: y, model: a/b}]}\n");
  files.write("c.test.yaml", "agent: [");
  files.write("d.yaml", "agent: d.agent.yaml\n");
  std::filesystem::create_directory(files.path() / "e.test.yaml");
  auto named = config::files_named_by_test_cases(files.path());
  std::ranges::sort(named);
  CHECK(named == std::vector{files.path() / "a.cassette",
                             files.path() / "agent.yaml",
                             files.path() / "judge.yaml",
                             files.path() / "later.yaml"});
}

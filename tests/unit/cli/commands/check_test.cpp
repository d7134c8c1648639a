#include "tests/unit/cli/command_support.h"

#include <nlohmann/json.hpp>

namespace {

constexpr auto k_good = R"(version: 1
name: good
model: anthropic/claude-sonnet-4-5
instructions: Be good.
)";
constexpr auto k_bad = R"(version: 1
name: bad
model: anthropic/claude-sonnet-4-5
instructon: Be bad.
limits: {max_turns: 0}
)";
const agent::Environment k_key{{"ANTHROPIC_API_KEY", "0123456789"}};

agent::Json json_of(const Ran& ran) {
  const auto json = agent::parse_json(ran.out);
  REQUIRE(json);
  return *json;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("check: a good file is ok, on stdout alone", "[cli]") {
  const Folder folder;
  folder.write("good.yaml", k_good);
  const Ran ran = run_command({"check", "good.yaml"}, folder.path, k_key);
  CHECK(ran.code == 0);
  CHECK(ran.out == "good.yaml: ok\n");
  CHECK(ran.err.empty());
}

TEST_CASE("check: every mistake of every file, with its place", "[cli]") {
  const Folder folder;
  folder.write("good.yaml", k_good);
  folder.write("bad.yaml", k_bad);
  const Ran ran =
      run_command({"check", "bad.yaml", "good.yaml", "missing.yaml"}, folder.path, k_key);
  CHECK(ran.code == 78);
  CHECK(ran.out == "good.yaml: ok\n");
  CHECK(contains(ran.err, "--> bad.yaml:4:1"));
  CHECK(contains(ran.err, "did you mean `instructions`?"));
  CHECK(contains(ran.err, "--> bad.yaml:5:"));
  CHECK(contains(ran.err, "missing.yaml"));
}

TEST_CASE("check: a missing key is a warning", "[cli]") {
  const Folder folder;
  folder.write("good.yaml", k_good);
  const Ran ran = run_command({"check", "good.yaml"}, folder.path);
  CHECK(ran.code == 0);
  CHECK(ran.out == "good.yaml: ok\n");
  CHECK(contains(ran.err, "warning: "));
  CHECK(contains(ran.err, "ANTHROPIC_API_KEY"));
}

TEST_CASE("check: JSON for CI", "[cli]") {
  const Folder folder;
  folder.write("good.yaml", k_good);
  folder.write("bad.yaml", k_bad);
  const Ran ran = run_command({"check", "-o", "json", "good.yaml", "bad.yaml"}, folder.path);
  CHECK(ran.code == 78);
  CHECK(ran.err.empty());
  const agent::Json json = json_of(ran);
  CHECK(json["schema"] == "errand.check/1");
  CHECK(json["ok"] == false);
  REQUIRE(json["files"].size() == 2);
  CHECK(json["files"][0]["file"] == "good.yaml");
  CHECK(json["files"][0]["ok"] == true);
  CHECK(json["files"][0]["errors"].empty());
  CHECK(json["files"][0]["warnings"].size() == 1);
  CHECK(json["files"][1]["ok"] == false);
  REQUIRE(json["files"][1]["errors"].size() == 2);
  const agent::Json& error = json["files"][1]["errors"][0];
  CHECK(error["code"] == "config.invalid");
  CHECK(error["file"] == "bad.yaml");
  CHECK(error["line"] == 4);
  CHECK(error["column"] == 1);
}

TEST_CASE("check: a model that nobody provides, and a script that is not there", "[cli]") {
  const Folder folder;
  folder.write("a.yaml", "version: 1\nname: a\nmodel: nobody/x\ninstructions: Hi.\n");
  folder.write("b.yaml", "version: 1\nname: b\nmodel: replay/none.yaml\ninstructions: Hi.\n");
  CHECK(run_command({"check", "a.yaml"}, folder.path).code == 78);
  const Ran ran = run_command({"check", "b.yaml"}, folder.path);
  CHECK(ran.code == 78);
  CHECK(contains(ran.err, "none.yaml"));
}

TEST_CASE("check: the user's own files are checked, and their mistakes said once", "[cli]") {
  const Folder folder;
  const std::string agent =
      "version: 1\nname: a\nmodel: openai/gpt-9\nfallback: [openai/gpt-10]\ninstructions: Hi.\n";
  folder.write("a.yaml", agent);
  folder.write("b.yaml", agent + "limits: {max_cost_usd: 1}\n");
  std::filesystem::create_directories(folder.path / "errand");
  const agent::Environment environment{{"OPENAI_API_KEY", "0123456789"},
                                       {"XDG_CONFIG_HOME", folder.path.string()},
                                       {"XDG_DATA_HOME", folder.path.string()}};
  const auto check = [&] {
    return json_of(
        run_command({"check", "-o", "json", "a.yaml", "b.yaml"}, folder.path, environment));
  };
  const auto is_said_once = [&](const std::string& name) {
    const agent::Json json = check();
    CHECK(json["ok"] == false);
    REQUIRE(json["files"].size() == 3);
    CHECK(json["files"][0]["file"] == (folder.path / "errand" / name).string());
    CHECK(json["files"][0]["errors"].size() == 1);
    CHECK(json["files"][1]["ok"] == true);
    CHECK(json["files"][2]["ok"] == true);
  };
  SECTION("config.yaml") {
    folder.write("errand/config.yaml", "prises: {}\n");
    is_said_once("config.yaml");
  }
  SECTION("a rule in config.yaml that is none") {
    folder.write("errand/config.yaml", "permissions: {deny: [\"read_file(\"]}\n");
    is_said_once("config.yaml");
  }
  SECTION("the imported prices") {
    folder.write("errand/prices.txt",
                 "errand-prices 1 2199-01-01\nprovider openai : https://x\nmodel broken\n");
    is_said_once("prices.txt");
  }
  SECTION("without a mistake they are not listed; who has no price is named") {
    folder.write("errand/prices.txt",
                 "errand-prices 1 2199-01-01\nprovider openai : https://x\n"
                 "model gpt-9 : in=1 out=1\n");
    const agent::Json json = check();
    REQUIRE(json["files"].size() == 2);
    CHECK(json["files"][0]["ok"] == true);
    REQUIRE(json["files"][1]["errors"].size() == 1);
    CHECK(contains(json["files"][1]["errors"][0]["message"].get<std::string>(), "`openai/gpt-10`"));
  }
}

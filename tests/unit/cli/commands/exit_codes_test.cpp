#include "tests/unit/cli/command_support.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

agent::Json json_printed_by(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"exit-codes", "-o", "json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Ran ran = run_command(words);
  REQUIRE(ran.code == 0);
  const auto json = agent::parse_json(ran.out);
  REQUIRE(json);
  return *json;
}

std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

}  // namespace

TEST_CASE("exit-codes: the JSON holds both tables, whole", "[cli]") {
  const agent::Json json = json_printed_by({});
  CHECK(json["schema"] == "errand.exit_codes/1");
  REQUIRE(json["exits"].size() == agent::exit_table().size());
  REQUIRE(json["errors"].size() == agent::error_table().size());
  CHECK(json["exits"][0] == agent::Json{{"exit_code", 0},
                                        {"name", "ok"},
                                        {"when", agent::exit_row(0).when},
                                        {"retry", "-"},
                                        {"resumable", "-"}});
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["errors"][0].items()) {
    keys.push_back(key);
  }
  CHECK(keys == std::vector<std::string>{
                    "code", "domain", "retry", "seen", "exit_code", "advice", "since"});
}

TEST_CASE("exit-codes: a number, a name and an error code find their rows", "[cli]") {
  const agent::Json by_number = json_printed_by({"75"});
  CHECK(by_number == json_printed_by({"provider_unavailable"}));
  REQUIRE(by_number["exits"].size() == 1);
  CHECK(by_number["exits"][0]["exit_code"] == 75);
  CHECK(by_number["errors"].size() > 3);
  for (const agent::Json& error : by_number["errors"]) {
    CHECK(error["exit_code"] == 75);
  }
  const agent::Json by_code = json_printed_by({"provider.auth"});
  REQUIRE(by_code["errors"].size() == 1);
  CHECK(by_code["errors"][0]["code"] == "provider.auth");
  REQUIRE(by_code["exits"].size() == 1);
  CHECK(by_code["exits"][0]["exit_code"] == 77);
}

TEST_CASE("exit-codes: a code that ends nothing has no exit code", "[cli]") {
  const agent::Json json = json_printed_by({"tool.model_retry"});
  CHECK(json["exits"].empty());
  CHECK(json["errors"][0]["exit_code"].is_null());
  CHECK(json_printed_by({"0"})["errors"].empty());
}

TEST_CASE("exit-codes: what it does not know, it says", "[cli]") {
  CHECK(run_command({"exit-codes", "max_turn"}).help == "did you mean `max_turns`?");
  CHECK(run_command({"exit-codes", "provider.auht"}).help == "did you mean `provider.auth`?");
  CHECK(run_command({"exit-codes", "42"}).message == "errand never exits with 42");
  CHECK(run_command({"exit-codes", "137"}).help.find("signal 9") != std::string::npos);
  CHECK(run_command({"exit-codes", "nothing like it"}).code == 2);
}

TEST_CASE("exit-codes: the text fits a terminal and names every code", "[cli]") {
  const Ran ran = run_command({"exit-codes"});
  CHECK(longest_line(ran.out) <= 80);
  for (const agent::ExitRow& row : agent::exit_table()) {
    CHECK(ran.out.find(row.name) != std::string::npos);
  }
  for (const agent::CodeRow& row : agent::error_table()) {
    CHECK(ran.out.find(row.name) != std::string::npos);
  }
}

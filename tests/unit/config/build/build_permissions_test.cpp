#include "config/project_config.h"
#include "config/user_config.h"
#include "tests/unit/config/load_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace {

using Standard = agent::PermissionSpec::Standard;

std::vector<std::string> texts(const std::vector<agent::PermissionRule>& rules) {
  std::vector<std::string> list;
  for (const agent::PermissionRule& rule : rules) {
    list.push_back(rule.text);
  }
  return list;
}

// Rules are another folder's business: here, all but "bad" are good.
config::KnownNames known_with_rules() {
  return {.tools = {"read_file", "shell"},
          .rule_error = [](std::string_view rule, std::span<const std::string>) {
            return rule == "bad" ? std::optional(agent::Error{.code = agent::Code::config_invalid,
                                                              .message = "no rule",
                                                              .help = "a rule"})
                                 : std::nullopt;
          }};
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("permissions: an agent file's rules know where they come from", "[config]") {
  const auto report = config::parse_agent(R"_(version: 1
name: a
permissions:
  default: ask
  allow: ["read_*"]
  ask: [shell]
  deny: ["shell(rm *)", bad]
)_",
                                          "agent.yaml",
                                          ".",
                                          false,
                                          {},
                                          known_with_rules());
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message == "no rule");
  CHECK(report.errors[0].where->line == 7);
  CHECK(report.errors[0].where->column == 25);
}

TEST_CASE("permissions: what an agent file says is what is built", "[config]") {
  const auto report = config::parse_agent(
      "version: 1\nname: a\npermissions: {default: deny, allow: [a], ask: [b], deny: [c, d]}\n",
      "agent.yaml",
      ".",
      false,
      {},
      known_with_rules());
  REQUIRE(report.agent);
  const agent::PermissionSpec& permissions = report.agent->permissions;
  CHECK(permissions.standard == Standard::deny);
  CHECK(permissions.standard_origin == "agent.yaml");
  CHECK(texts(permissions.allow) == std::vector<std::string>{"a"});
  CHECK(texts(permissions.ask) == std::vector<std::string>{"b"});
  CHECK(texts(permissions.deny) == std::vector<std::string>{"c", "d"});
  CHECK(permissions.deny[1].origin == "agent.yaml");
  CHECK(permissions.granted.empty());
}

TEST_CASE("project config: the nearest one tightens", "[config]") {
  const config_test::Folder folder;
  write(folder.path() / ".errand/config.yaml", "permissions: {default: ask, deny: [c], ask: [b]}");
  std::filesystem::create_directories(folder.path() / "deep/er");

  const auto config = config::load_project_config(folder.path() / "deep/er", known_with_rules());
  REQUIRE(config);
  agent::PermissionSpec permissions{.allow = {{"a", "x"}}};
  config::tighten(permissions, config->permissions);
  CHECK(permissions.standard == Standard::ask);
  CHECK(texts(permissions.allow) == std::vector<std::string>{"a"});
  CHECK(texts(permissions.ask) == std::vector<std::string>{"b"});
  CHECK(texts(permissions.deny) == std::vector<std::string>{"c"});

  agent::PermissionSpec strict{.standard = Standard::deny};
  config::tighten(strict, config->permissions);
  CHECK(strict.standard == Standard::deny);
}

TEST_CASE("project config: one that says nothing changes nothing", "[config]") {
  agent::PermissionSpec permissions{.standard = Standard::allow};
  config::tighten(permissions, {});
  CHECK(permissions.standard == Standard::allow);
}

TEST_CASE("project config: what would loosen is refused", "[config]") {
  const auto text = GENERATE(as<std::string>{},
                             "permissions: {default: auto}",
                             "permissions: {default: allow}",
                             "permissions: {allow: [shell]}",
                             "permissions: {allow: \"*\"}");
  const config_test::Folder folder;
  write(folder.path() / ".errand/config.yaml", text);
  const auto config = config::load_project_config(folder.path(), known_with_rules());
  INFO(text);
  REQUIRE_FALSE(config);
  CHECK(config.error().front().message.find("can only tighten") != std::string::npos);
  CHECK(config.error().front().where->line == 1);
}

TEST_CASE("user config: a rule is added, and nothing else changes", "[config]") {
  struct Row {
    const char* before;
    const char* after;
  };
  const auto row = GENERATE(values<Row>({
      {"", "permissions:\n  allow:\n    - \"x(*)\"\n"},
      {"# mine\n", "# mine\npermissions:\n  allow:\n    - \"x(*)\"\n"},
      {"x-a: 1", "x-a: 1\npermissions:\n  allow:\n    - \"x(*)\"\n"},
      {"permissions:\n  deny: [a] # b\n", "permissions:\n  allow: [\"x(*)\"]\n  deny: [a] # b\n"},
      {"permissions: {deny: [a]}\n", "permissions: {allow: [\"x(*)\"], deny: [a]}\n"},
      {"permissions: {}\n", "permissions: {allow: [\"x(*)\"]}\n"},
      {"permissions:\nx-a: 1\n", "permissions: {allow: [\"x(*)\"]}\nx-a: 1\n"},
      {"permissions:\n  allow:\n  deny: [a]\n", "permissions:\n  allow: [\"x(*)\"]\n  deny: [a]\n"},
      {"permissions:\n  allow: []\n", "permissions:\n  allow: [\"x(*)\"]\n"},
      {"permissions:\n  allow: [a]\n", "permissions:\n  allow: [\"x(*)\", a]\n"},
      {"permissions:\n  allow:\n  - a # b\n  - c\n",
       "permissions:\n  allow:\n  - \"x(*)\"\n  - a # b\n  - c\n"},
      {"permissions:\n    allow:\n        - \"a\"\n",
       "permissions:\n    allow:\n        - \"x(*)\"\n        - \"a\"\n"},
  }));
  INFO(row.before);
  const auto changed = config::with_allowed(row.before, "x(*)");
  REQUIRE(changed);
  CHECK(*changed == row.after);
}

TEST_CASE("user config: a text that cannot be added to is left alone", "[config]") {
  for (const char* text : {"{x-a: 1}", "permissions: [", "prices: 3"}) {
    const auto changed = config::with_allowed(text, "shell(make \"a\")");
    REQUIRE_FALSE(changed);
    CHECK(changed.error().help ==
          R"_(add it by hand: permissions: {allow: ["shell(make \"a\")"]})_");
  }
}

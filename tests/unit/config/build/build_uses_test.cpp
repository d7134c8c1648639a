#include "tests/unit/config/load_support.h"

#include <catch2/catch.hpp>

namespace {

using config_test::parse;

const agent::Environment k_environment = {{"A", "a"},
                                          {"B", "b"},
                                          {"C", "c"},
                                          {"D", "d"},
                                          {"E", "e"},
                                          {"F", "f"},
                                          {"EMPTY", ""},
                                          {"G", "g"},
                                          {"N", "5"},
                                          {"GH_TOKEN", "t"},
                                          {"GH_USER", "u"}};

std::vector<std::string> names(const std::vector<agent::EnvironmentUse>& uses) {
  std::vector<std::string> list;
  for (const agent::EnvironmentUse& use : uses) {
    list.push_back(use.name);
  }
  return list;
}

}  // namespace

TEST_CASE("uses: what a request carries knows its variables", "[config]") {
  const auto report = parse(config_test::k_head + R"(
model:
  name: x/y
  protocol: openai_chat
  base_url: "http://h/${env:A}/${env:EMPTY:-b}/${env:NOT_SET:-c}"
  api_key_env: D
  headers:
    X-One: "${env:B} and ${env:C}"
    X-Two: "$${env:D}"
    x-three: "${env:E}"
)",
                            k_environment);
  REQUIRE(report.agent);
  const agent::ModelSpec& model = report.agent->model;
  CHECK(names(model.in_base_url) == std::vector<std::string>{"A"});
  CHECK(names(model.in_headers) == std::vector<std::string>{"B", "C", "E"});
  CHECK(model.in_headers[0].where.line == 10);
  REQUIRE(model.api_key_where);
  CHECK(model.api_key_where->line == 8);
  CHECK(report.agent->in_texts.empty());
}

TEST_CASE("uses: all else that a model can come to see", "[config]") {
  const auto report = parse(config_test::k_head + R"(
model: {name: "x/${env:A}", protocol: openai_chat, base_url: "http://h"}
instructions: "Hi ${env:B}"
tools:
  - shell: {env: [C]}
  - {name: t, description: d, command: [echo, "${env:D}"], env: {V: "${env:E}"}}
hooks:
  run_start: [{command: "true", env: [GH_TOKEN, "GH_*"]}, {command: "echo ${env:G}"}]
permissions: {deny: ['shell(${env:F} *)']}
limits: {max_turns: "${env:N}"}
x-note: "${env:EMPTY}"
)",
                            k_environment);
  INFO((report.errors.empty() ? "" : report.errors.front().message));
  REQUIRE(report.agent);
  CHECK(names(report.agent->in_texts) ==
        std::vector<std::string>{"A", "B", "D", "E", "G", "F", "C", "GH_TOKEN", "GH_USER"});
  CHECK(names(report.agent->tools[0].in_programs) == std::vector<std::string>{"C"});
  CHECK(names(report.agent->tools[1].in_programs) == std::vector<std::string>{"D", "E"});
  CHECK(names(report.agent->hooks.hooks[0].in_programs) ==
        std::vector<std::string>{"GH_TOKEN", "GH_USER"});
  CHECK(names(report.agent->hooks.hooks[1].in_programs) == std::vector<std::string>{"G"});
}

TEST_CASE("uses: the models of a fallback and of a judge have their own", "[config]") {
  const auto report = parse(config_test::k_head + R"(
fallback: [{name: f/m, protocol: openai_chat, base_url: "http://h/${env:A}"}]
guardrails:
  input:
    - judge: "Is it ${env:B}?"
      model: {name: j/m, protocol: openai_chat, base_url: "http://h", headers: {X: "${env:C}"}}
)",
                            k_environment);
  INFO((report.errors.empty() ? "" : report.errors.front().message));
  REQUIRE(report.agent);
  CHECK(names(report.agent->fallback.models.front().in_base_url) == std::vector<std::string>{"A"});
  CHECK(names(report.agent->guardrails.checks.front().model->in_headers) ==
        std::vector<std::string>{"C"});
  CHECK(names(report.agent->in_texts) == std::vector<std::string>{"B"});
}

TEST_CASE("uses: no header says that the server is another one", "[config]") {
  const auto report = parse(config_test::k_head + R"(
model: {name: openai/m, headers: {hOsT: evil.example}}
)");
  CHECK(config_test::lines_of(report.errors) ==
        std::vector<std::string>{
            "4:35 the header `Host` cannot be set: it follows from the server's address"});
}

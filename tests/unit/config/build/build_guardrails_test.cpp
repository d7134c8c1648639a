#include "tests/unit/config/load_support.h"

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

using namespace config_test;

namespace {

using agent::GuardrailSpec;
using Of = GuardrailSpec::Of;
using Look = GuardrailSpec::Kind;
using Action = GuardrailSpec::Action;

config::Report with(const std::string& guardrails) {
  return parse(k_head + "guardrails:\n" + guardrails);
}

}  // namespace

TEST_CASE("guardrails: a check is what the file says", "[config]") {
  const auto report = with(R"_(  redact_secrets: false
  kill_switch: ~/stop
  retries: 0
  input:
    - {find: pii, action: redact}
    - {pattern: "(?i)ignore previous", name: injection}
  output:
    - judge: Does it give medical advice?
      model: openai/gpt-5-mini
      action: kill
      timeout: 5s
  tool_call: [{tool: "shell|write_.*", pattern: "curl .*http:"}]
  tool_result: [{tool: "*", command: ./scan.sh, action: warn}]
)_");
  REQUIRE(report.errors.empty());
  const agent::GuardrailsSpec& spec = report.agent->guardrails;
  CHECK_FALSE(spec.redact_secrets);
  CHECK(spec.kill_switch == "~/stop");
  CHECK(spec.retries == 0);
  REQUIRE(spec.checks.size() == 5);
  CHECK(spec.checks[0].of == Of::input);
  CHECK(spec.checks[0].kind == Look::find);
  CHECK(spec.checks[0].what == "pii");
  CHECK(spec.checks[0].action == Action::redact);
  CHECK(spec.checks[0].name == "pii");
  CHECK(spec.checks[1].name == "injection");
  CHECK(spec.checks[1].action == Action::deny);
  CHECK(spec.checks[2].of == Of::output);
  CHECK(spec.checks[2].kind == Look::judge);
  CHECK(spec.checks[2].name == "Does it give medical advice?");
  CHECK(spec.checks[2].model->name == "openai/gpt-5-mini");
  CHECK(spec.checks[2].timeout == std::chrono::seconds(5));
  CHECK(spec.checks[2].action == Action::kill);
  CHECK(spec.checks[3].of == Of::tool_call);
  CHECK(spec.checks[3].tool == "shell|write_.*");
  CHECK(spec.checks[3].name == "pattern");
  CHECK(spec.checks[4].of == Of::tool_result);
  CHECK(spec.checks[4].tool.empty());
  CHECK(spec.checks[4].name == "./scan.sh");
  CHECK(spec.checks[4].timeout == std::chrono::minutes(1));
}

TEST_CASE("guardrails: without the key there are none, and two retries", "[config]") {
  const auto report = parse(k_head);
  REQUIRE(report.errors.empty());
  CHECK(report.agent->guardrails.checks.empty());
  CHECK(report.agent->guardrails.retries == 2);
  CHECK(report.agent->guardrails.redact_secrets);
  CHECK(report.agent->guardrails.kill_switch.empty());
}

TEST_CASE("guardrails: names are unique, and those that were given win", "[config]") {
  const auto report = with(
      "  input: [{find: pii}, {find: email, name: pii 2}]\n"
      "  output: [{find: pii}, {find: pii}, {pattern: a}, {pattern: b}]\n");
  REQUIRE(report.errors.empty());
  std::vector<std::string> names;
  for (const GuardrailSpec& check : report.agent->guardrails.checks) {
    names.push_back(check.name);
  }
  CHECK(names ==
        std::vector<std::string>{"pii", "pii 2", "pii 3", "pii 4", "pattern", "pattern 2"});
}

TEST_CASE("guardrails: a name out of a command is short and one line", "[config]") {
  const auto report = with("  output:\n    - command: |\n        first " + std::string(80, 'x') +
                           "\n        second\n");
  REQUIRE(report.errors.empty());
  CHECK(report.agent->guardrails.checks[0].name == "first " + std::string(54, 'x'));
}

TEST_CASE("guardrails: mistakes stand at their place", "[config]") {
  struct Row {
    std::string text;
    std::string line;  // of the report
  };
  const auto row = GENERATE(values<Row>({
      {"  input: [{}]", "4:11 this check looks for nothing"},
      {"  input: [{action: deny}]", "4:11 this check looks for nothing"},
      {"  input: [{find: pii, pattern: x}]", "4:12 a check has `pattern` or `find`, not both"},
      {"  output: [{command: x, judge: y}]", "4:25 a check has `command` or `judge`, not both"},
      {"  output: [{judge: y, action: redact}]",
       "4:31 only `pattern` and `find` can redact: they alone know the place"},
      {"  output: [{command: y, action: redact}]",
       "4:33 only `pattern` and `find` can redact: they alone know the place"},
      {"  tool_call: [{find: pii, action: redact}]",
       "4:35 a check of calls cannot redact: that would change what runs"},
      {"  input: [{find: pii, tool: shell}]",
       "4:23 `tool` is for checks of tool_call and tool_result"},
      {"  output: [{find: pii, tool: '*'}]",
       "4:24 `tool` is for checks of tool_call and tool_result"},
      {"  output: [{find: pii, model: a/b}]", "4:24 `model` is for a `judge`"},
      {"  output: [{find: pii, timeout: 5s}]", "4:24 `timeout` is for a `command` or a `judge`"},
      {"  output: [{pattern: 'ab(cd'}]",
       "4:23 `pattern` is not a regular expression: missing ): ab(cd"},
      {"  output: [{pattern: 'ab[z-a]c'}]",
       "4:26 `pattern` is not a regular expression: invalid character class range: z-a"},
      {"  output: [{pattern: 'a(?=b)'}]",
       "4:24 `pattern` is not a regular expression: invalid perl operator: (?="},
      {"  output: [{pattern: 'x*'}]",
       "4:22 the pattern matches the empty text: it would find something everywhere"},
      {"  output: [{pattern: ''}]",
       "4:22 `guardrails.output[].pattern` must be text that is not empty"},
      {"  output: [{find: names}]", "4:19 `guardrails.output[].find` cannot be `names`"},
      {"  output: [{find: pii, action: stop}]",
       "4:32 `guardrails.output[].action` cannot be `stop`"},
      {"  tool_call: [{find: pii, tool: 'a('}]",
       "4:34 `tool` is not a regular expression: missing ): a("},
      {"  output: [{find: pii, name: x}, {find: email, name: x}]",
       "4:54 two checks are called `x`"},
      {"  retries: -1", "4:12 `guardrails.retries` must be from 0 to 100"},
      {"  retries: 101", "4:12 `guardrails.retries` must be from 0 to 100"},
      {"  output: []", "4:11 `guardrails.output` is empty"},
      {"  output: [{find: pii, reason: x}]", "4:24 unknown key `reason` in `guardrails.output[]`"},
      {"  judge: []", "4:3 unknown key `judge` in `guardrails`"},
  }));
  INFO(row.text);
  const auto report = with(row.text + "\n");
  REQUIRE(report.errors.size() == 1);
  CHECK(line_of(report.errors[0]) == row.line);
  CHECK_FALSE(report.errors[0].help.empty());
}

TEST_CASE("guardrails: the edges of what is allowed", "[config]") {
  CHECK(with("  retries: 0\n").errors.empty());
  CHECK(with("  retries: 100\n").errors.empty());
  CHECK(with("  output: [{pattern: x+}]\n").errors.empty());
  CHECK(with("  output: [{judge: x, model: auto}]\n").errors.empty());
  CHECK(with("  tool_result: [{find: secrets, action: redact, tool: mcp__.*}]\n").errors.empty());
}

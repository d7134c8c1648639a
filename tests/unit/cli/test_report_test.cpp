// What `errand test` makes of a run, and what it says about it. The command itself runs programs:
// tests/e2e/test.
#include "cli/test_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <csignal>

using cli::TestOutcome;
using cli::TestReport;

namespace {

using Lines = std::vector<std::string>;

const std::string k_events =
    "{\"type\":\"run.started\"}\n"
    "{\"type\":\"tool.started\",\"name\":\"glob\"}\n"
    "{\"type\":\"tool.started\",\"name\":\"shell\"}\n"
    "{\"type\":\"tool.finished\",\"name\":\"shell\"}\n"
    "{\"type\":\"run.finished\",\"result\":{\"exit_code\":0,\"text\":\" {\\\"n\\\": "
    "3}\\n\",\"cost_usd\":0.3}}\n";

tools::ProgramResult exited(std::string events, int status = 0) {
  return {.end = tools::ProgramResult::End::exited,
          .exit_status = status,
          .output = {.text = std::move(events)}};
}

TestOutcome outcome(const std::string& events, int status = 0) {
  return cli::outcome_of(exited(events, status));
}

std::shared_ptr<const agent::JsonSchema> schema(const char* text) {
  return std::make_shared<const agent::JsonSchema>(
      *agent::JsonSchema::compile(agent::Json::parse(text)));
}

config::TextExpectation text(std::string equals, Lines contains, std::string matches) {
  auto pattern = schema(agent::dump({{"pattern", matches}}).c_str());
  return {.equals = std::move(equals),
          .contains = std::move(contains),
          .matches = std::move(matches),
          .pattern = std::move(pattern)};
}

std::vector<std::string> judged(const config::Expectations& expect, const TestOutcome& outcome) {
  config::TestCase test;
  test.expect = expect;
  std::vector<std::string> lines;
  for (const cli::TestFailure& failure : cli::judge(test, outcome)) {
    lines.push_back(failure.expectation + ": " + failure.expected + " / " + failure.actual);
  }
  return lines;
}

TestReport report(std::string file, std::optional<TestOutcome> outcome, Lines failures = {}) {
  TestReport report{.file = std::move(file), .name = "n", .outcome = std::move(outcome)};
  for (std::string& text : failures) {
    report.failures.push_back({"text", std::move(text), "x"});
  }
  return report;
}

TestOutcome ended() {
  return {.end = TestOutcome::End::ended, .problem = {}, .duration_ms = 1500};
}

}  // namespace

TEST_CASE("errand test: a run's events tell how it went", "[cli]") {
  const TestOutcome good = outcome(k_events);
  CHECK(good.end == TestOutcome::End::ended);
  CHECK(good.exit_code == 0);
  CHECK(good.text == " {\"n\": 3}\n");
  CHECK(good.tools == Lines{"glob", "shell"});
  CHECK(good.cost_usd == agent::Money::parse("0.3"));
  CHECK(good.error.empty());

  const std::string cut = k_events.substr(0, k_events.rfind("{\"type\":\"run.finished"));
  CHECK(outcome(cut).problem == "it ended with exit status 0 and left no result");
  CHECK(outcome("", 70).problem == "it ended with exit status 70 and left no result");
  const TestOutcome failed = outcome(
      R"({"type":"run.finished","result":{"exit_code":119,"cost_usd":null,"error":{"code":"replay.miss","message":"none"}}})",
      119);
  CHECK(failed.exit_code == 119);
  CHECK(failed.error == "replay.miss: none");
  CHECK_FALSE(failed.cost_usd);
}

TEST_CASE("errand test: a result counts only where the process ended as it says", "[cli]") {
  const auto ended_by = [](int exit_code, tools::ProgramResult process) {
    process.output.text = R"({"type":"run.finished","result":{"exit_code":)" +
                          std::to_string(exit_code) + R"(,"text":""}})";
    return cli::outcome_of(process);
  };
  const auto killed = [](int signal) {
    return tools::ProgramResult{.end = tools::ProgramResult::End::signalled, .signal = signal};
  };
  CHECK(ended_by(0, exited("", 0)).end == TestOutcome::End::ended);
  CHECK(ended_by(80, exited("", 80)).exit_code == 80);
  CHECK(ended_by(143, killed(SIGTERM)).exit_code == 143);

  CHECK(ended_by(0, exited("", 70)).end == TestOutcome::End::broken);
  CHECK(ended_by(0, exited("", 70)).problem ==
        "it ended with exit status 70, but its result says exit code 0");
  CHECK(ended_by(0, killed(SIGSEGV)).end == TestOutcome::End::broken);
  CHECK(ended_by(0, killed(SIGSEGV)).problem ==
        "it was killed by signal 11 (Segmentation fault), but its result says exit code 0");
  CHECK(ended_by(143, killed(SIGKILL)).end == TestOutcome::End::broken);
}

TEST_CASE("errand test: what holds passes, what does not is named", "[cli]") {
  const TestOutcome good = outcome(k_events);
  CHECK(judged({}, good).empty());
  CHECK(judged({.text = text("{\"n\": 3}\n", {"n", "3"}, "^.{3}"),
                .tools = Lines{"glob", "shell"},
                .schema = schema(R"({"properties": {"n": {"type": "integer"}}})"),
                .max_cost_usd = agent::Money::parse("0.3")},
               good)
            .empty());
  CHECK(judged({.text = text("x", {"y"}, "z")}, good) ==
        Lines{R"(text: "x" / "{\"n\": 3}")",
              R"(text: to contain "y" / "{\"n\": 3}")",
              R"(text: to match "z" / "{\"n\": 3}")"});
  CHECK(judged({.tools = Lines{"shell", "glob"}}, good) ==
        Lines{"tools: shell, glob / glob, shell"});
  CHECK(judged({.tools = Lines{}}, good) == Lines{"tools: none / glob, shell"});
  CHECK(judged({.schema = schema(R"({"required": ["m"]})")}, good).size() == 1);
}

TEST_CASE("errand test: an unknown cost is over every ceiling", "[cli]") {
  TestOutcome unknown = outcome(k_events);
  unknown.cost_usd.reset();
  CHECK(judged({.max_cost_usd = agent::Money::parse("1000")}, unknown) ==
        Lines{"cost: at most $1000 / unknown: there is no price for this model"});
  CHECK(judged({}, unknown).empty());
}

TEST_CASE("errand test: a ceiling of costs is exact to the pico-dollar", "[cli]") {
  TestOutcome run = ended();
  run.cost_usd = *agent::Money::parse("0.1") + *agent::Money::parse("0.2");
  CHECK(judged({.max_cost_usd = agent::Money::parse("0.3")}, run).empty());
  CHECK(judged({.max_cost_usd = agent::Money::parse("0.299999999999")}, run) ==
        Lines{"cost: at most $0.299999999999 / $0.3"});
  CHECK(judged({.max_cost_usd = agent::Money()}, run) == Lines{"cost: at most $0 / $0.3"});
  run.cost_usd = agent::Money();
  CHECK(judged({.max_cost_usd = agent::Money()}, run).empty());
}

TEST_CASE("errand test: an answer that is no JSON fits no schema", "[cli]") {
  TestOutcome said = ended();
  said.text = "Done.";
  CHECK(judged({.schema = schema("{}")}, said) ==
        Lines{"schema: an answer that is JSON / \"Done.\""});
}

TEST_CASE("errand test: another ending is all that is said", "[cli]") {
  TestOutcome stopped = ended();
  stopped.exit_code = 80;
  stopped.error = "run.max_turns: 3 turns";
  CHECK(judged({.tools = Lines{"glob"}}, stopped) ==
        Lines{"exit code: 0 (ok) / 80 (max_turns)\nrun.max_turns: 3 turns"});
  CHECK(judged({.exit_code = 80}, stopped).empty());
  CHECK(judged({}, {.end = TestOutcome::End::timed_out, .problem = {}}) ==
        Lines{"time: at most 1m / it did not end"});
  CHECK(judged({}, {.end = TestOutcome::End::broken, .problem = "it is gone"}) ==
        Lines{"exit code: 0 (ok) / it is gone"});
}

TEST_CASE("errand test: what was not run has neither passed nor failed", "[cli]") {
  const std::vector<TestReport> reports = {
      report("a/one.test.yaml", ended()), report("two", ended(), {"y"}), report("three", {})};
  const cli::TestCounts counts = cli::count(reports);
  CHECK(counts.passed == 1);
  CHECK(counts.failed == 1);
  CHECK(counts.not_run == 1);
  CHECK(cli::to_text(counts, false) == "1 passed, 1 failed, 1 not run\n");
  CHECK(cli::to_text(reports[0], false, agent::Redactor({})) == "ok      a/one.test.yaml\n");
  CHECK(cli::to_text(reports[1], false, agent::Redactor({})) ==
        "FAILED  two\n        text\n          expected y\n          was      x\n");
  CHECK(cli::to_text(reports[2], false, agent::Redactor({})) == "NOT RUN three\n");
  const agent::Json json = cli::to_json(reports);
  CHECK(json["ok"] == false);
  CHECK(json["cases"][2]["status"] == "not_run");
  CHECK(json["cases"][2]["duration_ms"].is_null());
}

TEST_CASE("errand test: the terminal is safe from what a case says", "[cli]") {
  TestReport bad = report("x\x1b[31m", ended(), {"a\x1b]0;title\x07\nb"});
  const std::string text = cli::to_text(bad, false, agent::Redactor({}));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("errand test: JUnit's XML is well formed whatever is in it", "[cli]") {
  TestReport bad = report(
      "a&b/<c>\".test.yaml", ended(), {"1 < 2 & \"3\"\n\x01\xFF\xEF\xBF\xBE\xEF\xBF\xBF end"});
  bad.outcome->errors = "]]> & \x02 line\nnext";
  CHECK(cli::to_junit({bad, report("good.test.yaml", ended()), report("none.test.yaml", {})},
                      agent::Redactor({})) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"3.000\">\n"
        "  <testsuite name=\"errand test\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" "
        "time=\"3.000\">\n"
        "    <testcase classname=\"a&amp;b\" name=\"n\" file=\"a&amp;b/&lt;c&gt;&quot;.test.yaml\" "
        "time=\"1.500\">\n"
        "      <failure type=\"text\" message=\"text: expected 1 &lt; 2 &amp; "
        "&quot;3&quot;&#10;\xEF\xBF\xBD end, was "
        "x\"/>\n"
        "      <system-err>]]&gt; &amp;  line\nnext</system-err>\n"
        "    </testcase>\n"
        "    <testcase classname=\".\" name=\"n\" file=\"good.test.yaml\" time=\"1.500\"/>\n"
        "    <testcase classname=\".\" name=\"n\" file=\"none.test.yaml\" time=\"0.000\">\n"
        "      <skipped message=\"not run: the tests were stopped\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
}

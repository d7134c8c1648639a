// What `errand test` makes of a run, and what it says about it. The command itself runs programs:
// tests/e2e/test.
#include "cli/test_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <csignal>

using cli::TestOutcome;
using cli::TestReport;
using cli::TestRun;
using cli::TestSummary;

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
  for (const cli::TestFailure& failure : cli::failures_of(test, outcome)) {
    lines.push_back(failure.expectation + ": " + failure.expected + " / " + failure.actual);
  }
  return lines;
}

TestOutcome ended() {
  return {.end = TestOutcome::End::ended, .problem = {}, .duration_ms = 1500};
}

TestRun run(std::optional<TestOutcome> outcome, Lines failures = {}) {
  TestRun run{.outcome = std::move(outcome)};
  for (std::string& text : failures) {
    run.failures.push_back({"text", std::move(text), "x"});
  }
  return run;
}

TestReport report(std::string file, std::vector<TestRun> runs, const char* pass = "all") {
  return {.file = std::move(file),
          .name = "n",
          .runs = std::move(runs),
          .pass = *config::PassRule::parse(pass)};
}

// A run of which all holds but what a judge has no verdict on.
TestRun unjudged() {
  TestRun one = run(ended());
  one.judgements = {{.verdict = cli::Judgement::Verdict::none,
                     .says = "It is kind.",
                     .model = "p/judge",
                     .reason = "it ended with 75 (unavailable)",
                     .cost_usd = agent::Money::parse("0.25")}};
  return one;
}

TestRun costing(const char* dollars) {
  TestRun one = run(ended());
  one.outcome->cost_usd = agent::Money::parse(dollars);
  return one;
}

std::string text(const TestReport& report) {
  return cli::to_text(report, false, agent::Redactor({}));
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
                .tools = {.exactly = Lines{"glob", "shell"}},
                .schema = schema(R"({"properties": {"n": {"type": "integer"}}})"),
                .max_cost_usd = agent::Money::parse("0.3")},
               good)
            .empty());
  CHECK(judged({.text = text("x", {"y"}, "z")}, good) ==
        Lines{R"(text: "x" / "{\"n\": 3}")",
              R"(text: to contain "y" / "{\"n\": 3}")",
              R"(text: to match "z" / "{\"n\": 3}")"});
  CHECK(judged({.tools = {.exactly = Lines{"shell", "glob"}}}, good) ==
        Lines{"tools: shell, glob / glob, shell"});
  CHECK(judged({.tools = {.exactly = Lines{}}}, good) == Lines{"tools: none / glob, shell"});
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
  CHECK(judged({.tools = {.exactly = Lines{"glob"}}}, stopped) ==
        Lines{"exit code: 0 (ok) / 80 (max_turns)\nrun.max_turns: 3 turns"});
  CHECK(judged({.exit_code = 80}, stopped).empty());
  CHECK(judged({}, {.end = TestOutcome::End::timed_out, .problem = {}}) ==
        Lines{"time: at most 1m / it did not end"});
  CHECK(judged({}, {.end = TestOutcome::End::broken, .problem = "it is gone"}) ==
        Lines{"exit code: 0 (ok) / it is gone"});
}

TEST_CASE("errand test: tools in an order, with others between them, and tools that never run",
          "[cli]") {
  TestOutcome ran = ended();
  ran.tools = {"read_file", "grep", "read_file", "write_file"};
  CHECK(judged({.tools = {.in_order = {"read_file", "write_file"}, .never = {"shell"}}}, ran)
            .empty());
  CHECK(judged({.tools = {.in_order = {"read_file", "read_file", "write_file"}}}, ran).empty());
  CHECK(judged({.tools = {.in_order = {"write_file", "grep"}}}, ran) ==
        Lines{"tools: in this order write_file, grep / read_file, grep, read_file, write_file"});
  CHECK(judged({.tools = {.in_order = {"grep", "grep"}}}, ran).size() == 1);
  CHECK(judged({.tools = {.never = {"grep"}}}, ran) ==
        Lines{"tools: never grep / read_file, grep, read_file, write_file"});
}

TEST_CASE("errand test: what the run left of a file", "[cli]") {
  TestOutcome left = ended();
  left.files = {{"out.txt", {.text = "Hello, Ada.\n", .problem = {}}},
                {"gone.txt", {}},
                {"link", {.text = {}, .problem = "a link leads away"}}};
  const auto expect = [](const char* path, config::FileExpectation file) {
    return config::Expectations{.files = {{path, std::move(file)}}};
  };
  CHECK(judged(expect("out.txt", {.text = text("Hello, Ada.", {"Ada"}, "^Hello")}), left).empty());
  CHECK(judged(expect("out.txt", {}), left).empty());
  CHECK(judged(expect("gone.txt", {.exists = false, .text = {}}), left).empty());
  CHECK(judged(expect("out.txt", {.text = text("x", {"y"}, "z")}), left) ==
        Lines{R"(file out.txt: "x" / "Hello, Ada.")",
              R"(file out.txt: to contain "y" / "Hello, Ada.")",
              R"(file out.txt: to match "z" / "Hello, Ada.")"});
  CHECK(judged(expect("gone.txt", {}), left) == Lines{"file gone.txt: to be there / not there"});
  CHECK(judged(expect("out.txt", {.exists = false, .text = {}}), left) ==
        Lines{"file out.txt: not to be there / \"Hello, Ada.\\n\""});
  CHECK(judged(expect("link", {}), left) ==
        Lines{"file link: a file that can be read / a link leads away"});
  CHECK(judged(expect("link", {.exists = false, .text = {}}), left).size() == 1);
}

TEST_CASE("errand test: what was not run has neither passed nor failed", "[cli]") {
  const TestSummary summary{.reports = {report("a/one.test.yaml", {run(ended())}),
                                        report("two", {run(ended(), {"y"})}),
                                        report("three", {run({})})}};
  const cli::TestCounts counts = cli::count(summary.reports);
  CHECK(counts.passed == 1);
  CHECK(counts.failed == 1);
  CHECK(counts.not_run == 1);
  CHECK(cli::summary_line(summary, false) == "1 passed, 1 failed, 1 not run\n");
  CHECK(text(summary.reports[0]) == "ok      a/one.test.yaml\n");
  CHECK(text(summary.reports[1]) ==
        "FAILED  two\n        text\n          expected y\n          was      x\n");
  CHECK(text(summary.reports[2]) == "NOT RUN three\n");
  const agent::Json json = cli::to_json(summary);
  CHECK(json["ok"] == false);
  CHECK(json["cases"][2]["status"] == "not_run");
  CHECK(json["cases"][2]["runs"][0]["duration_ms"].is_null());
}

TEST_CASE("errand test: a case passes by its rule, whatever comes of its open runs", "[cli]") {
  using Status = TestReport::Status;
  const TestRun good = run(ended());
  const TestRun bad = run(ended(), {"y"});
  const TestRun open = unjudged();
  const TestRun none = run({});
  const auto row = GENERATE_COPY(table<std::vector<TestRun>, std::string, Status>({
      {{good, good}, "all", Status::passed},
      {{good, bad}, "all", Status::failed},
      {{good, bad}, "any", Status::passed},
      {{bad, bad}, "any", Status::failed},
      {{good, good, good, good, bad}, "80%", Status::passed},
      {{good, good, good, bad, bad}, "80%", Status::failed},
      {{good, bad}, "1%", Status::passed},
      {{open}, "all", Status::unjudged},
      {{good, open}, "all", Status::unjudged},
      {{bad, open}, "all", Status::failed},
      {{good, open}, "any", Status::passed},
      {{bad, open}, "any", Status::unjudged},
      {{good, good, good, open, bad}, "80%", Status::unjudged},
      {{good, none}, "all", Status::not_run},
      {{open, none}, "all", Status::not_run},
      {{bad, none}, "all", Status::failed},
      {{good, none}, "any", Status::passed},
  }));
  CHECK(report("x", std::get<0>(row), std::get<1>(row).c_str()).status() == std::get<2>(row));
}

TEST_CASE("errand test: an unjudged case is no pass, and says why", "[cli]") {
  const TestSummary summary{.reports = {report("one", {unjudged()})}};
  CHECK_FALSE(summary.is_ok());
  CHECK(text(summary.reports[0]) ==
        "UNJUDGED one  judges $0.25\n        judge p/judge has no verdict on \"It is kind.\": it "
        "ended with 75 (unavailable)\n");
  CHECK(cli::summary_line(summary, false) == "0 passed, 0 failed, 1 unjudged; judges $0.25\n");
  const agent::Json json = cli::to_json(summary);
  CHECK(json["unjudged"] == 1);
  CHECK(json["judges_cost_usd"] == 0.25);
  CHECK(json["cases"][0]["status"] == "unjudged");
  CHECK(json["cases"][0]["runs"][0]["judges"][0]["verdict"] == "none");
  const std::string junit = cli::to_junit(summary, agent::Redactor({}));
  CHECK(junit.contains("failures=\"0\" errors=\"1\""));
  CHECK(junit.contains("<error type=\"judge\" message=\"judge p/judge has no verdict"));
}

TEST_CASE("errand test: rates and costs of repeated cases", "[cli]") {
  TestReport five = report("five", {costing("0.1"), costing("0.2"), run(ended(), {"y"})}, "any");
  five.is_live = true;
  five.runs[2].outcome->cost_usd = agent::Money::parse("0.3");
  CHECK(text(five) ==
        "ok      five  2 of 3 passed (66%), $0.60\n        run 3: text\n          expected y\n"
        "          was      x\n");
  CHECK(cli::summary_line({.reports = {five}}, false) ==
        "1 passed, 0 failed; 2 of 3 runs passed (66%); cost $0.60\n");
  five.pass = {};
  CHECK(text(five).starts_with("FAILED  five  2 of 3 passed (66%), needed: 3, $0.60\n"));
  five.runs[0].outcome->cost_usd.reset();  // one of which nobody knows: so nobody knows of all
  CHECK(cli::summary_line({.reports = {five}}, false).ends_with("; cost unknown\n"));
}

TEST_CASE("errand test: JUnit has an entry a run, and forgives what the case does", "[cli]") {
  const std::vector<TestRun> runs = {run(ended()), run(ended(), {"y"}), unjudged()};
  const std::string forgiven =
      cli::to_junit({.reports = {report("a", runs, "any")}}, agent::Redactor({}));
  CHECK(forgiven.contains("<testsuites tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  CHECK(forgiven.contains("name=\"n [1]\""));
  CHECK(forgiven.contains("name=\"n [3]\""));
  CHECK(forgiven.contains("<flakyFailure type=\"text\""));
  CHECK(forgiven.contains("<flakyError type=\"judge\""));
  CHECK_FALSE(forgiven.contains("<failure"));
  const std::string strict = cli::to_junit({.reports = {report("a", runs)}}, agent::Redactor({}));
  CHECK(strict.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""));
  CHECK_FALSE(strict.contains("<flaky"));
}

TEST_CASE("errand test: what is worse than the baseline fails a call whose cases pass", "[cli]") {
  const TestSummary summary{.reports = {report("one", {run(ended())})},
                            .worse = {{.what = cli::WorseCase::What::missing,
                                       .file = "two",
                                       .expected = "to run",
                                       .actual = "not among the cases"}}};
  CHECK_FALSE(summary.is_ok());
  CHECK(cli::summary_line(summary, false) == "1 passed, 0 failed, 1 worse than the baseline\n");
  CHECK(cli::to_text(summary.worse[0], false) ==
        "WORSE   two\n        missing\n          expected to run\n          was      not among the "
        "cases\n");
  CHECK(cli::to_json(summary)["worse"][0]["what"] == "missing");
  CHECK(
      cli::to_junit(summary, agent::Redactor({}))
          .contains("<testcase classname=\"baseline\" name=\"two\" file=\"two\" time=\"0.000\">\n "
                    "     <failure type=\"missing\""));
}

TEST_CASE("errand test: the terminal is safe from what a case says", "[cli]") {
  const std::string shown = text(report("x\x1b[31m", {run(ended(), {"a\x1b]0;title\x07\nb"})}));
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find('\x07') == std::string::npos);
}

TEST_CASE("errand test: JUnit's XML is well formed whatever is in it", "[cli]") {
  TestReport bad = report("a&b/<c>\".test.yaml",
                          {run(ended(), {"1 < 2 & \"3\"\n\x01\xFF\xEF\xBF\xBE\xEF\xBF\xBF end"})});
  bad.runs[0].outcome->errors = "]]> & \x02 line\nnext";
  CHECK(cli::to_junit({.reports = {bad,
                                   report("good.test.yaml", {run(ended())}),
                                   report("none.test.yaml", {run({})})}},
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

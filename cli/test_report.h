// What `errand test` says of its cases: lines for people, JSON for scripts, JUnit's XML for CI.
#pragma once
#include "agent/json.h"
#include "agent/money.h"
#include "agent/secrets/redact.h"
#include "cli/test_baseline.h"
#include "cli/test_check.h"
#include "cli/test_judge.h"
#include "cli/test_run.h"
#include "config/pass_rule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

// One of the runs of a case.
struct TestRun {
  // unjudged: all holds that errand can see to, and a judge has no verdict.
  enum class Status : std::uint8_t { passed, failed, unjudged, not_run };

  std::optional<TestOutcome> outcome;  // none: the call was stopped before it ended
  std::vector<TestFailure> failures = {};
  std::vector<Judgement> judgements = {};

  Status status() const;
};

struct TestReport {
  // unjudged: it would have passed or failed, had the judges of all runs had a verdict.
  enum class Status : std::uint8_t { passed, failed, unjudged, broken, not_run };

  std::string file;  // as it is shown
  std::string name;
  std::vector<TestRun> runs = {};
  config::PassRule pass = {};
  bool is_live = false;
  std::vector<agent::Error> errors = {};  // of the case file: it cannot be run

  Status status() const;
  bool has_passed() const { return status() == Status::passed; }
  bool is_broken() const { return !errors.empty(); }
  std::size_t count(TestRun::Status status) const;  // of its runs
  // Of all runs; unknown: none.
  std::optional<agent::Money> cost() const;
  std::optional<agent::Money> judges_cost() const;
  bool has_judgements() const;
};

struct TestCounts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t unjudged = 0;
  std::size_t broken = 0;
  std::size_t not_run = 0;
};
TestCounts count(std::span<const TestReport> reports);

// All of one call.
struct TestSummary {
  std::vector<TestReport> reports;
  std::vector<WorseCase> worse = {};  // than the baseline

  bool is_ok() const;
};

// Lines with their ends.
std::string to_text(const TestReport& report, bool color, const agent::Redactor& redactor);
std::string to_text(const WorseCase& worse, bool color);
std::string summary_line(const TestSummary& summary, bool color);
agent::Json to_json(const TestSummary& summary);
// One entry a run. Whatever the cases print, it is well-formed XML 1.0.
std::string to_junit(const TestSummary& summary, const agent::Redactor& redactor);

}  // namespace cli

// What `errand test` says of its cases: lines for people, JSON for scripts, JUnit's XML for CI.
#pragma once
#include "agent/json.h"
#include "cli/test_run.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct TestReport {
  std::string file;  // as it is shown
  std::string name;
  std::optional<TestOutcome> outcome;  // none: the call was stopped before it ended
  std::vector<TestFailure> failures;
  std::vector<agent::Error> errors = {};  // of the case file: it cannot be run

  bool has_passed() const { return outcome && failures.empty(); }
  bool has_failed() const { return outcome && !failures.empty(); }
  bool is_broken() const { return !errors.empty(); }
};

struct TestCounts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t broken = 0;
  std::size_t not_run = 0;
};
TestCounts count(const std::vector<TestReport>& reports);

// Lines with their ends.
std::string to_text(const TestReport& report, bool color, const agent::Redactor& redactor);
std::string to_text(const TestCounts& counts, bool color);
agent::Json to_json(const std::vector<TestReport>& reports);
// Whatever the cases print, it is well-formed XML 1.0.
std::string to_junit(const std::vector<TestReport>& reports, const agent::Redactor& redactor);

}  // namespace cli

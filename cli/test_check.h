// What of a run is not as its test case says.
#pragma once
#include "cli/test_judge.h"
#include "cli/test_run.h"
#include "config/test_case.h"

#include <string>
#include <vector>

namespace cli {

// One thing that does not hold.
struct TestFailure {
  std::string expectation;  // "exit code", "text"
  std::string expected;
  std::string actual;
};

// All but what judges say. Empty where everything holds. An ending other than the expected one is
// all that is said of a run.
std::vector<TestFailure> failures_of(const config::TestCase& test, const TestOutcome& outcome);

// Of a judge that said no.
TestFailure failure_of(const Judgement& judgement);

}  // namespace cli

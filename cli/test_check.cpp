#include "cli/test_check.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::size_t k_shown_of_text = 300;  // of a text in a failure

std::string in_quotes(std::string_view text) {
  return agent::dump(Json(agent::head_and_tail(text, k_shown_of_text)));
}

std::string with_name(int exit_code) {
  return fmt::format("{} ({})", exit_code, agent::exit_row(exit_code).name);
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// All digits: rounded ones could be the same on both sides.
std::string dollars(agent::Money amount) {
  return "$" + amount.text();
}

class Check {
 public:
  Check(const config::TestCase& test, const TestOutcome& outcome)
      : expect_(test.expect), timeout_(test.timeout), outcome_(outcome) {}

  std::vector<TestFailure> failures() {
    if (ends_as_expected()) {
      if (expect_.text) {
        check_text("text", *expect_.text, outcome_.text);
      }
      check_tools();
      check_files();
      check_schema();
      check_cost();
      check_script();
    }
    return std::move(failures_);
  }

 private:
  void fail(std::string expectation, std::string expected, std::string actual) {
    failures_.push_back({std::move(expectation), std::move(expected), std::move(actual)});
  }

  bool ends_as_expected() {
    const std::string expected = with_name(expect_.exit_code);
    switch (outcome_.end) {
      case TestOutcome::End::timed_out:
        fail("time", "at most " + agent::format_duration(timeout_), "it did not end");
        return false;
      case TestOutcome::End::broken:
        fail("exit code", expected, outcome_.problem);
        return false;
      case TestOutcome::End::stopped:
        return false;
      case TestOutcome::End::ended:
        break;
    }
    if (outcome_.exit_code != expect_.exit_code) {
      const std::string reason = outcome_.error.empty() ? "" : "\n" + outcome_.error;
      fail("exit code", expected, with_name(outcome_.exit_code) + reason);
      return false;
    }
    return true;
  }

  void check_text(const std::string& name,
                  const config::TextExpectation& expected,
                  std::string_view whole) {
    const std::string_view text = agent::trimmed(whole);
    if (expected.equals && agent::trimmed(*expected.equals) != text) {
      fail(name, in_quotes(agent::trimmed(*expected.equals)), in_quotes(text));
    }
    for (const std::string& part : expected.contains) {
      if (text.find(part) == std::string::npos) {
        fail(name, "to contain " + in_quotes(part), in_quotes(text));
      }
    }
    if (expected.pattern && !expected.pattern->check(Json(text)).empty()) {
      fail(name, "to match " + in_quotes(expected.matches), in_quotes(text));
    }
  }

  void check_tools() {
    const config::ToolsExpectation& tools = expect_.tools;
    const std::vector<std::string>& ran = outcome_.tools;
    if (tools.exactly && *tools.exactly != ran) {
      fail("tools", list(*tools.exactly), list(ran));
    }
    auto at = ran.begin();
    for (const std::string& name : tools.in_order) {
      at = std::find(at, ran.end(), name);
      if (at == ran.end()) {
        fail("tools", "in this order " + list(tools.in_order), list(ran));
        break;
      }
      ++at;
    }
    for (const std::string& name : tools.never) {
      if (std::ranges::find(ran, name) != ran.end()) {
        fail("tools", "never " + name, list(ran));
      }
    }
  }

  void check_files() {
    for (const auto& [path, expected] : expect_.files) {
      const std::string name = "file " + path;
      const auto seen = outcome_.files.find(path);
      const FileSeen file = seen == outcome_.files.end() ? FileSeen() : seen->second;
      if (!file.problem.empty()) {
        fail(name, expected.exists ? "a file that can be read" : "not to be there", file.problem);
      } else if (!file.text && expected.exists) {
        fail(name, "to be there", "not there");
      } else if (file.text && !expected.exists) {
        fail(name, "not to be there", in_quotes(*file.text));
      } else if (file.text) {
        check_text(name, expected.text, *file.text);
      }
    }
  }

  void check_schema() {
    if (!expect_.schema) {
      return;
    }
    const auto answer = agent::parse_json(outcome_.text);
    const std::string expected = answer ? "an answer that fits it" : "an answer that is JSON";
    if (!answer) {
      fail("schema", expected, in_quotes(agent::trimmed(outcome_.text)));
      return;
    }
    for (const auto& violation : expect_.schema->check(*answer)) {
      fail("schema", expected, fmt::format("{}: {}", violation.pointer, violation.message));
    }
  }

  void check_cost() {
    if (!expect_.max_cost_usd) {
      return;
    }
    if (!outcome_.cost_usd) {
      fail("cost",
           "at most " + dollars(*expect_.max_cost_usd),
           "unknown: there is no price for this model");
    } else if (*outcome_.cost_usd > *expect_.max_cost_usd) {
      fail("cost", "at most " + dollars(*expect_.max_cost_usd), dollars(*outcome_.cost_usd));
    }
  }

  // What was left out was not tested, whatever the rest of the script expects.
  void check_script() {
    if (!outcome_.replies_left.empty()) {
      fail("script", "all of its replies to be asked for", outcome_.replies_left);
    }
  }

  const config::Expectations& expect_;
  const agent::Milliseconds timeout_;
  const TestOutcome& outcome_;
  std::vector<TestFailure> failures_;
};

}  // namespace

std::vector<TestFailure> failures_of(const config::TestCase& test, const TestOutcome& outcome) {
  return Check(test, outcome).failures();
}

TestFailure failure_of(const Judgement& judgement) {
  return {.expectation = "judge " + judgement.model,
          .expected = in_quotes(judgement.says),
          .actual = "not so: " + judgement.reason};
}

}  // namespace cli

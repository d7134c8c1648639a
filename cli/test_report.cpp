#include "cli/test_report.h"

#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/terminal/render_error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::string_view k_red = "31";
constexpr std::string_view k_green = "32";
constexpr std::string_view k_yellow = "33";

std::string indented(std::string_view text, std::size_t indent) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') {
      out.append(indent, ' ');
    }
  }
  return out;
}

std::string sentence(const TestFailure& failure) {
  return fmt::format(
      "{}: expected {}, was {}", failure.expectation, failure.expected, failure.actual);
}

std::string_view status(const TestReport& report) {
  return report.has_passed()   ? "passed"
         : report.has_failed() ? "failed"
         : report.is_broken()  ? "error"
                               : "not_run";
}

double seconds(const TestReport& report) {
  return report.outcome ? static_cast<double>(report.outcome->duration_ms) / 1000 : 0;
}

// XML 1.0 has no control characters but tab and line ends, and two code points less than Unicode.
// Line ends of an attribute have to be written as references to stay.
std::string xml(std::string_view text, bool is_attribute) {
  std::string out;
  const std::string valid = agent::to_valid_utf8(text);
  for (std::size_t at = 0; at < valid.size(); ++at) {
    const char c = valid[at];
    const std::string_view rest = std::string_view(valid).substr(at);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {  // U+FFFE, U+FFFF
      at += 2;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n' || c == '\t') {
      out += is_attribute ? fmt::format("&#{};", static_cast<int>(c)) : std::string(1, c);
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != '\x7F') {
      out += c;
    }
  }
  return out;
}

std::string attribute(std::string_view text) {
  return xml(text, true);
}

std::string junit_case(const TestReport& report, const agent::Redactor& redactor) {
  const auto slash = report.file.rfind('/');
  std::string out =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\"",
                  attribute(slash == std::string::npos ? "." : report.file.substr(0, slash)),
                  attribute(report.name),
                  attribute(report.file),
                  seconds(report));
  if (report.has_passed()) {
    return out + "/>\n";
  }
  out += ">\n";
  for (const agent::Error& error : report.errors) {
    out += fmt::format("      <error type=\"{}\" message=\"{}\"/>\n",
                       attribute(agent::row(error.code).name),
                       attribute(render(error, false, redactor)));
  }
  if (!report.outcome && !report.is_broken()) {
    out += "      <skipped message=\"not run: the tests were stopped\"/>\n";
  }
  for (const TestFailure& failure : report.failures) {
    out += fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n",
                       attribute(failure.expectation),
                       attribute(sentence(failure)));
  }
  if (report.outcome && !report.outcome->errors.empty()) {
    out += fmt::format("      <system-err>{}</system-err>\n", xml(report.outcome->errors, false));
  }
  return out + "    </testcase>\n";
}

}  // namespace

TestCounts count(const std::vector<TestReport>& reports) {
  TestCounts counts;
  for (const TestReport& report : reports) {
    ++(report.has_passed()   ? counts.passed
       : report.has_failed() ? counts.failed
       : report.is_broken()  ? counts.broken
                             : counts.not_run);
  }
  return counts;
}

std::string to_text(const TestReport& report, bool color, const agent::Redactor& redactor) {
  if (report.has_passed()) {
    return fmt::format("{} {}\n", paint(k_green, "ok     ", color), agent::one_line(report.file));
  }
  if (report.is_broken()) {
    std::string out =
        fmt::format("{} {}\n", paint(k_red, "BROKEN ", color), agent::one_line(report.file));
    for (const agent::Error& error : report.errors) {
      out += fmt::format("        {}\n",
                         agent::printable(indented(render(error, color, redactor), 8)));
    }
    return out;
  }
  if (!report.outcome) {
    return fmt::format("{} {}\n", paint(k_yellow, "NOT RUN", color), agent::one_line(report.file));
  }
  std::string out =
      fmt::format("{} {}\n", paint(k_red, "FAILED ", color), agent::one_line(report.file));
  for (const TestFailure& failure : report.failures) {
    out += fmt::format("        {}\n          expected {}\n          was      {}\n",
                       agent::one_line(failure.expectation),
                       agent::printable(indented(failure.expected, 19)),
                       agent::printable(indented(failure.actual, 19)));
  }
  if (report.outcome->end == TestOutcome::End::broken && !report.outcome->errors.empty()) {
    constexpr std::size_t k_last_words = 2000;
    out += fmt::format(
        "        stderr\n          {}\n",
        agent::printable(indented(agent::head_and_tail(report.outcome->errors, k_last_words), 10)));
  }
  return out;
}

std::string to_text(const TestCounts& counts, bool color) {
  std::string out = fmt::format("{} passed, {} failed", counts.passed, counts.failed);
  if (counts.broken > 0) {
    out += fmt::format(", {} broken", counts.broken);
  }
  if (counts.not_run > 0) {
    out += fmt::format(", {} not run", counts.not_run);
  }
  return paint(counts.failed + counts.broken + counts.not_run > 0 ? k_red : k_green, out, color) +
         "\n";
}

Json to_json(const std::vector<TestReport>& reports) {
  const TestCounts counts = count(reports);
  Json json = {{"schema", "errand.test/1"},
               {"ok", counts.passed == reports.size()},
               {"passed", counts.passed},
               {"failed", counts.failed},
               {"errors", counts.broken},
               {"not_run", counts.not_run},
               {"cases", Json::array()}};
  for (const TestReport& report : reports) {
    Json failures = Json::array();
    for (const TestFailure& failure : report.failures) {
      failures.push_back({{"expectation", failure.expectation},
                          {"expected", failure.expected},
                          {"actual", failure.actual}});
    }
    Json errors = Json::array();
    for (const agent::Error& error : report.errors) {
      errors.push_back(agent::to_json(error));
    }
    Json one = {{"file", report.file},
                {"name", report.name},
                {"status", status(report)},
                {"failures", std::move(failures)},
                {"errors", std::move(errors)},
                {"exit_code", nullptr},
                {"text", nullptr},
                {"tools", nullptr},
                {"cost_usd", nullptr},
                {"duration_ms", nullptr}};
    if (const auto& outcome = report.outcome) {
      one["duration_ms"] = outcome->duration_ms;
      if (outcome->end == TestOutcome::End::ended) {
        one["exit_code"] = outcome->exit_code;
        one["text"] = outcome->text;
        one["tools"] = outcome->tools;
        one["cost_usd"] = agent::to_json(outcome->cost_usd);
      }
    }
    json["cases"].push_back(std::move(one));
  }
  return json;
}

std::string to_junit(const std::vector<TestReport>& reports, const agent::Redactor& redactor) {
  const TestCounts counts = count(reports);
  double time = 0;
  std::string cases;
  for (const TestReport& report : reports) {
    time += seconds(report);
    cases += junit_case(report, redactor);
  }
  const std::string numbers =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  reports.size(),
                  counts.failed,
                  counts.broken,
                  counts.not_run,
                  time);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n"
      "  <testsuite name=\"errand test\" {0}>\n{1}  </testsuite>\n</testsuites>\n",
      numbers,
      cases);
}

}  // namespace cli

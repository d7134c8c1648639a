#include "cli/test_report.h"

#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/terminal/render_error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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

std::string_view to_string(TestRun::Status status) {
  switch (status) {
    case TestRun::Status::passed:
      return "passed";
    case TestRun::Status::failed:
      return "failed";
    case TestRun::Status::unjudged:
      return "unjudged";
    case TestRun::Status::not_run:
      return "not_run";
  }
  return "";
}

std::string_view to_string(TestReport::Status status) {
  switch (status) {
    case TestReport::Status::passed:
      return "passed";
    case TestReport::Status::failed:
      return "failed";
    case TestReport::Status::unjudged:
      return "unjudged";
    case TestReport::Status::broken:
      return "error";
    case TestReport::Status::not_run:
      return "not_run";
  }
  return "";
}

std::string_view to_string(Judgement::Verdict verdict) {
  switch (verdict) {
    case Judgement::Verdict::holds:
      return "yes";
    case Judgement::Verdict::does_not_hold:
      return "no";
    case Judgement::Verdict::none:
      return "none";
  }
  return "";
}

double seconds(const TestRun& run) {
  return run.outcome ? static_cast<double>(run.outcome->duration_ms) / 1000 : 0;
}

// What a judge without a verdict was asked, and why it has none.
std::string without_verdict(const Judgement& judgement) {
  return fmt::format("judge {} has no verdict on {}: {}",
                     judgement.model,
                     agent::dump(Json(judgement.says)),
                     judgement.reason);
}

// "4 of 5 passed (80%), $0.0021, judges $0.0004"; empty for a single run that costs nothing.
std::string figures(const TestReport& report) {
  std::vector<std::string> parts;
  const std::size_t runs = report.runs.size();
  if (runs > 1) {
    const std::size_t passed = report.count(TestRun::Status::passed);
    parts.push_back(fmt::format("{} of {} passed ({})", passed, runs, rate_text(passed, runs)));
    if (!report.has_passed()) {
      parts.push_back(fmt::format("needed: {}", report.pass.needed(runs)));
    }
  }
  if (report.is_live) {
    parts.push_back(agent::format_money(report.cost()));
  }
  if (report.has_judgements()) {
    parts.push_back("judges " + agent::format_money(report.judges_cost()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string head_line(std::string_view word,
                      std::string_view style,
                      const TestReport& report,
                      bool color) {
  const std::string more = figures(report);
  return fmt::format("{} {}{}{}\n",
                     paint(style, std::string(word), color),
                     agent::one_line(report.file),
                     more.empty() ? "" : "  ",
                     more);
}

// What of one run does not hold, or is not known. `prefix` tells the runs of a case apart.
std::string run_lines(const TestRun& run, const std::string& prefix) {
  std::string out;
  for (const TestFailure& failure : run.failures) {
    out += fmt::format("        {}{}\n          expected {}\n          was      {}\n",
                       prefix,
                       agent::one_line(failure.expectation),
                       agent::printable(indented(failure.expected, 19)),
                       agent::printable(indented(failure.actual, 19)));
  }
  for (const Judgement& judgement : run.judgements) {
    if (judgement.verdict == Judgement::Verdict::none) {
      out += fmt::format(
          "        {}{}\n", prefix, agent::printable(indented(without_verdict(judgement), 10)));
    }
  }
  if (run.outcome && run.outcome->end == TestOutcome::End::broken && !run.outcome->errors.empty()) {
    constexpr std::size_t k_last_words = 2000;
    out += fmt::format(
        "        {}stderr\n          {}\n",
        prefix,
        agent::printable(indented(agent::head_and_tail(run.outcome->errors, k_last_words), 10)));
  }
  return out;
}

std::string run_lines(const TestReport& report) {
  std::string out;
  for (std::size_t index = 0; index < report.runs.size(); ++index) {
    out += run_lines(report.runs[index],
                     report.runs.size() > 1 ? fmt::format("run {}: ", index + 1) : "");
  }
  return out;
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

// What CI counts.
struct JunitCounts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  double time = 0;
};

class Junit {
 public:
  explicit Junit(const agent::Redactor& redactor) : redactor_(redactor) {}

  void add(const TestReport& report) {
    if (report.is_broken()) {
      add_broken(report);
    }
    for (std::size_t index = 0; index < report.runs.size(); ++index) {
      add_run(report, index);
    }
  }

  void add(const WorseCase& worse) {
    ++counts_.tests;
    ++counts_.failures;
    entries_ += opening("baseline", worse.file, worse.file, 0) + ">\n";
    add_element("failure",
                to_string(worse.what),
                fmt::format("expected {}, was {}", worse.expected, worse.actual));
    entries_ += k_closing;
  }

  std::string document() const {
    const std::string numbers =
        fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                    counts_.tests,
                    counts_.failures,
                    counts_.errors,
                    counts_.skipped,
                    counts_.time);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n"
        "  <testsuite name=\"errand test\" {0}>\n{1}  </testsuite>\n</testsuites>\n",
        numbers,
        entries_);
  }

 private:
  static constexpr std::string_view k_closing = "    </testcase>\n";

  static std::string opening(const std::string& class_name,
                             const std::string& name,
                             const std::string& file,
                             double time) {
    return fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\"",
                       attribute(class_name),
                       attribute(name),
                       attribute(file),
                       time);
  }

  static std::string folder_of(const std::string& file) {
    const auto slash = file.rfind('/');
    return slash == std::string::npos ? "." : file.substr(0, slash);
  }

  void add_element(std::string_view element, std::string_view type, std::string_view message) {
    entries_ += fmt::format(
        "      <{} type=\"{}\" message=\"{}\"/>\n", element, attribute(type), attribute(message));
  }

  void add_broken(const TestReport& report) {
    ++counts_.tests;
    ++counts_.errors;
    entries_ += opening(folder_of(report.file), report.name, report.file, 0) + ">\n";
    for (const agent::Error& error : report.errors) {
      add_element("error", agent::row(error.code).name, render(error, false, redactor_));
    }
    entries_ += k_closing;
  }

  void add_run(const TestReport& report, std::size_t index) {
    const TestRun& run = report.runs[index];
    const TestRun::Status status = run.status();
    // A run that its case can do without fails no build; flaky elements say that it was none.
    const bool is_forgiven = report.has_passed();
    ++counts_.tests;
    counts_.time += seconds(run);
    counts_.failures += status == TestRun::Status::failed && !is_forgiven ? 1 : 0;
    counts_.errors += status == TestRun::Status::unjudged && !is_forgiven ? 1 : 0;
    counts_.skipped += status == TestRun::Status::not_run ? 1 : 0;
    entries_ += opening(
        folder_of(report.file),
        report.runs.size() > 1 ? fmt::format("{} [{}]", report.name, index + 1) : report.name,
        report.file,
        seconds(run));
    if (status == TestRun::Status::passed) {
      entries_ += "/>\n";
      return;
    }
    entries_ += ">\n";
    if (status == TestRun::Status::not_run) {
      entries_ += "      <skipped message=\"not run: the tests were stopped\"/>\n";
    }
    for (const TestFailure& failure : run.failures) {
      add_element(is_forgiven ? "flakyFailure" : "failure", failure.expectation, sentence(failure));
    }
    for (const Judgement& judgement : run.judgements) {
      if (status == TestRun::Status::unjudged && judgement.verdict == Judgement::Verdict::none) {
        add_element(is_forgiven ? "flakyError" : "error", "judge", without_verdict(judgement));
      }
    }
    if (run.outcome && !run.outcome->errors.empty()) {
      entries_ +=
          fmt::format("      <system-err>{}</system-err>\n", xml(run.outcome->errors, false));
    }
    entries_ += k_closing;
  }

  const agent::Redactor& redactor_;
  JunitCounts counts_;
  std::string entries_;
};

Json to_json(const TestFailure& failure) {
  return {{"expectation", failure.expectation},
          {"expected", failure.expected},
          {"actual", failure.actual}};
}

Json to_json(const Judgement& judgement) {
  return {{"says", judgement.says},
          {"model", judgement.model},
          {"verdict", to_string(judgement.verdict)},
          {"reason", judgement.reason},
          {"cost_usd", agent::to_json(judgement.cost_usd)}};
}

Json to_json(const TestRun& run);
Json to_json(const TestReport& report);
Json to_json(const WorseCase& worse);

template <typename Items>
Json list_of(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) {
    list.push_back(to_json(item));
  }
  return list;
}

Json to_json(const TestRun& run) {
  Json json = {{"status", to_string(run.status())},
               {"failures", list_of(run.failures)},
               {"judges", list_of(run.judgements)},
               {"exit_code", nullptr},
               {"text", nullptr},
               {"tools", nullptr},
               {"cost_usd", nullptr},
               {"duration_ms", nullptr}};
  if (const auto& outcome = run.outcome) {
    json["duration_ms"] = outcome->duration_ms;
    json["cost_usd"] = agent::to_json(outcome->cost_usd);
    if (outcome->end == TestOutcome::End::ended) {
      json["exit_code"] = outcome->exit_code;
      json["text"] = outcome->text;
      json["tools"] = outcome->tools;
    }
  }
  return json;
}

Json to_json(const TestReport& report) {
  Json errors = Json::array();
  for (const agent::Error& error : report.errors) {
    errors.push_back(agent::to_json(error));
  }
  return {{"file", report.file},
          {"name", report.name},
          {"status", to_string(report.status())},
          {"pass", report.pass.text()},
          {"passed", report.count(TestRun::Status::passed)},
          {"failed", report.count(TestRun::Status::failed)},
          {"unjudged", report.count(TestRun::Status::unjudged)},
          {"cost_usd", agent::to_json(report.cost())},
          {"judges_cost_usd", agent::to_json(report.judges_cost())},
          {"runs", list_of(report.runs)},
          {"errors", std::move(errors)}};
}

Json to_json(const WorseCase& worse) {
  return {{"file", worse.file},
          {"what", to_string(worse.what)},
          {"expected", worse.expected},
          {"actual", worse.actual}};
}

// What a call came to in all, beside its counts of cases.
struct Totals {
  std::size_t runs = 0;
  std::size_t passed = 0;
  bool has_repeats = false;
  bool is_live = false;
  bool has_judgements = false;
  std::optional<agent::Money> cost = agent::Money();
  std::optional<agent::Money> judges_cost = agent::Money();
};

Totals totals_of(std::span<const TestReport> reports) {
  Totals totals;
  for (const TestReport& report : reports) {
    totals.runs += report.runs.size();
    totals.passed += report.count(TestRun::Status::passed);
    totals.has_repeats = totals.has_repeats || report.runs.size() > 1;
    totals.is_live = totals.is_live || report.is_live;
    totals.has_judgements = totals.has_judgements || report.has_judgements();
    totals.cost = agent::sum_of(totals.cost, report.cost());
    totals.judges_cost = agent::sum_of(totals.judges_cost, report.judges_cost());
  }
  return totals;
}

}  // namespace

TestRun::Status TestRun::status() const {
  if (!outcome) {
    return Status::not_run;
  }
  if (!failures.empty()) {
    return Status::failed;
  }
  const bool has_gap = std::ranges::any_of(judgements, [](const Judgement& judgement) {
    return judgement.verdict == Judgement::Verdict::none;
  });
  return has_gap ? Status::unjudged : Status::passed;
}

std::size_t TestReport::count(TestRun::Status status) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const TestRun& run) { return run.status() == status; }));
}

TestReport::Status TestReport::status() const {
  if (is_broken()) {
    return Status::broken;
  }
  const std::size_t needed = pass.needed(runs.size());
  const std::size_t passed = count(TestRun::Status::passed);
  if (passed >= needed) {
    return Status::passed;
  }
  const std::size_t not_run = count(TestRun::Status::not_run);
  if (passed + count(TestRun::Status::unjudged) + not_run < needed) {
    return Status::failed;
  }
  return not_run > 0 ? Status::not_run : Status::unjudged;
}

std::optional<agent::Money> TestReport::cost() const {
  std::optional<agent::Money> cost = agent::Money();
  for (const TestRun& run : runs) {
    cost = agent::sum_of(cost, run.outcome ? run.outcome->cost_usd : std::nullopt);
  }
  return cost;
}

std::optional<agent::Money> TestReport::judges_cost() const {
  std::optional<agent::Money> cost = agent::Money();
  for (const TestRun& run : runs) {
    for (const Judgement& judgement : run.judgements) {
      cost = agent::sum_of(cost, judgement.cost_usd);
    }
  }
  return cost;
}

bool TestReport::has_judgements() const {
  return std::ranges::any_of(runs, [](const TestRun& run) { return !run.judgements.empty(); });
}

TestCounts count(std::span<const TestReport> reports) {
  TestCounts counts;
  for (const TestReport& report : reports) {
    switch (report.status()) {
      case TestReport::Status::passed:
        ++counts.passed;
        break;
      case TestReport::Status::failed:
        ++counts.failed;
        break;
      case TestReport::Status::unjudged:
        ++counts.unjudged;
        break;
      case TestReport::Status::broken:
        ++counts.broken;
        break;
      case TestReport::Status::not_run:
        ++counts.not_run;
        break;
    }
  }
  return counts;
}

bool TestSummary::is_ok() const {
  return worse.empty() && std::ranges::all_of(reports, &TestReport::has_passed);
}

std::string to_text(const TestReport& report, bool color, const agent::Redactor& redactor) {
  switch (report.status()) {
    case TestReport::Status::passed:
      return head_line("ok     ", k_green, report, color) + run_lines(report);
    case TestReport::Status::failed:
      return head_line("FAILED ", k_red, report, color) + run_lines(report);
    case TestReport::Status::unjudged:
      return head_line("UNJUDGED", k_yellow, report, color) + run_lines(report);
    case TestReport::Status::not_run:
      return head_line("NOT RUN", k_yellow, report, color) + run_lines(report);
    case TestReport::Status::broken:
      break;
  }
  std::string out = head_line("BROKEN ", k_red, report, color);
  for (const agent::Error& error : report.errors) {
    out +=
        fmt::format("        {}\n", agent::printable(indented(render(error, color, redactor), 8)));
  }
  return out;
}

std::string to_text(const WorseCase& worse, bool color) {
  return fmt::format("{} {}\n        {}\n          expected {}\n          was      {}\n",
                     paint(k_red, "WORSE  ", color),
                     agent::one_line(worse.file),
                     to_string(worse.what),
                     worse.expected,
                     worse.actual);
}

std::string summary_line(const TestSummary& summary, bool color) {
  const TestCounts counts = count(summary.reports);
  const Totals totals = totals_of(summary.reports);
  std::string out = fmt::format("{} passed, {} failed", counts.passed, counts.failed);
  const auto add = [&out](std::size_t number, std::string_view word) {
    if (number > 0) {
      out += fmt::format(", {} {}", number, word);
    }
  };
  add(counts.unjudged, "unjudged");
  add(counts.broken, "broken");
  add(counts.not_run, "not run");
  add(summary.worse.size(), "worse than the baseline");
  if (totals.has_repeats) {
    out += fmt::format("; {} of {} runs passed ({})",
                       totals.passed,
                       totals.runs,
                       rate_text(totals.passed, totals.runs));
  }
  if (totals.is_live) {
    out += "; cost " + agent::format_money(totals.cost);
  }
  if (totals.has_judgements) {
    out += fmt::format(
        "{} {}", totals.is_live ? ", judges" : "; judges", agent::format_money(totals.judges_cost));
  }
  return paint(summary.is_ok() ? k_green : k_red, out, color) + "\n";
}

Json to_json(const TestSummary& summary) {
  const TestCounts counts = count(summary.reports);
  const Totals totals = totals_of(summary.reports);
  return {{"schema", "errand.test/1"},
          {"ok", summary.is_ok()},
          {"passed", counts.passed},
          {"failed", counts.failed},
          {"unjudged", counts.unjudged},
          {"errors", counts.broken},
          {"not_run", counts.not_run},
          {"cost_usd", agent::to_json(totals.cost)},
          {"judges_cost_usd", agent::to_json(totals.judges_cost)},
          {"cases", list_of(summary.reports)},
          {"worse", list_of(summary.worse)}};
}

std::string to_junit(const TestSummary& summary, const agent::Redactor& redactor) {
  Junit junit(redactor);
  for (const TestReport& report : summary.reports) {
    junit.add(report);
  }
  for (const WorseCase& worse : summary.worse) {
    junit.add(worse);
  }
  return junit.document();
}

}  // namespace cli

#include "cli/test_baseline.h"

#include <catch2/catch.hpp>

using cli::CaseFigures;

namespace {

using Lines = std::vector<std::string>;

CaseFigures figures(const char* file, std::size_t passed, std::size_t runs, const char* cost = "") {
  return {.file = file, .runs = runs, .passed = passed, .cost_usd = agent::Money::parse(cost)};
}

// "a: cost"
Lines worse(const std::vector<CaseFigures>& was,
            const std::vector<CaseFigures>& now,
            int tolerance) {
  Lines lines;
  for (const cli::WorseCase& one : cli::compare(was, now, tolerance)) {
    lines.push_back(one.file + ": " + std::string(to_string(one.what)));
  }
  return lines;
}

}  // namespace

TEST_CASE("baseline: what is written is read back", "[cli]") {
  const std::vector<CaseFigures> written = {figures("a.test.yaml", 4, 5, "0.0021"),
                                            figures("sub/b.test.yaml", 0, 1)};
  const auto read = cli::parse_baseline(cli::baseline_text(written), "b.json");
  REQUIRE(read);
  CHECK(*read == written);
}

TEST_CASE("baseline: what is none is refused, and says why", "[cli]") {
  const auto row = GENERATE(table<std::string, std::string>({
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{}", "its `schema` is not"},
      {R"({"schema": "errand.test/1"})", "its `schema` is not"},
      {R"({"schema": "errand.test_baseline/1"})", "it has no list `cases`"},
      {R"({"schema": "errand.test_baseline/1", "cases": []})", "it has no list `cases`"},
      {R"({"schema": "errand.test_baseline/1", "cases": [1]})", "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "a", "runs": 1, "passed": 2, "cost_usd": null}]})",
       "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "a", "runs": 0, "passed": 0, "cost_usd": null}]})",
       "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "a", "runs": 1, "passed": 1}]})",
       "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "a", "runs": 1, "passed": 1, "cost_usd": "x"}]})",
       "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "", "runs": 1, "passed": 1, "cost_usd": 1}]})",
       "case 1 needs"},
      {R"({"schema": "errand.test_baseline/1", "cases": [{"file": "a", "runs": 9000000000000000000, "passed": 1, "cost_usd": 1}]})",
       "case 1 needs"},
  }));
  const auto read = cli::parse_baseline(std::get<0>(row), "b.json");
  REQUIRE_FALSE(read);
  CHECK(read.error().code == agent::Code::config_invalid);
  INFO(read.error().message);
  CHECK(read.error().message.contains(std::get<1>(row)));
}

TEST_CASE("baseline: a pass rate may be lower by the tolerance, in points", "[cli]") {
  const std::vector was = {figures("a", 9, 10)};
  CHECK(worse(was, {figures("a", 10, 10)}, 0).empty());
  CHECK(worse(was, {figures("a", 9, 10)}, 0).empty());
  CHECK(worse(was, {figures("a", 18, 20)}, 0).empty());
  CHECK(worse(was, {figures("a", 17, 20)}, 5).empty());
  CHECK(worse(was, {figures("a", 17, 20)}, 4) == Lines{"a: pass rate"});
  CHECK(worse(was, {figures("a", 8, 10)}, 5) == Lines{"a: pass rate"});
  CHECK(worse(was, {figures("a", 0, 10)}, 100).empty());
}

TEST_CASE("baseline: a cost may be higher by the tolerance, as a share of itself", "[cli]") {
  const std::vector was = {figures("a", 1, 1, "1")};
  CHECK(worse(was, {figures("a", 1, 1, "0.5")}, 0).empty());
  CHECK(worse(was, {figures("a", 1, 1, "1.05")}, 5).empty());
  CHECK(worse(was, {figures("a", 1, 1, "1.050000000001")}, 5) == Lines{"a: cost"});
  CHECK(worse(was, {figures("a", 1, 1)}, 100) == Lines{"a: cost"});  // nobody knows
  CHECK(worse({figures("a", 1, 1)}, {figures("a", 1, 1, "9")}, 0).empty());
  CHECK(worse({figures("a", 1, 1, "0")}, {figures("a", 1, 1, "0.01")}, 100) == Lines{"a: cost"});
}

TEST_CASE("baseline: a case that is missing is worse, a new one is not", "[cli]") {
  CHECK(worse({figures("a", 0, 1), figures("b", 1, 1)},
              {figures("b", 1, 1), figures("c", 0, 1)},
              100) == Lines{"a: missing"});
  CHECK(worse({figures("a", 1, 1, "1")}, {figures("a", 0, 0)}, 0).empty());  // it failed by itself
}

TEST_CASE("baseline: 100% is all of them", "[cli]") {
  CHECK(cli::rate_text(999, 1'000) == "99%");
  CHECK(cli::rate_text(1'000, 1'000) == "100%");
  CHECK(cli::rate_text(0, 0) == "0%");
}

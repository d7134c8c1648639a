// What the cases of an `errand test` came to, in a file: the next call may not be worse.
//
//     {"schema": "errand.test_baseline/1",
//      "cases": [{"file": "greeting.test.yaml", "runs": 5, "passed": 4, "cost_usd": 0.0021}]}
//
// Paths start at the file's folder; the cost is that of one run, null where it is not known.
#pragma once
#include "agent/money.h"
#include "agent/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct CaseFigures {
  std::string file;
  std::size_t runs = 0;  // of which it is known whether they passed
  std::size_t passed = 0;
  std::optional<agent::Money> cost_usd = {};  // of one run, on average; unknown: none

  bool operator==(const CaseFigures&) const = default;
};

// A case that is worse than it was.
struct WorseCase {
  enum class What : std::uint8_t { pass_rate, cost, missing };
  What what = What::missing;
  std::string file;
  std::string expected;
  std::string actual;
};
std::string_view to_string(WorseCase::What what);  // "pass rate"

// config.invalid where it is no baseline.
agent::Result<std::vector<CaseFigures>> parse_baseline(std::string_view text,
                                                       const std::string& shown_file);
std::string baseline_text(std::span<const CaseFigures> figures);

// Whole percents: how many points a pass rate may be lower, and by which share of itself a cost may
// be higher. A case that is not among those of now is worse; one without a run that was decided is
// not compared, nor is a cost that was not known then. In the baseline's order.
std::vector<WorseCase> compare(std::span<const CaseFigures> baseline,
                               std::span<const CaseFigures> now,
                               int tolerance);

// "80%", rounded down: 100% is all of them.
std::string rate_text(std::size_t passed, std::size_t runs);

}  // namespace cli

#include "cli/test_baseline.h"

#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::string_view k_baseline_schema = "errand.test_baseline/1";
constexpr int k_percent = 100;  // percent

std::unexpected<agent::Error> no_baseline(const std::string& file, std::string_view why) {
  return agent::fail(
      agent::Code::config_invalid,
      fmt::format("`{}` is not a baseline of errand test: {}", agent::one_line(file, 200), why),
      "`errand test --write-baseline FILE` writes one");
}

std::optional<std::size_t> whole_number_at(const Json& object, std::string_view key) {
  constexpr long long k_most = 1'000'000;
  const long long number = agent::integer_at(object, key, -1);
  return number < 0 || number > k_most ? std::nullopt
                                       : std::optional(static_cast<std::size_t>(number));
}

std::optional<CaseFigures> figures_in(const Json& object) {
  const auto runs = object.is_object() ? whole_number_at(object, "runs") : std::nullopt;
  const auto passed = runs ? whole_number_at(object, "passed") : std::nullopt;
  const std::string_view file = passed ? agent::text_at(object, "file") : "";
  if (file.empty() || *runs < 1 || *passed > *runs) {
    return std::nullopt;
  }
  const auto amount = agent::money_at(object, "cost_usd");
  if (!object.contains("cost_usd") || (!object["cost_usd"].is_null() && !amount)) {
    return std::nullopt;
  }
  return CaseFigures{
      .file = std::string(file), .runs = *runs, .passed = *passed, .cost_usd = amount};
}

// In whole numbers: passed/runs against was.passed/was.runs - tolerance.
bool is_rate_worse(const CaseFigures& was, const CaseFigures& now, int tolerance) {
  const auto number = [](std::size_t count) { return static_cast<std::int64_t>(count); };
  const std::int64_t before = k_percent * number(was.passed) - tolerance * number(was.runs);
  return k_percent * number(now.passed) * number(was.runs) < before * number(now.runs);
}

agent::Money with_tolerance(agent::Money cost, int tolerance) {
  const std::int64_t picos = cost.picos();
  return cost + agent::Money::from_picos(picos / k_percent * tolerance +
                                         picos % k_percent * tolerance / k_percent);
}

std::string exact_dollars(agent::Money amount) {
  return "$" + amount.text();
}

class Comparison {
 public:
  explicit Comparison(int tolerance) : tolerance_(tolerance) {}

  void compare(const CaseFigures& was, const CaseFigures* now) {
    if (now == nullptr) {
      add(WorseCase::What::missing, was, "to run, as the baseline has it", "not among the cases");
      return;
    }
    if (now->runs == 0) {
      return;
    }
    if (is_rate_worse(was, *now, tolerance_)) {
      add(WorseCase::What::pass_rate,
          was,
          fmt::format("{} as in the baseline, or at most {} points less",
                      rate_text(was.passed, was.runs),
                      tolerance_),
          fmt::format("{} ({} of {})", rate_text(now->passed, now->runs), now->passed, now->runs));
    }
    compare_cost(was, *now);
  }

  std::vector<WorseCase> take() { return std::move(worse_); }

 private:
  void compare_cost(const CaseFigures& was, const CaseFigures& now) {
    if (!was.cost_usd) {
      return;
    }
    const agent::Money most = with_tolerance(*was.cost_usd, tolerance_);
    if (!now.cost_usd || *now.cost_usd > most) {
      add(WorseCase::What::cost,
          was,
          fmt::format("{} a run as in the baseline, or at most {}% more",
                      exact_dollars(*was.cost_usd),
                      tolerance_),
          now.cost_usd ? exact_dollars(*now.cost_usd) : "unknown");
    }
  }

  void add(WorseCase::What what, const CaseFigures& was, std::string expected, std::string actual) {
    worse_.push_back({.what = what,
                      .file = was.file,
                      .expected = std::move(expected),
                      .actual = std::move(actual)});
  }

  int tolerance_;
  std::vector<WorseCase> worse_;
};

}  // namespace

std::string_view to_string(WorseCase::What what) {
  switch (what) {
    case WorseCase::What::pass_rate:
      return "pass rate";
    case WorseCase::What::cost:
      return "cost";
    case WorseCase::What::missing:
      return "missing";
  }
  return "";
}

agent::Result<std::vector<CaseFigures>> parse_baseline(std::string_view text,
                                                       const std::string& shown_file) {
  const auto root = agent::parse_json(text);
  if (!root || !root->is_object()) {
    return no_baseline(shown_file, "it is not a JSON object");
  }
  if (agent::text_at(*root, "schema") != k_baseline_schema) {
    return no_baseline(shown_file, fmt::format("its `schema` is not \"{}\"", k_baseline_schema));
  }
  const Json* cases = agent::find(*root, "cases");
  if (cases == nullptr || !cases->is_array() || cases->empty()) {
    return no_baseline(shown_file, "it has no list `cases`");
  }
  std::vector<CaseFigures> figures;
  for (const Json& one : *cases) {
    auto read = figures_in(one);
    if (!read) {
      return no_baseline(shown_file,
                         fmt::format("case {} needs `file`, `runs`, `passed` (at most `runs`) and "
                                     "`cost_usd` (an amount, or null)",
                                     figures.size() + 1));
    }
    figures.push_back(*std::move(read));
  }
  return figures;
}

std::string baseline_text(std::span<const CaseFigures> figures) {
  Json root = {{"schema", k_baseline_schema}, {"cases", Json::array()}};
  for (const CaseFigures& one : figures) {
    root["cases"].push_back({{"file", one.file},
                             {"runs", one.runs},
                             {"passed", one.passed},
                             {"cost_usd", agent::to_json(one.cost_usd)}});
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<WorseCase> compare(std::span<const CaseFigures> baseline,
                               std::span<const CaseFigures> now,
                               int tolerance) {
  Comparison comparison(tolerance);
  std::map<std::string_view, const CaseFigures*> by_file;
  for (const CaseFigures& one : now) {
    by_file.emplace(one.file, &one);
  }
  for (const CaseFigures& was : baseline) {
    const auto found = by_file.find(was.file);
    comparison.compare(was, found == by_file.end() ? nullptr : found->second);
  }
  return comparison.take();
}

std::string rate_text(std::size_t passed, std::size_t runs) {
  return fmt::format("{}%", runs == 0 ? 0 : passed * k_percent / runs);
}

}  // namespace cli

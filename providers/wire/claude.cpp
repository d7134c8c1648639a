#include "providers/wire/claude.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace providers {
namespace {

struct ModelRow {
  std::string_view part;  // of the model's name; the first row that fits counts
  std::int64_t max_output;
};
constexpr std::array k_models = {
    ModelRow{"claude-3-7", 64'000},
    ModelRow{"claude-3-5", 8'192},
    ModelRow{"claude-3-", 4'096},
    ModelRow{"claude-opus-4-1", 32'000},
    ModelRow{"claude-opus-4-2", 32'000},  // claude-opus-4-20250514
    ModelRow{"claude-opus-4-0", 32'000},
    ModelRow{"claude-opus-4-", 64'000},
    ModelRow{"claude-sonnet-4-", 64'000},
    ModelRow{"claude-haiku-4-", 64'000},
};
constexpr std::int64_t k_unknown_max_output = 8'192;
// Models that take a thinking budget; the later ones take an effort.
constexpr std::array<std::string_view, 7> k_budget_models = {"claude-3-7",
                                                             "claude-opus-4-0",
                                                             "claude-opus-4-1",
                                                             "claude-opus-4-2",
                                                             "claude-sonnet-4-0",
                                                             "claude-sonnet-4-2",
                                                             "-4-5"};

struct Effort {
  std::string_view name;
  std::string_view wire;  // what the protocol knows
  std::int64_t budget;    // tokens
};
constexpr std::array k_efforts = {
    Effort{"minimal", "low", 1'024},
    Effort{"low", "low", 2'048},
    Effort{"medium", "medium", 8'192},
    Effort{"high", "high", 16'384},
    Effort{"xhigh", "xhigh", 32'000},
    Effort{"max", "max", 60'000},
};

bool takes_budget(std::string_view model) {
  return std::ranges::any_of(k_budget_models,
                             [&](std::string_view part) { return model.contains(part); });
}

}  // namespace

std::int64_t claude_max_output(std::string_view model) {
  const auto* const row = std::ranges::find_if(
      k_models, [&](const ModelRow& known) { return model.contains(known.part); });
  return row == k_models.end() ? k_unknown_max_output : row->max_output;
}

bool claude_takes_schema(std::string_view model) {
  constexpr std::array<std::string_view, 7> k_older = {"claude-2",
                                                       "claude-3-",
                                                       "claude-instant",
                                                       "claude-opus-4-0",
                                                       "claude-opus-4-2",
                                                       "claude-sonnet-4-0",
                                                       "claude-sonnet-4-2"};
  return std::ranges::none_of(k_older, [&](auto part) { return model.contains(part); });
}

// A budget has to stay below the answer's own limit, and has a lower bound: where that leaves
// nothing, the answer goes without thinking.
ClaudeThinking claude_thinking(std::string_view model,
                               std::string_view effort,
                               std::int64_t max_output) {
  if (effort.empty()) {
    return {};
  }
  const auto* const row = std::ranges::find(k_efforts, effort, &Effort::name);
  if (row == k_efforts.end()) {
    return {.thinking = R"({"type":"disabled"})", .effort = {}};
  }
  if (!takes_budget(model)) {
    return {.thinking = R"({"type":"adaptive"})", .effort = std::string(row->wire)};
  }
  constexpr std::int64_t k_least_budget = 1'024;
  const std::int64_t budget = std::min(row->budget, max_output / 2);
  if (budget < k_least_budget) {
    return {};
  }
  return {.thinking = fmt::format(R"({{"type":"enabled","budget_tokens":{}}})", budget),
          .effort = {}};
}

}  // namespace providers

#include "providers/prices/price_import.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/price.h"
#include "agent/text.h"
#include "providers/prices/price_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace providers {
namespace {

using agent::Json;
using agent::Result;

constexpr int k_most_nested = 8;

struct Clause {
  std::string_view name;
  std::string_view mark;
};
constexpr auto k_clauses = std::to_array<Clause>({
    {"equals", "="},
    {"starts_with", "^"},
    {"ends_with", "$"},
    {"contains", "~"},
    {"regex", "/"},
});

std::unexpected<agent::Error> refuse(std::string message) {
  return agent::fail(agent::Code::config_invalid,
                     std::move(message),
                     "the file must be prices/new_data/v2/data_slim.json of pydantic/genai-prices");
}

std::string shown(const Json& value) {
  return fmt::format("`{}`", agent::one_line(agent::prefix(agent::dump(value), 60)));
}

Result<std::string> required_text(const Json& object, std::string_view key) {
  const auto text = agent::text_at(object, key);
  if (text.empty()) {
    return refuse(fmt::format("there is no text under `{}`", key));
  }
  return std::string(text);
}

Result<std::string> checked_pattern(std::string pattern) {
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) {
    return refuse(fmt::format("`{}` is not a regular expression: {}", pattern, expression.error()));
  }
  return pattern;
}

// ---- matches ----

Result<std::string> write_match(const Json& match, int depth = 0);

Result<std::string> write_matches(const Json& list, int depth) {
  std::string words;
  for (const Json& one : list) {
    TRY_ASSIGN(const std::string word, write_match(one, depth));
    words += " " + word;
  }
  return words;
}

Result<std::string> write_match(const Json& match, int depth) {
  if (!match.is_object() || match.size() != 1 || depth > k_most_nested) {
    return refuse(fmt::format("{} is not a match rule", shown(match)));
  }
  const std::string& name = match.begin().key();
  const Json& value = match.begin().value();
  if ((name == "or" || name == "and") && value.is_array() && !value.empty()) {
    TRY_ASSIGN(const std::string words, write_matches(value, depth + 1));
    const bool is_line = name == "or" && depth == 0;
    return is_line ? words.substr(1) : fmt::format("{}({} )", name == "and" ? "&" : "", words);
  }
  const auto* const clause = std::ranges::find(k_clauses, name, &Clause::name);
  if (clause == k_clauses.end() || !value.is_string() ||
      value.get_ref<const std::string&>().empty()) {
    return refuse(fmt::format("{} is not a match rule", shown(match)));
  }
  auto text = value.get<std::string>();
  if (name == "regex") {
    TRY_ASSIGN(text, checked_pattern(std::move(text)));
  }
  return std::string(clause->mark) + escape_word(text);
}

// ---- prices ----

Result<agent::Money> money(const Json& value, std::string_view key) {
  const auto amount = agent::Money::from_json(value);
  if (!amount) {
    return refuse(fmt::format("{} is not a price for `{}`", shown(value), key));
  }
  return *amount;
}

Result<agent::Rate> read_rate(const Json& value, std::string_view key) {
  agent::Rate rate;
  if (!value.is_object()) {
    TRY_ASSIGN(rate.base, money(value, key));
    return rate;
  }
  const Json* base = agent::find(value, "base");
  const Json* tiers = agent::find(value, "tiers");
  if (base == nullptr || tiers == nullptr || !tiers->is_array() || value.size() != 2) {
    return refuse(fmt::format("{} is not a price for `{}`", shown(value), key));
  }
  TRY_ASSIGN(rate.base, money(*base, key));
  for (const Json& tier : *tiers) {
    const Json* price = agent::find(tier, "price");
    const auto start = agent::integer_at(tier, "start", -1);
    if (price == nullptr || start < 0 || tier.size() != 2) {
      return refuse(fmt::format("{} is not a price tier of `{}`", shown(tier), key));
    }
    TRY_ASSIGN(const agent::Money amount, money(*price, key));
    rate.tiers.push_back({.start = start, .price = amount});
  }
  return rate;
}

Result<std::optional<agent::Rate>> rate_at(const Json& prices, std::string_view key) {
  const Json* value = agent::find(prices, key);
  if (value == nullptr) {
    return std::optional<agent::Rate>{};
  }
  TRY_ASSIGN(auto rate, read_rate(*value, key));
  return std::optional(std::move(rate));
}

// nullopt: it says nothing about text.
Result<std::optional<agent::Price>> read_price(const Json& prices) {
  if (!prices.is_object()) {
    return refuse(fmt::format("{} is not a map of prices", shown(prices)));
  }
  TRY_ASSIGN(auto input, rate_at(prices, "input_mtok"));
  TRY_ASSIGN(auto output, rate_at(prices, "output_mtok"));
  if (!input || !output) {
    return std::optional<agent::Price>{};
  }
  agent::Price price{.input = std::move(*input), .output = std::move(*output)};
  TRY_ASSIGN(price.cache_read, rate_at(prices, "cache_read_mtok"));
  TRY_ASSIGN(price.cache_write, rate_at(prices, "cache_write_mtok"));
  if (!price.cache_write) {
    TRY_ASSIGN(price.cache_write, rate_at(prices, "cache_write_5m_mtok"));
  }
  TRY_ASSIGN(price.cache_write_1h, rate_at(prices, "cache_write_1h_mtok"));
  TRY_ASSIGN(price.reasoning, rate_at(prices, "output_reasoning_mtok"));
  if (const Json* fee = agent::find(prices, "requests_kcount")) {
    TRY_ASSIGN(price.per_thousand_requests, money(*fee, "requests_kcount"));
  }
  return std::optional(std::move(price));
}

Result<void> read_constraint(const Json& constraint, agent::PricePeriod& period) {
  if (const auto day = agent::text_at(constraint, "start_date"); !day.empty()) {
    period.from = agent::parse_day(day);
    if (period.from && constraint.size() == 1) {
      return {};
    }
  } else {
    period.begin = agent::parse_time_of_day(agent::text_at(constraint, "start_time"));
    period.end = agent::parse_time_of_day(agent::text_at(constraint, "end_time"));
    if (period.begin && period.end && constraint.size() == 2) {
      return {};
    }
  }
  return refuse(fmt::format("the condition {} of a price is not known", shown(constraint)));
}

// Without periods: it has no price for text.
Result<agent::Tariff> read_tariff(const Json& prices) {
  agent::Tariff tariff;
  if (!prices.is_array()) {
    TRY_ASSIGN(auto price, read_price(prices));
    if (price) {
      tariff.periods.push_back({.price = std::move(*price)});
    }
    return tariff;
  }
  for (const Json& one : prices) {
    const Json* inner = agent::find(one, "prices");
    if (inner == nullptr) {
      return refuse(fmt::format("{} has no `prices`", shown(one)));
    }
    TRY_ASSIGN(auto price, read_price(*inner));
    if (!price) {
      return agent::Tariff{};
    }
    agent::PricePeriod period{.price = std::move(*price)};
    if (const Json* constraint = agent::find(one, "constraint")) {
      TRY(read_constraint(*constraint, period));
    }
    tariff.periods.push_back(std::move(period));
  }
  return tariff;
}

// ---- lines ----

Result<std::string> write_model(const Json& model, const std::string& id) {
  const Json* prices = agent::find(model, "prices");
  const Json* rule = agent::find(model, "match");
  if (prices == nullptr || rule == nullptr) {
    return refuse("`match` or `prices` is missing");
  }
  TRY_ASSIGN(const std::string match, write_match(*rule));
  TRY_ASSIGN(const agent::Tariff tariff, read_tariff(*prices));
  if (tariff.periods.empty()) {
    return std::string{};
  }
  const std::string word = escape_word(id);
  const bool is_plain = match == "=" + word;
  const Json* window = agent::find(model, "context_window");
  return fmt::format("model {}{}{} : {}{}\n",
                     word,
                     is_plain ? "" : " ",
                     is_plain ? "" : match,
                     window == nullptr || !agent::is_number(*window)
                         ? ""
                         : write_window(agent::integer_of(*window).value_or(0)),
                     write_tariff(tariff));
}

Result<std::string> write_provider(const Json& provider, const std::string& id) {
  TRY_ASSIGN(std::string pattern, required_text(provider, "api_pattern"));
  TRY_ASSIGN(pattern, checked_pattern(std::move(pattern)));
  std::string text = "provider " + escape_word(id);
  if (const Json* rule = agent::find(provider, "provider_match")) {
    TRY_ASSIGN(const std::string match, write_match(*rule));
    text += " " + match;
  }
  text += fmt::format(" : {}\n", escape_word(pattern));
  if (const Json* others = agent::find(provider, "fallback_model_providers")) {
    std::string line = "fallback";
    for (const Json& other : *others) {
      if (!other.is_string()) {
        return refuse("`fallback_model_providers` is not a list of texts");
      }
      line += " " + escape_word(other.get<std::string>());
    }
    text += line + "\n";
  }
  const Json* models = agent::find(provider, "models");
  if (models == nullptr || !models->is_array()) {
    return refuse("there is no list under `models`");
  }
  for (std::size_t at = 0; at < models->size(); ++at) {
    auto name = required_text((*models)[at], "id");
    auto line = name ? write_model((*models)[at], *name) : std::move(name);
    if (!line) {
      return agent::fail(std::move(line).error().while_(fmt::format(
          "reading model {} (`{}`)", at + 1, agent::text_at((*models)[at], "id", "unnamed"))));
    }
    text += *line;
  }
  return text;
}

}  // namespace

Result<std::string> import_prices(std::string_view json,
                                  const std::string& shown_file,
                                  std::chrono::sys_days date) {
  const auto in_file = [&](agent::Error error) {
    error.where = agent::Where{.file = shown_file};
    return agent::fail(std::move(error));
  };
  const auto root = agent::parse_json(json);
  if (!root || !root->is_array() || root->empty()) {
    return in_file(
        refuse(root ? "the file is not a list of providers" : "the file is not JSON").error());
  }
  std::string text = fmt::format("{} {}\n", k_price_format, agent::format_day(date));
  std::set<std::string> seen;
  for (std::size_t at = 0; at < root->size(); ++at) {
    const Json& provider = (*root)[at];
    auto id = required_text(provider, "id");
    const bool is_new = !id || seen.insert(*id).second;
    auto lines = !id      ? std::move(id)
                 : is_new ? write_provider(provider, *id)
                          : Result<std::string>(refuse("the provider appears twice"));
    if (!lines) {
      return in_file(std::move(lines).error().while_(fmt::format(
          "reading provider {} (`{}`)", at + 1, agent::text_at(provider, "id", "unnamed"))));
    }
    text += *lines;
  }
  return text;
}

}  // namespace providers

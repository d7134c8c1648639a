#include "providers/prices/price_text.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace providers {
namespace {

using agent::Money;
using agent::Price;
using agent::PricePeriod;
using agent::Rate;

constexpr std::string_view k_digits = "0123456789ABCDEF";
constexpr int k_most_nested_price = 16;

bool needs_escape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f || c == '%';
}

template <typename Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = failure == std::errc{} && end == text.data() + text.size();
  return is_whole && number >= 0 ? std::optional(number) : std::nullopt;
}

// The text up to `separator`, which is taken with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::optional<bool> matches_pattern(const std::string& pattern, std::string_view name) {
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(false);
  const RE2 expression(pattern, options);
  if (!expression.ok()) {
    return std::nullopt;
  }
  return RE2::PartialMatch({name.data(), name.size()}, expression);
}

// One word of a match: what it does, and with which text.
std::optional<bool> holds_word(std::string_view word, std::string_view name) {
  const std::string text = unescape_word(word.substr(1));
  if (text.empty()) {
    return std::nullopt;
  }
  switch (word.front()) {
    case '=':
      return name == agent::to_lower(text);
    case '^':
      return name.starts_with(agent::to_lower(text));
    case '$':
      return name.ends_with(agent::to_lower(text));
    case '~':
      return name.contains(agent::to_lower(text));
    case '/':
      return matches_pattern(text, name);
    default:
      return std::nullopt;
  }
}

// Everything up to the closing bracket is read, also where the outcome is clear: a mistake behind
// it shall not depend on the name.
std::optional<bool> holds_group(std::string_view& words,
                                std::string_view name,
                                bool needs_all,
                                int depth) {
  bool any = false;
  bool all = true;
  for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
    if (word == ")") {
      return depth > 0 ? std::optional(needs_all ? all : any) : std::nullopt;
    }
    const bool is_group = word == "(" || word == "&(";
    if (is_group && depth == k_most_nested_price) {
      return std::nullopt;
    }
    const auto one =
        is_group ? holds_group(words, name, word == "&(", depth + 1) : holds_word(word, name);
    if (!one) {
      return std::nullopt;
    }
    any = any || *one;
    all = all && *one;
  }
  return depth == 0 ? std::optional(any) : std::nullopt;
}

constexpr std::string_view k_requests = "req";

std::optional<Rate> parse_rate(std::string_view text) {
  const auto base = Money::parse(take_until(text, ','));
  if (!base) {
    return std::nullopt;
  }
  Rate rate{.base = *base};
  while (!text.empty()) {
    auto tier = take_until(text, ',');
    const auto start = whole_number<std::int64_t>(take_until(tier, ':'));
    const auto price = Money::parse(tier);
    if (!start || !price) {
      return std::nullopt;
    }
    rate.tiers.push_back({.start = *start, .price = *price});
  }
  return rate;
}

bool read_hours(std::string_view text, PricePeriod& period) {
  period.begin = agent::parse_time_of_day(take_until(text, '-'));
  period.end = agent::parse_time_of_day(text);
  return period.begin && period.end;
}

bool read_price_word(std::string_view word, PricePeriod& period) {
  const auto name = take_until(word, '=');
  if (name == "from") {
    period.from = agent::parse_day(word);
    return period.from.has_value();
  }
  if (name == "at") {
    return read_hours(word, period);
  }
  if (name == k_requests) {
    const auto fee = Money::parse(word);
    period.price.per_thousand_requests = fee.value_or(Money{});
    return fee.has_value();
  }
  const auto fields = agent::rate_fields();
  const auto field = std::ranges::find(fields, name, &agent::RateField::word);
  auto rate = parse_rate(word);
  if (field == fields.end() || !rate) {
    return false;
  }
  field->in(period.price) = std::move(*rate);
  return true;
}

std::optional<PricePeriod> parse_period(std::string_view text) {
  PricePeriod period;
  bool has_input = false;
  bool has_output = false;
  for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
    if (!read_price_word(word, period)) {
      return std::nullopt;
    }
    has_input = has_input || word.starts_with("in=");
    has_output = has_output || word.starts_with("out=");
  }
  return has_input && has_output ? std::optional(std::move(period)) : std::nullopt;
}

std::string write_rate(std::string_view name, const Rate& rate) {
  std::string text = fmt::format(" {}={}", name, rate.base.text());
  for (const agent::Tier& tier : rate.tiers) {
    text += fmt::format(",{}:{}", tier.start, tier.price.text());
  }
  return text;
}

std::string write_period(const PricePeriod& period) {
  const Price& price = period.price;
  std::string text;
  if (period.from) {
    text += " from=" + agent::format_day(*period.from);
  }
  if (period.begin && period.end) {
    text += fmt::format(" at={}-{}",
                        agent::format_time_of_day(*period.begin),
                        agent::format_time_of_day(*period.end));
  }
  for (const agent::RateField& field : agent::rate_fields()) {
    if (const Rate* rate = field.find(price)) {
      text += write_rate(field.word, *rate);
    }
  }
  if (price.per_thousand_requests != Money{}) {
    text += fmt::format(" {}={}", k_requests, price.per_thousand_requests.text());
  }
  return text;
}

}  // namespace

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return take_until(line, ' ');
}

std::string escape_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (needs_escape(c)) {
      const auto byte = static_cast<unsigned char>(c);
      word += {'%', k_digits[byte >> 4U], k_digits[byte & 0xFU]};
    } else {
      word += c;
    }
  }
  return word;
}

std::string unescape_word(std::string_view word) {
  std::string text;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const auto high = word[at] == '%' && at + 2 < word.size() ? k_digits.find(word[at + 1])
                                                              : std::string_view::npos;
    const auto low = high == std::string_view::npos ? high : k_digits.find(word[at + 2]);
    if (low == std::string_view::npos) {
      text += word[at];
    } else {
      text += static_cast<char>(high * k_digits.size() + low);
      at += 2;
    }
  }
  return text;
}

std::optional<bool> holds(std::string_view match, std::string_view name) {
  return holds_group(match, agent::to_lower(name), false, 0);
}

constexpr std::string_view k_window = "window=";

std::int64_t take_window(std::string_view& text) {
  if (!text.starts_with(k_window)) {
    return 0;
  }
  return whole_number<std::int64_t>(take_word(text).substr(k_window.size())).value_or(0);
}

std::string write_window(std::int64_t window) {
  return window > 0 ? fmt::format("{}{} ", k_window, window) : "";
}

std::optional<agent::Tariff> parse_tariff(std::string_view text) {
  agent::Tariff tariff;
  do {
    auto period = parse_period(take_until(text, ';'));
    if (!period) {
      return std::nullopt;
    }
    tariff.periods.push_back(std::move(*period));
  } while (!text.empty());
  return tariff;
}

std::string write_tariff(const agent::Tariff& tariff) {
  std::string text;
  for (const PricePeriod& period : tariff.periods) {
    text += (text.empty() ? "" : " ;") + write_period(period);
  }
  return text.substr(std::min<std::size_t>(1, text.size()));
}

}  // namespace providers

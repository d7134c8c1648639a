#include "providers/price_text.h"

#include "providers/error_body.h"

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
constexpr int k_most_nested = 16;

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
      return name == to_lower(text);
    case '^':
      return name.starts_with(to_lower(text));
    case '$':
      return name.ends_with(to_lower(text));
    case '~':
      return name.contains(to_lower(text));
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
    if (is_group && depth == k_most_nested) {
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

struct Field {
  std::string_view name;
  Rate* (*of)(Price&);
};

Rate* present(std::optional<Rate>& rate) {
  return &(rate ? *rate : rate.emplace());
}

constexpr auto k_fields = std::to_array<Field>({
    {"in", [](Price& price) { return &price.input; }},
    {"out", [](Price& price) { return &price.output; }},
    {"read", [](Price& price) { return present(price.cache_read); }},
    {"write", [](Price& price) { return present(price.cache_write); }},
    {"write1h", [](Price& price) { return present(price.cache_write_1h); }},
    {"think", [](Price& price) { return present(price.reasoning); }},
});
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
  period.begin = parse_time_of_day(take_until(text, '-'));
  period.end = parse_time_of_day(text);
  return period.begin && period.end;
}

bool read_price_word(std::string_view word, PricePeriod& period) {
  const auto name = take_until(word, '=');
  if (name == "from") {
    period.from = parse_day(word);
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
  const auto* const field = std::ranges::find(k_fields, name, &Field::name);
  auto rate = parse_rate(word);
  if (field == k_fields.end() || !rate) {
    return false;
  }
  *field->of(period.price) = std::move(*rate);
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

std::string write_time_of_day(std::chrono::seconds time) {
  const auto seconds = time.count();
  const auto text = fmt::format("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
  return seconds % 60 == 0 ? text : fmt::format("{}:{:02}", text, seconds % 60);
}

std::string write_period(const PricePeriod& period) {
  const Price& price = period.price;
  std::string text;
  if (period.from) {
    text += " from=" + write_day(*period.from);
  }
  if (period.begin && period.end) {
    text +=
        fmt::format(" at={}-{}", write_time_of_day(*period.begin), write_time_of_day(*period.end));
  }
  text += write_rate("in", price.input) + write_rate("out", price.output);
  text += price.cache_read ? write_rate("read", *price.cache_read) : "";
  text += price.cache_write ? write_rate("write", *price.cache_write) : "";
  text += price.cache_write_1h ? write_rate("write1h", *price.cache_write_1h) : "";
  text += price.reasoning ? write_rate("think", *price.reasoning) : "";
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
  return holds_group(match, to_lower(name), false, 0);
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

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
  const auto year = whole_number<int>(take_until(text, '-'));
  const auto month = whole_number<unsigned>(take_until(text, '-'));
  const auto day = whole_number<unsigned>(text);
  if (!year || !month || !day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year{*year}, std::chrono::month{*month}, std::chrono::day{*day}};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

std::string write_day(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text) {
  text.remove_suffix(text.ends_with('Z') ? 1 : 0);
  const auto hours = whole_number<int>(take_until(text, ':'));
  const auto minutes = whole_number<int>(take_until(text, ':'));
  const auto seconds = text.empty() ? std::optional(0) : whole_number<int>(text);
  if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 59) {
    return std::nullopt;
  }
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) +
         std::chrono::seconds(*seconds);
}

}  // namespace providers

#include "config/yaml/tree.h"

#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <system_error>

namespace config {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view without_sign(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
}

std::size_t count_digits(std::string_view text) {
  const auto* end = std::ranges::find_if_not(text, agent::is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

int base_of(std::string_view text) {
  return text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 10;
}

bool is_integer(std::string_view text) {
  const int base = base_of(text);
  if (base == 10) {
    const auto digits = without_sign(text);
    return !digits.empty() && count_digits(digits) == digits.size();
  }
  const auto digits = text.substr(2);
  return !digits.empty() && std::ranges::all_of(digits, [&](char c) {
    return base == 8 ? c >= '0' && c <= '7'
                     : agent::is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool is_infinity(std::string_view text) {
  return is_one_of(without_sign(text), {".inf", ".Inf", ".INF"});
}

bool is_not_a_number(std::string_view text) {
  return is_one_of(text, {".nan", ".NaN", ".NAN"});
}

bool is_decimal(std::string_view text) {
  text = without_sign(text);
  const std::size_t whole = count_digits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (text.starts_with('.')) {
    fraction = count_digits(text.substr(1));
    text.remove_prefix(1 + fraction);
  }
  if (whole + fraction == 0) {
    return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    const auto exponent = without_sign(text.substr(1));
    return !exponent.empty() && count_digits(exponent) == exponent.size();
  }
  return text.empty();
}

// How many source bytes make the next character of the value, and how many bytes that has there.
struct Step {
  std::size_t source = 1;
  std::size_t value = 1;
  bool is_white = false;
};

std::size_t utf8_length(std::uint32_t code_point) {
  return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

Step step_of_escape(std::string_view rest) {
  if (rest.size() < 2) {
    return {};
  }
  const char letter = rest[1];
  const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits > 0 && rest.size() >= 2 + digits) {
    std::uint32_t code_point = 0;
    std::from_chars(rest.data() + 2, rest.data() + 2 + digits, code_point, 16);
    const bool white =
        code_point == ' ' || code_point == '\t' || code_point == '\n' || code_point == '\r';
    return {.source = 2 + digits, .value = utf8_length(code_point), .is_white = white};
  }
  if (letter == 'N' || letter == '_') {
    return {.source = 2, .value = 2};
  }
  if (letter == 'L' || letter == 'P') {
    return {.source = 2, .value = 3};
  }
  // An escaped line end is folded away, as white space is.
  const bool white = is_space(letter) || letter == 't' || letter == 'n' || letter == 'r';
  return {.source = 2, .value = 1, .is_white = white};
}

Step next_step(std::string_view rest, Style style) {
  if (style == Style::double_quoted && rest[0] == '\\') {
    return step_of_escape(rest);
  }
  if (style == Style::single_quoted && rest.starts_with("''")) {
    return {.source = 2, .value = 1};
  }
  return {.source = 1, .value = 1, .is_white = is_space(rest[0])};
}

// JSON has no `+`, no zeros before a number, and digits on both sides of the point.
std::string json_spelling(std::string_view decimal) {
  std::string out = decimal.starts_with('-') ? "-" : "";
  decimal = without_sign(decimal);
  const std::size_t whole = count_digits(decimal);
  const std::size_t zeros = std::min(decimal.find_first_not_of('0'), whole);
  out += zeros == whole ? "0" : decimal.substr(zeros, whole - zeros);
  decimal.remove_prefix(whole);
  if (decimal.starts_with('.')) {
    const std::size_t decimals = count_digits(decimal.substr(1));
    out += decimals == 0 ? ".0" : decimal.substr(0, 1 + decimals);
    decimal.remove_prefix(1 + decimals);
  }
  return out += decimal;
}

// null where JSON has no words for it.
agent::Json number_json(const Value& number) {
  if (base_of(number.text) != 10) {
    const auto whole = integer_of(number);
    return whole ? agent::Json(*whole) : agent::Json();
  }
  return agent::parse_json(json_spelling(number.text)).value_or(agent::Json());
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "a whole number";
    case Kind::number:
      return "a number";
    case Kind::text:
      return "text";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

const Entry* Value::find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  return entry == entries.end() ? nullptr : &*entry;
}

Kind kind_of_plain(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) {
    return Kind::null;
  }
  if (is_one_of(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    return Kind::boolean;
  }
  if (is_integer(text)) {
    return Kind::integer;
  }
  return is_decimal(text) || is_infinity(text) || is_not_a_number(text) ? Kind::number : Kind::text;
}

std::optional<std::int64_t> integer_of(const Value& value) {
  if (value.kind != Kind::integer) {
    return std::nullopt;
  }
  std::string_view digits = value.text;
  const int base = base_of(digits);
  digits.remove_prefix(base == 10 ? (digits.starts_with('+') ? 1 : 0) : 2);
  std::int64_t number = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (failure != std::errc{} || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

std::optional<double> number_of(const Value& value) {
  if (const auto whole = integer_of(value)) {
    return static_cast<double>(*whole);
  }
  if (value.kind != Kind::integer && value.kind != Kind::number) {
    return std::nullopt;
  }
  if (is_not_a_number(value.text)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double signed_infinity = value.text.starts_with('-') ? -infinity : infinity;
  if (is_infinity(value.text) || base_of(value.text) != 10) {
    return signed_infinity;
  }
  std::string_view digits = value.text;
  digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
  double number = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return result.ec == std::errc{} ? number : signed_infinity;
}

std::optional<bool> boolean_of(const Value& value) {
  if (value.kind != Kind::boolean) {
    return std::nullopt;
  }
  return value.text[0] == 't' || value.text[0] == 'T';
}

// Folding and indentation only ever touch white space, so the n-th other character of the value is
// the n-th other character of its source.
std::size_t SourceOffsets::of(std::size_t index) {
  if (index < index_) {
    *this = SourceOffsets(source_, value_);
  }
  const auto passed = std::string_view(value_.get().text).substr(index_, index - index_);
  wanted_ +=
      static_cast<std::size_t>(std::ranges::count_if(passed, [](char c) { return !is_space(c); }));
  index_ = index;
  while (at_ < source_.size()) {
    const Step step = next_step(source_.substr(at_), value_.get().style);
    if (!step.is_white) {
      if (wanted_ < step.value) {
        return at_;
      }
      wanted_ -= step.value;
    }
    at_ += step.source;
  }
  return value_.get().span.offset;
}

std::size_t offset_of(const Source& source, const Value& value, std::size_t index) {
  return SourceOffsets(source.text(), value).of(index);
}

const Value* find_beyond_json(const Value& value) {
  if (value.kind == Kind::integer || value.kind == Kind::number) {
    return number_json(value).is_null() ? &value : nullptr;
  }
  for (const Value& item : value.items) {
    if (const Value* found = find_beyond_json(item)) {
      return found;
    }
  }
  for (const Entry& entry : value.entries) {
    if (const Value* found = find_beyond_json(entry.value)) {
      return found;
    }
  }
  return nullptr;
}

agent::Json to_json(const Value& value) {
  switch (value.kind) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return *boolean_of(value);
    case Kind::integer:
    case Kind::number:
      return number_json(value);
    case Kind::text:
      return value.text;
    case Kind::list: {
      agent::Json list = agent::Json::array();
      for (const Value& item : value.items) {
        list.push_back(to_json(item));
      }
      return list;
    }
    case Kind::map: {
      agent::Json map = agent::Json::object();
      auto& members = map.get_ref<agent::Json::object_t&>();  // operator[] searches: quadratic
      for (const Entry& entry : value.entries) {
        members.push_back({entry.key, to_json(entry.value)});
      }
      return map;
    }
  }
  return nullptr;
}

}  // namespace config

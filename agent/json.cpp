#include "agent/json.h"

#include "agent/take_apart.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agent {
namespace {

// What stands outside of strings, until `see` says that this is enough.
template <typename See>
void look_outside_strings(std::string_view json, See see) {
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (!see(c)) {
      return;
    }
  }
}

// Enough to bound the depth before a parser recurses.
bool is_deeper_than(std::string_view json, int max_depth) {
  int depth = 0;
  int deepest = 0;
  look_outside_strings(json, [&](char c) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    deepest = std::max(deepest, depth);
    return deepest <= max_depth;
  });
  return deepest > max_depth;
}

constexpr std::string_view k_placeholder = "-0E";

// A number that is kept by its text; nothing else here is binary.
Json kept_number(std::string_view text) {
  return Json::binary(std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string kept_text(const Json& number) {
  const Json::binary_t& bytes = number.get_binary();
  return {bytes.begin(), bytes.end()};
}

Json real_number(double value, std::string_view text) {
  std::array<char, 64> written{};
  const char* const end =
      nlohmann::detail::to_chars(written.data(), written.data() + written.size(), value);
  return text == std::string_view(written.data(), end) ? Json(value) : kept_number(text);
}

std::size_t count_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// By JSON's grammar: -0, 1.0 and 1e400; not 01, .5, 1. and +1.
bool is_numeral(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  const std::size_t whole = count_digits(text);
  if (whole == 0 || (whole > 1 && text.front() == '0')) {
    return false;
  }
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    const std::size_t decimals = count_digits(text.substr(1));
    if (decimals == 0) {
      return false;
    }
    text.remove_prefix(1 + decimals);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    text.remove_prefix(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
    return !text.empty() && count_digits(text) == text.size();
  }
  return text.empty();
}

bool fits_double(std::string_view numeral) {
  double value = 0;
  return std::from_chars(numeral.data(), numeral.data() + numeral.size(), value).ec !=
         std::errc::result_out_of_range;
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return std::min(at + 1, text.size());
}

// nlohmann's parser stops at a number that no double holds. Such numbers are put into `numerals`,
// and the parser is shown the number of the place there, in a form that is kept for that.
std::string with_placeholders(std::string_view text, std::vector<std::string>& numerals) {
  std::string shown;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
    } else if (text[at] == '-' || count_digits(text.substr(at, 1)) == 1) {
      const std::size_t begin = at;
      at = std::min(text.find_first_not_of("0123456789+-.eE", begin), text.size());
      const std::string_view token = text.substr(begin, at - begin);
      if (is_numeral(token) && (token.starts_with(k_placeholder) || !fits_double(token))) {
        shown.append(text.substr(copied, begin - copied))
            .append(k_placeholder)
            .append(std::to_string(numerals.size()));
        numerals.emplace_back(token);
        copied = at;
      }
    } else {
      ++at;
    }
  }
  return shown.append(text.substr(copied));
}

// Builds the value as the parser reads it. nlohmann's own builder looks for each key of an object
// from its beginning, so that 200,000 keys take half a minute. As there, the last of two equal keys
// counts, in the place of the first.
class JsonBuilder {
 public:
  // `numerals` are those for which placeholders stand in the text.
  explicit JsonBuilder(std::span<const std::string> numerals = {}) : numerals_(numerals) {}
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;
  ~JsonBuilder() { take_apart(root_); }

  Json take() { return std::move(root_); }
  bool has_overflown() const { return has_overflown_; }
  const RepeatedNames& repeated() const { return repeated_; }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  // Called for numbers with a minus alone.
  bool number_integer(Json::number_integer_t value) {
    return add(value == 0 ? kept_number("-0") : Json(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string& text) {
    return add(numerals_.empty() || !text.starts_with(k_placeholder)
                   ? real_number(value, text)
                   : kept_number(numerals_[next_numeral_++]));
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool key(std::string& name) {
    Container& container = open_.back();
    const std::size_t before = container.json->size();
    container.member = member(container, name);
    is_repeated_ = container.json->size() == before;
    if (is_repeated_ && !repeated_.first) {
      repeated_.first = name;  // which was not moved into it
    }
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int k_number_overflow = 406;
    has_overflown_ = error.id == k_number_overflow;
    return false;
  }

 private:
  static constexpr std::size_t k_few = 16;  // keys that are found faster without an index

  struct Container {
    Json* json;
    std::size_t member = 0;  // of an object: where the value that comes next belongs
    std::unordered_map<std::string, std::size_t> index = {};
  };

  static std::size_t member(Container& container, std::string& name) {
    Json::object_t::Container& members = container.json->get_ref<Json::object_t&>();
    if (members.size() < k_few) {
      for (std::size_t at = 0; at < members.size(); ++at) {
        if (members[at].first == name) {
          return at;
        }
      }
    } else {
      if (container.index.empty()) {
        for (std::size_t at = 0; at < members.size(); ++at) {
          container.index.emplace(members[at].first, at);
        }
      }
      if (const auto [known, is_new] = container.index.emplace(name, members.size()); !is_new) {
        return known->second;
      }
    }
    make_room(members);
    members.emplace_back(std::move(name), nullptr);
    return members.size() - 1;
  }

  // A vector of pairs whose keys are constant copies what it holds when it grows.
  static void make_room(Json::object_t::Container& members) {
    if (members.size() < members.capacity()) {
      return;
    }
    Json::object_t::Container grown;
    grown.reserve(std::max<std::size_t>(4, 2 * members.size()));
    for (auto& [name, value] : members) {
      grown.emplace_back(name, std::move(value));
    }
    members.swap(grown);
  }

  Json& place(Json&& value) {
    if (open_.empty()) {
      return root_ = std::move(value);
    }
    const Container& container = open_.back();
    if (container.json->is_array()) {
      return container.json->emplace_back(std::move(value));
    }
    Json::object_t::Container& members = container.json->get_ref<Json::object_t&>();
    auto& [name, member] = members[container.member];
    if (std::exchange(is_repeated_, false) && !repeated_.contradiction &&
        (value.is_structured() || member != value)) {
      repeated_.contradiction = name;
    }
    return member = std::move(value);
  }

  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }
  // The parent stays where it is until this one is closed.
  bool open(Json&& value) {
    Json* const placed = &place(std::move(value));
    open_.push_back({.json = placed});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Container> open_;
  std::span<const std::string> numerals_;
  std::size_t next_numeral_ = 0;
  bool has_overflown_ = false;
  bool is_repeated_ = false;  // the name of the value that comes next
  RepeatedNames repeated_;
};

constexpr std::size_t k_long = 64u << 10;

// Bytes of a long text, and some for what is escaped in it; 0: it is not long.
std::size_t long_text(std::size_t size) {
  return size < k_long ? 0 : size + size / 16;
}

// Of all strings in it.
std::size_t long_text_in(const Json& value) {
  if (value.is_string()) {
    return long_text(value.get_ref<const std::string&>().size());
  }
  std::size_t sum = 0;
  if (value.is_structured()) {
    for (const Json& member : value) {
      sum += long_text_in(member);
    }
  }
  return sum;
}

bool holds_kept_numbers(const Json& value) {
  return value.is_binary() ||
         (value.is_structured() && std::any_of(value.begin(), value.end(), holds_kept_numbers));
}

// Where a long text is about to follow: the string would grow to twice its size.
void make_room(std::string& out, std::size_t long_bytes) {
  constexpr std::size_t k_for_the_rest = 64u << 10;
  if (long_bytes > 0) {
    out.reserve(out.size() + long_bytes + k_for_the_rest);
  }
}

void append_plain(std::string& out, const Json& value) {
  nlohmann::detail::serializer<Json> writer(
      nlohmann::detail::output_adapter<char>(out), ' ', Json::error_handler_t::replace);
  writer.dump(value, false, false, 0);
}

// nlohmann's own writer knows no number that is kept by its text.
void write(const Json& value, std::string& out) {
  if (value.is_binary()) {
    out += kept_text(value);
  } else if (!value.is_structured()) {
    append_plain(out, value);
  } else {
    const bool is_object = value.is_object();
    out += is_object ? '{' : '[';
    for (auto member = value.begin(); member != value.end(); ++member) {
      out += member == value.begin() ? "" : ",";
      if (is_object) {
        append_plain(out, member.key());
        out += ':';
      }
      write(*member, out);
    }
    out += is_object ? '}' : ']';
  }
}

}  // namespace

namespace {

std::optional<Json> parse(std::string_view text, int max_depth, RepeatedNames& repeated) {
  repeated = {};
  const bool has_end = text.contains('\0');  // nlohmann reads no further
  if (has_end || is_deeper_than(text, max_depth) || has_too_many_values(text)) {
    return std::nullopt;
  }
  JsonBuilder builder;
  if (Json::sax_parse(text, &builder)) {
    repeated = builder.repeated();
    return builder.take();
  }
  if (!builder.has_overflown()) {
    return std::nullopt;
  }
  std::vector<std::string> numerals;
  const std::string shown = with_placeholders(text, numerals);
  JsonBuilder again(numerals);
  if (!Json::sax_parse(shown, &again)) {
    return std::nullopt;
  }
  repeated = again.repeated();
  return again.take();
}

}  // namespace

// Each but the first follows a comma, or is the first of a list or an object.
bool has_too_many_values(std::string_view json) {
  if (json.size() < 2 * k_most_json_values) {
    return false;
  }
  std::size_t values = 1;
  look_outside_strings(json, [&](char c) {
    values += c == ',' || c == '[' || c == '{' ? 1 : 0;
    return values <= k_most_json_values;
  });
  return values > k_most_json_values;
}

bool is_json(std::string_view text) {
  std::vector<std::string> numerals;
  return !text.contains('\0') && Json::accept(with_placeholders(text, numerals));
}

std::optional<Json> parse_json(std::string_view text, int max_depth) {
  RepeatedNames repeated;
  return parse(text, max_depth, repeated);
}

std::optional<Json> parse_json(std::string_view text, std::optional<std::string>& repeated_name) {
  RepeatedNames repeated;
  auto json = parse_json(text, repeated);
  repeated_name = std::move(repeated.first);
  return json;
}

std::optional<Json> parse_json(std::string_view text, RepeatedNames& repeated) {
  constexpr int k_deepest = 200;
  return parse(text, k_deepest, repeated);
}

void append_json(std::string& out, const Json& value) {
  make_room(out, long_text_in(value));
  if (holds_kept_numbers(value)) {
    write(value, out);
  } else {
    append_plain(out, value);
  }
}

// nlohmann's writer wants a value of its own: a long text is copied to one piece by piece. A piece
// begins where a character may.
void append_json_text(std::string& out, std::string_view text) {
  make_room(out, long_text(text.size()));
  out += '"';
  while (!text.empty()) {
    std::size_t end = std::min(k_long, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      ++end;
    }
    const std::size_t begin = out.size();
    append_plain(out, text.substr(0, end));
    out.erase(begin, 1);  // the quotes of the piece
    out.pop_back();
    text.remove_prefix(end);
  }
  out += '"';
}

std::string dump(const Json& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string canonical(const Json& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

Json with_plain_numbers(Json value) {
  if (value.is_structured()) {
    for (Json& part : value) {
      part = with_plain_numbers(std::move(part));
    }
    return value;
  }
  if (!is_number(value)) {
    return value;
  }
  if (const auto integer = integer_of(value); integer && is_same_value(Json(*integer), value)) {
    return *integer;
  }
  Json real = real_of(value);
  return is_same_value(real, value) ? real : value;
}

}  // namespace

std::string canonical_value(const Json& value) {
  return canonical(with_plain_numbers(value));
}

std::string canonical_text(std::string_view text) {
  const auto value = parse_json(text);
  return value ? canonical(*value) : std::string(text);
}

bool is_number(const Json& value) {
  return value.is_number() || value.is_binary();
}

std::string numeral(const Json& number) {
  return number.is_binary() ? kept_text(number) : number.dump();
}

double real_of(const Json& number) {
  return number.is_binary() ? std::strtod(kept_text(number).c_str(), nullptr)
                            : number.get<double>();
}

namespace {

// 0.DIGITS times ten to the `power`; no zero stands at either end of the digits.
struct Digits {
  bool is_negative = false;
  std::string digits;  // empty: zero
  std::int64_t power = 0;
};

// Beyond it one exponent is as good as another.
constexpr std::int64_t k_greatest_power = 1'000'000'000'000'000'000;

std::int64_t exponent_of(std::string_view text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error == std::errc::result_out_of_range) {
    return text.starts_with('-') ? -k_greatest_power : k_greatest_power;
  }
  return std::clamp(exponent, -k_greatest_power, k_greatest_power);
}

Digits digits_of(const Json& number) {
  const std::string written = numeral(number);
  std::string_view text = written;
  Digits decimal{.is_negative = text.starts_with('-'), .digits = {}};
  text.remove_prefix(decimal.is_negative ? 1 : 0);
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  decimal.digits = text.substr(0, point);
  decimal.digits += text.substr(std::min(point + 1, end), end - std::min(point + 1, end));
  const std::size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) {
    return {};
  }
  decimal.power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(zeros) +
                  (end < text.size() ? exponent_of(text.substr(end + 1)) : 0);
  return decimal;
}

}  // namespace

std::strong_ordering compare_numbers(const Json& left, const Json& right) {
  const Digits a = digits_of(left);
  const Digits b = digits_of(right);
  const auto sign = [](const Digits& one) {
    return one.digits.empty() ? 0 : one.is_negative ? -1 : 1;
  };
  if (sign(a) != sign(b)) {
    return sign(a) <=> sign(b);
  }
  const auto size = std::tie(a.power, a.digits) <=> std::tie(b.power, b.digits);
  return a.is_negative ? 0 <=> size : size;
}

bool is_same_value(const Json& left, const Json& right) {
  if (is_number(left) && is_number(right)) {
    return compare_numbers(left, right) == 0;
  }
  if (left.is_array() && right.is_array()) {
    return std::ranges::equal(left, right, is_same_value);
  }
  if (!left.is_object() || !right.is_object()) {
    return canonical(left) == canonical(right);
  }
  std::map<std::string_view, const Json*> members;  // of the right one
  for (const auto& [name, value] : right.items()) {
    members.emplace(name, &value);
  }
  return left.size() == right.size() && std::ranges::all_of(left.items(), [&](const auto& member) {
           const auto other = members.find(member.key());
           return other != members.end() && is_same_value(member.value(), *other->second);
         });
}

std::optional<long long> integer_of(const Json& number) {
  constexpr double k_bound = 9.2e18;  // a double beyond it may have no integer
  if (number.is_number_unsigned()) {
    const auto whole = number.get<std::uint64_t>();
    return std::in_range<long long>(whole) ? std::optional(static_cast<long long>(whole))
                                           : std::nullopt;
  }
  if (number.is_number_integer()) {
    return number.get<long long>();
  }
  const double real = real_of(number);
  return std::abs(real) < k_bound ? std::optional(static_cast<long long>(real)) : std::nullopt;
}

Json number_json(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

const Json* find(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (member.key() == key) {
      return member->is_null() ? nullptr : &*member;
    }
  }
  return nullptr;
}

Json* find(Json& object, std::string_view key) {
  return const_cast<Json*>(find(std::as_const(object), key));  // a member of what may be changed
}

std::string_view text_at(const Json& object, std::string_view key, std::string_view otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && member->is_string()
             ? std::string_view(member->get_ref<const std::string&>())
             : otherwise;
}

long long integer_at(const Json& object, std::string_view key, long long otherwise) {
  const Json* member = find(object, key);
  return member == nullptr || !is_number(*member) ? otherwise
                                                  : integer_of(*member).value_or(otherwise);
}

double real_at(const Json& object, std::string_view key, double otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && is_number(*member) ? real_of(*member) : otherwise;
}

bool bool_at(const Json& object, std::string_view key, bool otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : otherwise;
}

}  // namespace agent

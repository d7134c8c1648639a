#include "tools/guardrails/personal_data.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace tools {
namespace {

using agent::is_digit;

bool is_letter(char c) {
  const char lower = agent::to_lower(c);
  return lower >= 'a' && lower <= 'z';
}
bool is_alphanumeric(char c) {
  return is_digit(c) || is_letter(c);
}

char at_or_nul(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}
char before(std::string_view text, std::size_t at) {
  return at > 0 ? text[at - 1] : '\0';
}

std::string digits_of(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), is_digit);
  return digits;
}

// Not a piece of a longer number: 1.5, 12-34, 1/2.
bool stands_alone(std::string_view text, std::size_t at, std::size_t length) {
  constexpr std::string_view k_joints = ".,-/_:";
  const char first = before(text, at);
  const char last = at_or_nul(text, at + length);
  const bool is_joined_before =
      k_joints.contains(first) && at > 1 && first != '\0' && is_digit(text[at - 2]);
  const bool is_joined_behind =
      last != '\0' && k_joints.contains(last) && is_digit(at_or_nul(text, at + length + 1));
  return !is_alphanumeric(first) && !is_alphanumeric(last) && !is_joined_before &&
         !is_joined_behind;
}

// Files whose names look like addresses (logo@2x.png), and the user that Git's addresses name.
std::size_t measure_email(std::string_view text, std::size_t at, std::size_t length) {
  constexpr auto k_file_endings = std::to_array<std::string_view>(
      {"png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "json", "html"});
  const std::string_view match = text.substr(at, length);
  const std::string_view ending = match.substr(match.rfind('.') + 1);
  const std::string_view host = match.substr(match.find('@') + 1);
  const bool is_file =
      std::ranges::find(k_file_endings, agent::to_lower(ending)) != k_file_endings.end();
  const bool is_git = at_or_nul(text, at + length) == ':' && match.starts_with("git@");
  const bool is_broken = host.starts_with('.') || host.starts_with('-') || host.contains("..") ||
                         match.starts_with('.') || match.contains(".@");
  return is_file || is_git || is_broken || is_alphanumeric(before(text, at)) ? 0 : length;
}

std::size_t measure_phone(std::string_view text, std::size_t at, std::size_t length) {
  const std::string digits = digits_of(text.substr(at, length));
  const bool is_international = text[at] == '+';
  const bool has_length = is_international ? digits.size() >= 8 && digits.size() <= 15
                                           : digits.size() == 10 || digits.size() == 11;
  return has_length && stands_alone(text, at, length) ? length : 0;
}

bool passes_luhn(std::string_view digits) {
  int sum = 0;
  for (std::size_t index = 0; index < digits.size(); ++index) {
    int value = digits[digits.size() - 1 - index] - '0';
    if (index % 2 == 1) {
      value = value > 4 ? value * 2 - 9 : value * 2;
    }
    sum += value;
  }
  return sum % 10 == 0;
}

// The first digits of the schemes, with the lengths that they issue.
struct CardRange {
  int low;  // of the first four digits
  int high;
  std::size_t shortest;
  std::size_t longest;
};
constexpr auto k_cards = std::to_array<CardRange>({
    {2221, 2720, 16, 16},  // Mastercard
    {3000, 3059, 14, 19},  // Diners Club
    {3400, 3499, 15, 15},  // American Express
    {3528, 3589, 16, 19},  // JCB
    {3600, 3699, 14, 19},  // Diners Club
    {3700, 3799, 15, 15},  // American Express
    {3800, 3999, 14, 19},  // Diners Club
    {4000, 4999, 13, 19},  // Visa
    {5000, 5099, 12, 19},  // Maestro
    {5100, 5599, 16, 16},  // Mastercard
    {5600, 6999, 12, 19},  // Maestro, Discover, UnionPay, RuPay
});

std::size_t measure_card(std::string_view text, std::size_t at, std::size_t length) {
  const std::string digits = digits_of(text.substr(at, length));
  const int first = (digits[0] - '0') * 1000 + (digits[1] - '0') * 100 + (digits[2] - '0') * 10 +
                    (digits[3] - '0');
  const bool is_issued = std::ranges::any_of(k_cards, [&](const CardRange& range) {
    return first >= range.low && first <= range.high && digits.size() >= range.shortest &&
           digits.size() <= range.longest;
  });
  return is_issued && passes_luhn(digits) && stands_alone(text, at, length) ? length : 0;
}

// The areas, groups and serials that were never given out.
std::size_t measure_ssn(std::string_view text, std::size_t at, std::size_t length) {
  const std::string digits = digits_of(text.substr(at, length));
  const std::string_view area = std::string_view(digits).substr(0, 3);
  const bool is_issued = area != "000" && area != "666" && area.front() != '9' &&
                         digits.substr(3, 2) != "00" && digits.substr(5) != "0000";
  const bool is_uniform = text[at + 3] == text[at + 6];
  return is_issued && is_uniform && stands_alone(text, at, length) ? length : 0;
}

// How long the account numbers of a country are, all in all.
constexpr auto k_iban_lengths = std::to_array<std::pair<std::string_view, std::size_t>>({
    {"AD", 24}, {"AE", 23}, {"AL", 28}, {"AT", 20}, {"AZ", 28}, {"BA", 20}, {"BE", 16}, {"BG", 22},
    {"BH", 22}, {"BI", 27}, {"BR", 29}, {"BY", 28}, {"CH", 21}, {"CR", 22}, {"CY", 28}, {"CZ", 24},
    {"DE", 22}, {"DJ", 27}, {"DK", 18}, {"DO", 28}, {"EE", 20}, {"EG", 29}, {"ES", 24}, {"FI", 18},
    {"FK", 18}, {"FO", 18}, {"FR", 27}, {"GB", 22}, {"GE", 22}, {"GI", 23}, {"GL", 18}, {"GR", 27},
    {"GT", 28}, {"HR", 21}, {"HU", 28}, {"IE", 22}, {"IL", 23}, {"IQ", 23}, {"IS", 26}, {"IT", 27},
    {"JO", 30}, {"KW", 30}, {"KZ", 20}, {"LB", 28}, {"LC", 32}, {"LI", 21}, {"LT", 20}, {"LU", 20},
    {"LV", 21}, {"LY", 25}, {"MC", 27}, {"MD", 24}, {"ME", 22}, {"MK", 19}, {"MN", 20}, {"MR", 27},
    {"MT", 31}, {"MU", 30}, {"NI", 28}, {"NL", 18}, {"NO", 15}, {"OM", 23}, {"PK", 24}, {"PL", 28},
    {"PS", 29}, {"PT", 25}, {"QA", 29}, {"RO", 24}, {"RS", 22}, {"RU", 33}, {"SA", 24}, {"SC", 31},
    {"SD", 18}, {"SE", 24}, {"SI", 19}, {"SK", 24}, {"SM", 27}, {"SO", 23}, {"ST", 25}, {"SV", 28},
    {"TL", 23}, {"TN", 24}, {"TR", 26}, {"UA", 29}, {"VA", 22}, {"VG", 24}, {"XK", 20}, {"YE", 30},
});

// The check of ISO 7064: the first four characters behind the rest, letters as 10 to 35.
bool passes_mod_97(std::string_view iban) {
  int rest = 0;
  const std::string turned = std::string(iban.substr(4)) + std::string(iban.substr(0, 4));
  for (const char c : turned) {
    const int value = is_digit(c) ? c - '0' : c - 'A' + 10;
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest == 1;
}

std::size_t measure_iban(std::string_view text, std::size_t at, std::size_t) {
  const auto* row =
      std::ranges::find(k_iban_lengths, text.substr(at, 2), [](const auto& r) { return r.first; });
  if (row == k_iban_lengths.end() || is_alphanumeric(before(text, at))) {
    return 0;
  }
  std::string iban;
  std::size_t end = at;
  for (; end < text.size() && iban.size() < row->second; ++end) {
    const char c = text[end];
    if (is_digit(c) || (c >= 'A' && c <= 'Z')) {
      iban += c;
    } else if (c != ' ' || text[end - 1] == ' ') {
      return 0;
    }
  }
  const bool is_whole = iban.size() == row->second && !is_alphanumeric(at_or_nul(text, end));
  return is_whole && passes_mod_97(iban) ? end - at : 0;
}

// The lengths are bounded, so that what turns out to be none costs little.
constexpr auto k_personal_data = std::to_array<PersonalData>({
    {.name = "email",
     .singular = "an e-mail address",
     .plural = "e-mail addresses",
     .pattern = R"([A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9.-]{1,250}\.[A-Za-z]{2,24}\b)",
     .measure = measure_email},
    {.name = "phone",
     .singular = "a phone number",
     .plural = "phone numbers",
     .pattern =
         R"(\+[1-9](?:[ .()/-]{0,2}[0-9]){6,16}|)"
         R"((?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4})",
     .measure = measure_phone},
    {.name = "card",
     .singular = "a card number",
     .plural = "card numbers",
     .pattern = R"([2-6][0-9]{3}[ -]?(?:[0-9]{6}[ -]?[0-9]{4,5}|)"
                R"([0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,4}(?:[ -]?[0-9]{1,3})?))",
     .measure = measure_card},
    {.name = "ssn",
     .singular = "a social security number",
     .plural = "social security numbers",
     .pattern = R"([0-8][0-9]{2}[- ][0-9]{2}[- ][0-9]{4})",
     .measure = measure_ssn},
    {.name = "iban",
     .singular = "an IBAN",
     .plural = "IBANs",
     .pattern = R"([A-Z]{2}[0-9]{2} ?[A-Z0-9]{4})",
     .measure = measure_iban},
});

void find_kind(const PersonalData& kind, std::string_view text, std::vector<Found>& found) {
  RE2::Options options(RE2::Latin1);  // any bytes; all patterns are ASCII
  options.set_longest_match(true);
  const RE2 expression(re2::StringPiece(kind.pattern.data(), kind.pattern.size()), options);
  re2::StringPiece match;
  std::size_t from = 0;
  while (
      expression.Match({text.data(), text.size()}, from, text.size(), RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t length = kind.measure(text, begin, match.size());
    if (length > 0) {
      found.push_back({.kind = &kind, .begin = begin, .end = begin + length});
    }
    from = begin + std::max<std::size_t>(length, 1);
  }
}

}  // namespace

std::span<const PersonalData> personal_data() {
  return k_personal_data;
}

std::vector<Found> find_personal_data(std::string_view name, std::string_view text) {
  std::vector<Found> all;
  for (const PersonalData& kind : k_personal_data) {
    if (name == "pii" || name == kind.name) {
      find_kind(kind, text, all);
    }
  }
  std::ranges::stable_sort(all, {}, &Found::begin);
  std::vector<Found> found;
  for (const Found& one : all) {
    if (found.empty() || one.begin >= found.back().end) {
      found.push_back(one);
    } else {
      found.back().end = std::max(found.back().end, one.end);
    }
  }
  return found;
}

std::string describe(std::span<const Found> found) {
  std::vector<std::string> parts;
  for (const PersonalData& kind : k_personal_data) {
    const auto count = std::ranges::count(found, &kind, &Found::kind);
    if (count > 0) {
      parts.push_back(count == 1 ? std::string(kind.singular)
                                 : fmt::format("{} {}", count, kind.plural));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string without(std::string_view text, std::span<const Found> found) {
  std::string out;
  std::size_t from = 0;
  for (const Found& one : found) {
    out += text.substr(from, one.begin - from);
    out += fmt::format("[redacted {}]", one.kind->name);
    from = one.end;
  }
  return out += text.substr(from);
}

}  // namespace tools

#include "agent/secrets/redact.h"

#include "agent/secrets/guess_secrets.h"
#include "agent/secrets/secret_forms.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace agent {
namespace {

constexpr std::size_t k_shortest_redacted = KnownValues::k_shortest;
constexpr std::size_t k_longest_kept_back = 4096;

// How the name of a variable that holds a secret ends. In capitals; names are compared so.
constexpr auto k_secret_endings = std::to_array<std::string_view>({
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PAT",
    "APIKEY",
    "AUTHTOKEN",
    "MYSQL_PWD",
    "PGPASSWORD",
});
// Endings of the above that say the contrary.
constexpr auto k_public_endings = std::to_array<std::string_view>({"PUBLIC_KEY", "GPG_KEY"});

// Values that say nothing: hiding them would only hide ordinary words.
constexpr auto k_common_values = std::to_array<std::string_view>({
    "password",
    "changeme",
    "changeit",
    "disabled",
    "undefined",
    "localhost",
    "required",
    "optional",
    "redacted",
    "[redacted]",
    "placeholder",
    "your-api-key",
    "your_api_key",
    "not-needed",
});

// The known shapes, each with what must occur in a text before it can match.
struct Shape {
  std::string_view trigger;
  std::string_view pattern;  // a group is kept, the rest is redacted
};
constexpr auto k_shapes = std::to_array<Shape>({
    {"sk-", R"(\bsk-(?:ant|proj|svcacct|admin|or|lf|test|live)-[A-Za-z0-9_-]{16,})"},
    {"sk-", R"(\bsk-[A-Za-z0-9]{20,})"},
    {"k_live_", R"(\b[rs]k_live_[A-Za-z0-9]{16,})"},
    {"k_test_", R"(\b[rs]k_test_[A-Za-z0-9]{16,})"},
    {"AIza", R"(\bAIza[A-Za-z0-9_-]{35})"},
    {"xai-", R"(\bxai-[A-Za-z0-9]{20,})"},
    {"gsk_", R"(\bgsk_[A-Za-z0-9]{20,})"},
    {"hf_", R"(\bhf_[A-Za-z0-9]{30,})"},
    {"pplx-", R"(\bpplx-[A-Za-z0-9]{30,})"},
    {"npm_", R"(\bnpm_[A-Za-z0-9]{36})"},
    {"ghp_", R"(\bghp_[A-Za-z0-9]{30,})"},
    {"gho_", R"(\bgho_[A-Za-z0-9]{30,})"},
    {"ghu_", R"(\bghu_[A-Za-z0-9]{30,})"},
    {"ghs_", R"(\bghs_[A-Za-z0-9]{30,})"},
    {"ghr_", R"(\bghr_[A-Za-z0-9]{30,})"},
    {"github_pat_", R"(\bgithub_pat_[A-Za-z0-9_]{22,})"},
    {"glpat-", R"(\bglpat-[A-Za-z0-9_.-]{20,})"},
    {"gldt-", R"(\bgldt-[A-Za-z0-9_.-]{20,})"},
    {"glrt-", R"(\bglrt-[A-Za-z0-9_.-]{20,})"},
    {"xox", R"(\bxox[abeoprs]-[A-Za-z0-9-]{10,})"},
    {"xapp-", R"(\bxapp-[A-Za-z0-9-]{10,})"},
    {"AKIA", R"(\bAKIA[A-Z0-9]{16}\b)"},
    {"ASIA", R"(\bASIA[A-Z0-9]{16}\b)"},
    {"eyJ", R"(\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*)"},
    {"-----BEGIN",
     R"(-----BEGIN[A-Z ]* PRIVATE KEY(?: BLOCK)?-----)"
     R"((?:\s|\\+[rnt])*(?:[A-Za-z-]+: [^\n\\]*(?:\n|\\+n))*(?:\s|\\+[rnt])*)"
     // Lines of base64, numbered perhaps; a word that only follows is none.
     R"((?:[0-9]{1,7}[:|]?[ \t])?(?:[A-Za-z0-9+/=]|\\+/){16,})"
     R"((?:(?:\s|\\+[rnt])+(?:[0-9]{1,7}[:|]?[ \t])?(?:[A-Za-z0-9+/=]|\\+/){16,})*)"
     R"((?:(?:\s|\\+[rnt])+(?:[0-9]{1,7}[:|]?[ \t])?(?:[A-Za-z0-9+/]|\\+/){1,14}={1,2})?)"
     R"((?:(?:(?:\s|\\+[rnt])+(?:[0-9]{1,7}[:|]?[ \t])?(?:[A-Za-z0-9+/=]|\\+/){1,15})?)"
     R"((?:\s|\\+[rnt])*(?:[0-9]{1,7}[:|]?[ \t])?-----END[A-Z ]* PRIVATE KEY(?: BLOCK)?-----)?)"},
    {"uthorization",
     R"(((?i:authorization)[\\"']*\s*[:=][ \t]*[\\"']*(?i:(?:bearer|basic|token|apikey)[ \t]+))"
     R"()[A-Za-z0-9._~+/=-]{8,})"},
    // Without a word that says so, a path is none.
    {"uthorization",
     R"(((?i:authorization)[\\"']*\s*[:=][ \t]*[\\"']*)[A-Za-z0-9_+=-][A-Za-z0-9._~+/=-]{19,})"},
    {"UTHORIZATION",
     R"((AUTHORIZATION[\\"']*\s*[:=][ \t]*[\\"']*(?i:(?:bearer|basic|token|apikey)[ \t]+))"
     R"()[A-Za-z0-9._~+/=-]{8,})"},
    {"api-key",
     R"(((?i:api-key)[\\"']*\s*[:=][ \t]*[\\"']*)[A-Za-z0-9_+=-][A-Za-z0-9._~+/=-]{15,})"},
    {"Api-Key",
     R"(((?i:api-key)[\\"']*\s*[:=][ \t]*[\\"']*)[A-Za-z0-9_+=-][A-Za-z0-9._~+/=-]{15,})"},
});

// A header whose value may still go on at the end of a text.
constexpr std::string_view k_open_header =
    R"((?i)(?:authorization|api-key)[\\"']*\s*(?:[:=]\s*[\\"']*(?:[a-z]+\s*)?[a-z0-9._~+/=-]*)?\z)";

constexpr std::size_t pair_index(char first, char second) {
  return static_cast<std::size_t>(static_cast<unsigned char>(first)) << 8 |
         static_cast<unsigned char>(second);
}

RE2::Options options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // any bytes; all patterns are ASCII
  options.set_log_errors(false);
  return options;
}

// RE2 takes its time to compile (about 70 us each): done once in a process, for each shape when a
// text first holds its trigger.
template <std::size_t Shape>
const RE2& compiled() {
  static const RE2 regex(k_shapes[Shape].pattern, options());
  return regex;
}

constexpr auto k_compiled = []<std::size_t... Shape>(std::index_sequence<Shape...>) {
  return std::array{&compiled<Shape>...};
}(std::make_index_sequence<k_shapes.size()>());

using Triggers = std::bitset<k_shapes.size()>;

// Where the pair of bytes stands in a trigger that is rarest in ordinary text: one that is not
// made of small letters alone, or has a z in it; nor of one sign twice, as lines are drawn.
constexpr std::size_t rarest_pair(std::string_view trigger) {
  for (std::size_t at = 0; at + 1 < trigger.size(); ++at) {
    const auto is_rare = [](char c) { return c < 'a' || c > 'y'; };
    if (trigger[at] != trigger[at + 1] && (is_rare(trigger[at]) || is_rare(trigger[at + 1]))) {
      return at;
    }
  }
  return 0;
}

struct PairTable {
  std::array<std::uint32_t, 2'048> bits{};

  constexpr PairTable() {
    for (const Shape& shape : k_shapes) {
      const std::size_t at = rarest_pair(shape.trigger);
      const std::size_t index = pair_index(shape.trigger[at], shape.trigger[at + 1]);
      bits[index / 32] |= 1u << (index % 32);
    }
  }
  constexpr bool has(std::size_t index) const {
    return (bits[index / 32] >> (index % 32) & 1u) != 0;
  }
};
constexpr PairTable k_pairs;

// Which triggers occur. One pass over the text, by pairs of bytes: what every text pays.
Triggers triggers_in(std::string_view text) {
  Triggers found;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (!k_pairs.has(pair_index(text[at], text[at + 1]))) {
      continue;
    }
    for (std::size_t shape = 0; shape < k_shapes.size(); ++shape) {
      const std::string_view trigger = k_shapes[shape].trigger;
      const std::size_t lead = rarest_pair(trigger);
      if (at >= lead && text.substr(at - lead, trigger.size()) == trigger) {
        found.set(shape);
      }
    }
  }
  return found;
}

bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("_.~+/=-%").find(c) != std::string_view::npos;
}

// Of a secret that is out already, as it may be written with escapes.
bool may_go_on(char c) {
  return is_token_char(c) || c == '\\';
}

bool is_key_block_char(char c) {
  return is_token_char(c) || std::string_view(" \t\r\n\\:|").find(c) != std::string_view::npos;
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t context = 0;  // where what makes it a secret begins: the name of a header
};

void find_values(std::string_view text, const KnownValues& values, std::vector<Span>& spans) {
  for (const auto& [begin, length] : values.places_in(text)) {
    spans.push_back({begin, begin + length, begin});
  }
}

// Where the longest end of `text` begins that is the beginning of a value but not all of it.
std::size_t open_value(std::string_view text, const KnownValues& values) {
  return text.size() - values.open_end_of(text);
}

constexpr std::string_view k_cut = "…";
constexpr std::string_view k_left_out = "\n[";  // then the `…`: see head_and_tail()

// A value that was cut: its beginning in front of a `…`, or of the line that says how much was left
// out.
void find_cut_values(std::string_view text, const KnownValues& values, std::vector<Span>& spans) {
  std::size_t begin = 0;
  for (std::size_t cut = text.find(k_cut); cut != std::string_view::npos && !values.is_empty();
       cut = text.find(k_cut, begin)) {
    std::string_view piece = text.substr(begin, cut - begin);
    if (piece.ends_with(k_left_out)) {
      piece.remove_suffix(k_left_out.size());
    }
    if (const std::size_t open = open_value(piece, values);
        piece.size() - open >= k_shortest_redacted) {
      spans.push_back({begin + open, begin + piece.size(), begin + open});
    }
    begin = cut + k_cut.size();
  }
}

void find_shape(std::string_view text, const RE2& regex, std::vector<Span>& spans) {
  std::array<re2::StringPiece, 2> groups;
  const int wanted = 1 + std::min(regex.NumberOfCapturingGroups(), 1);
  std::size_t at = 0;
  while (at < text.size() &&
         regex.Match(
             {text.data(), text.size()}, at, text.size(), RE2::UNANCHORED, groups.data(), wanted)) {
    const auto start = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t kept = wanted > 1 ? groups[1].size() : 0;
    spans.push_back({start + kept, start + groups[0].size(), start});
    at = start + groups[0].size();
  }
}

// Sorted, without overlaps.
std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (!out.empty() && span.begin < out.back().end) {
      out.back().end = std::max(out.back().end, span.end);
      out.back().context = std::min(out.back().context, span.context);
    } else {
      out.push_back(span);
    }
  }
  return out;
}

// Of the text; `before` only tells what its beginning is.
Guesses guesses_in(std::string_view before, std::string_view text) {
  if (before.empty()) {
    return guess_secrets(text);
  }
  Guesses guesses = guess_secrets(std::string(before) + std::string(text), before.size());
  for (Guess& guess : guesses.found) {
    guess = {guess.begin - before.size(), guess.end - before.size()};
  }
  guesses.open -= before.size();
  return guesses;
}

void find_written(std::string_view text, const KnownValues& values, std::vector<Span>& spans) {
  find_values(text, values, spans);
  find_cut_values(text, values, spans);
  const Triggers triggers = triggers_in(text);
  for (std::size_t shape = 0; triggers.any() && shape < triggers.size(); ++shape) {
    if (triggers[shape]) {
      find_shape(text, k_compiled[shape](), spans);
    }
  }
}

// A text without the escapes of JSON, and where its bytes stood before.
struct Unescaped {
  struct Shift {  // from here on, until the next one
    std::size_t place = 0;
    std::size_t was = 0;
  };
  std::string text;
  std::vector<Shift> shifts;

  std::size_t place_before(std::size_t at) const {
    const auto next = std::ranges::upper_bound(shifts, at, {}, &Shift::place);
    return next == shifts.begin() ? at : std::prev(next)->was + (at - std::prev(next)->place);
  }
};

std::string utf8_of(char32_t unit) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (unit < 0x80) {
    return {byte(unit)};
  }
  if (unit < 0x800) {
    return {byte(0xC0 | unit >> 6), byte(0x80 | (unit & 0x3F))};
  }
  return {byte(0xE0 | unit >> 12), byte(0x80 | (unit >> 6 & 0x3F)), byte(0x80 | (unit & 0x3F))};
}

// The code unit that `\uXXXX` at the beginning of the text writes.
std::optional<char32_t> escaped_unit(std::string_view text) {
  std::uint16_t unit = 0;
  const bool is_there = text.size() >= 6 && text.starts_with("\\u");
  const auto [end, error] =
      is_there ? std::from_chars(text.data() + 2, text.data() + 6, unit, 16)
               : std::from_chars_result{.ptr = nullptr, .ec = std::errc::invalid_argument};
  return is_there && error == std::errc() && end == text.data() + 6 ? std::optional<char32_t>(unit)
                                                                    : std::nullopt;
}

constexpr std::string_view k_escapes = "\"\"\\\\//b\bf\fn\nr\rt\t";  // the sign, what it means

// What backslashes at the beginning of the text stand for; they may be escaped in turn, as in JSON
// within JSON.
struct Escape {
  std::size_t bytes = 0;
  std::optional<std::string> means = std::nullopt;  // nullopt: they are no escape
};
Escape escape_at(std::string_view text) {
  const std::size_t slashes = std::min(text.find_first_not_of('\\'), text.size());
  const std::string_view last = text.substr(slashes - 1);
  if (const auto unit = escaped_unit(last)) {
    return {.bytes = slashes + 5, .means = utf8_of(*unit)};
  }
  for (std::size_t at = 0; last.size() > 1 && at < k_escapes.size(); at += 2) {
    if (last[1] == k_escapes[at]) {
      return {.bytes = slashes + 1, .means = std::string(1, k_escapes[at + 1])};
    }
  }
  return {.bytes = slashes};
}

// Whether a character is an escape that no writer of JSON needs, or one that none writes so.
bool has_strange_escape(std::string_view text) {
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos;
       at = text.find("\\u", at + 2)) {
    const auto unit = escaped_unit(text.substr(at));
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'F'; };
    if (unit && ((*unit >= ' ' && *unit < 0x7F) ||
                 std::ranges::any_of(text.substr(at + 2, 4), is_capital))) {
      return true;
    }
  }
  return false;
}

Unescaped unescaped(std::string_view text) {
  Unescaped out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t slash = std::min(text.find('\\', at), text.size());
    out.text += text.substr(at, slash - at);
    at = slash;
    if (at == text.size()) {
      break;
    }
    const Escape escape = escape_at(text.substr(at));
    if (!escape.means) {
      out.text += text.substr(at, escape.bytes);
      at += escape.bytes;
      continue;
    }
    // What is found ends behind an escape, or begins with it, as a whole.
    for (std::size_t byte = 0; byte < escape.means->size(); ++byte) {
      out.shifts.push_back({.place = out.text.size() + byte, .was = at});
    }
    out.text += *escape.means;
    at += escape.bytes;
    out.shifts.push_back({.place = out.text.size(), .was = at});
  }
  return out;
}

// Where the escape begins that the text breaks off in, its backslashes included; the text's size
// where it ends with none, or with a whole one.
std::size_t open_escape(std::string_view text) {
  const std::size_t slash = text.rfind('\\');
  const std::string_view rest = text.substr(std::min(slash, text.size()));
  constexpr std::string_view k_hex = "0123456789abcdefABCDEF";
  const bool is_open = !rest.empty() && rest.size() < 6 && (rest.size() == 1 || rest[1] == 'u') &&
                       (rest.size() < 3 || rest.find_first_not_of(k_hex, 2) == rest.npos);
  return is_open ? text.find_last_not_of('\\', slash) + 1 : text.size();
}

// Of the text as it is written, and as who reads it as JSON has it.
std::vector<Span> secrets_in(std::string_view text,
                             const KnownValues& values,
                             const std::vector<Guess>& guesses = {}) {
  std::vector<Span> spans;
  for (const Guess& guess : guesses) {
    spans.push_back({guess.begin, guess.end, guess.begin});
  }
  find_written(text, values, spans);
  if (has_strange_escape(text)) {
    const Unescaped read = unescaped(text);
    std::vector<Span> found;
    find_written(read.text, values, found);
    for (const Span& span : found) {
      spans.push_back({read.place_before(span.begin),
                       read.place_before(span.end),
                       read.place_before(span.context)});
    }
  }
  return merged(std::move(spans));
}

bool is_worth_hiding(std::string_view value) {
  const bool is_one_char_repeated =
      value.find_first_not_of(value.front()) == std::string_view::npos;
  return value.size() >= k_shortest_redacted && !is_one_char_repeated &&
         std::find(k_common_values.begin(), k_common_values.end(), to_lower(value)) ==
             k_common_values.end();
}

template <std::size_t N>
bool ends_with_word(std::string_view name, const std::array<std::string_view, N>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return name.ends_with(ending) &&
           (name.size() == ending.size() || name[name.size() - ending.size() - 1] == '_');
  });
}

bool names_a_secret(std::string_view variable) {
  std::string name(variable);
  for (char& c : name) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return ends_with_word(name, k_secret_endings) && !ends_with_word(name, k_public_endings);
}

// The password of "scheme://user:password@host", or empty.
std::string_view password_in_url(std::string_view value) {
  const std::size_t scheme = value.find("://");
  if (scheme == std::string_view::npos) {
    return {};
  }
  const std::string_view authority =
      value.substr(scheme + 3, value.find('/', scheme + 3) - scheme - 3);
  const std::size_t at = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  if (at == std::string_view::npos || colon >= at) {
    return {};
  }
  return authority.substr(colon + 1, at - colon - 1);
}

// Adds the ways in which a value may be written, where it is worth hiding.
void put_forms(std::string_view value, std::vector<std::string>& forms) {
  const std::string secret(trimmed(value));
  if (secret.empty() || !is_worth_hiding(secret)) {
    return;
  }
  std::ranges::move(forms_of(secret), std::back_inserter(forms));
  for (const std::string& part : parts_of(secret)) {
    if (is_worth_hiding(part)) {
      std::ranges::move(forms_of(part), std::back_inserter(forms));
    }
  }
}

std::size_t open_word(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0 && is_token_char(text[start - 1])) {
    --start;
  }
  return start;
}

std::size_t open_header(std::string_view text) {
  static const RE2 header(k_open_header, options());
  re2::StringPiece match;
  const bool is_open =
      header.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, &match, 1);
  return is_open ? static_cast<std::size_t>(match.data() - text.data()) : text.size();
}

// A private key whose end has not come, and which nothing has broken off.
std::size_t open_key_block(std::string_view text) {
  constexpr std::string_view k_begin = "-----BEGIN";
  constexpr std::string_view k_dashes = "-----";
  const std::size_t begin = text.rfind(k_begin);
  if (begin == std::string_view::npos) {
    return text.size();
  }
  const std::string_view after = text.substr(begin + k_begin.size());
  const std::size_t title = after.find(k_dashes);
  const bool is_other_block = title != std::string_view::npos && after.find("PRIVATE KEY") > title;
  const std::size_t end = after.find("-----END");
  const bool is_ended =
      end != std::string_view::npos && after.find(k_dashes, end + 1) != std::string_view::npos;
  const bool is_broken = std::any_of(
      after.begin(), after.end(), [](char c) { return !is_key_block_char(c) && c != ','; });
  return is_other_block || is_ended || is_broken ? text.size() : begin;
}

// Where what may become a secret begins at the end of a text, guesses aside.
std::size_t open_end(std::string_view text, const KnownValues& values) {
  std::size_t open = std::min(open_value(text, values), open_word(text));
  if (triggers_in(text).any()) {
    open = std::min({open, open_header(text), open_key_block(text)});
  }
  return open;
}

// The same of the text as who reads it as JSON has it, where that may be another one.
std::size_t open_end_read(std::string_view text, const KnownValues& values) {
  const std::size_t escape = open_escape(text);
  if (escape == text.size() && !has_strange_escape(text)) {
    return text.size();
  }
  const Unescaped read = unescaped(text.substr(0, escape));
  return read.place_before(open_end(read.text, values));
}

}  // namespace

Redactor::Redactor(const Environment& environment) {
  add(environment);
}

void Redactor::add(const Environment& environment) {
  std::vector<std::string> forms;
  for (const auto& [name, value] : environment) {
    put_forms(names_a_secret(name) ? std::string_view(value) : password_in_url(value), forms);
  }
  values_.add(std::move(forms));
}

void Redactor::add_headers(std::span<const std::pair<std::string, std::string>> headers) {
  constexpr std::array<std::string_view, 5> k_words = {"auth", "key", "token", "secret", "cookie"};
  std::vector<std::string> forms;
  for (const auto& [name, value] : headers) {
    const std::string lower = to_lower(name);
    if (std::ranges::any_of(k_words, [&](auto word) { return lower.contains(word); })) {
      put_forms(std::string_view(value).substr(value.rfind(' ') + 1), forms);  // behind "Bearer "
    }
  }
  values_.add(std::move(forms));
}

void Redactor::add(std::string_view value) {
  std::vector<std::string> forms;
  put_forms(value, forms);
  values_.add(std::move(forms));
}

Redactor Redactor::guessing() const {
  Redactor copy = *this;
  copy.guesses_ = true;
  return copy;
}

std::string Redactor::apply(std::string_view text) const {
  return apply({}, text, text.size());
}

// The first `limit` bytes; what follows them is there for the guesses.
std::string Redactor::apply(std::string_view before,
                            std::string_view text,
                            std::size_t limit) const {
  std::vector<Guess> guesses;
  if (guesses_) {
    guesses = guesses_in(before, text).found;
    std::erase_if(guesses, [&](const Guess& guess) { return guess.end > limit; });
  }
  text = text.substr(0, limit);
  std::string out;
  std::size_t done = 0;
  for (const Span& span : secrets_in(text, values_, guesses)) {
    out += text.substr(done, span.begin - done);
    out += k_redacted;
    done = span.end;
  }
  out += text.substr(done);
  return out;
}

bool Redactor::is_clean(std::string_view text) const {
  return secrets_in(text, values_).empty() && (!guesses_ || guess_secrets(text).found.empty());
}

void Redactor::redact(Json& value) const {
  if (value.is_string()) {
    value = apply(value.get_ref<const std::string&>());
  } else if (is_number(value)) {  // whose digits may be a secret; none is guessed in them
    if (const std::string digits = numeral(value); !secrets_in(digits, values_).empty()) {
      value = apply(digits);
    }
  } else if (value.is_structured()) {
    if (value.is_object()) {
      redact_names(value);
    }
    for (auto& member : value) {
      redact(member);
    }
  }
}

// In their order, each with a name of its own still.
void Redactor::redact_names(Json& object) const {
  auto& members = object.get_ref<Json::object_t&>();
  if (std::ranges::all_of(members, [&](const auto& member) { return is_clean(member.first); })) {
    return;
  }
  std::unordered_set<std::string> taken;
  for (const auto& [name, value] : members) {
    taken.insert(name);
  }
  Json::object_t::Container renamed;
  renamed.reserve(members.size());
  std::size_t last = 1;
  for (auto& [name, value] : members) {
    std::string safe = apply(name);
    if (safe != name) {
      const std::string first = safe;
      while (!taken.insert(safe).second) {
        safe = first + '-' + std::to_string(++last);
      }
    }
    renamed.emplace_back(std::move(safe), std::move(value));
  }
  static_cast<Json::object_t::Container&>(members).swap(renamed);
}

std::string Redactor::dump(const Json& value) const {
  return dump(agent::dump(value), [&] { return value; });
}

std::string Redactor::dump(std::string text, const std::function<Json()>& value) const {
  if (is_clean(text)) {
    return text;
  }
  give_up(text);  // it may be large
  Json clean = value();
  redact(clean);
  return agent::dump(clean);
}

std::size_t Redactor::most_kept_back() const {
  return std::max(k_longest_kept_back, values_.longest());
}

std::size_t Redactor::settled(std::string_view before, std::string_view text) const {
  std::size_t hold = std::min(open_end(text, values_), open_end_read(text, values_));
  Guesses guesses;
  if (guesses_) {
    guesses = guesses_in(before, text);
    hold = std::min(hold, guesses.open);
  }
  const std::size_t most = most_kept_back();
  const bool is_too_long = text.size() - hold > most;
  if (is_too_long) {
    hold = text.size() - most;
  }
  for (const Span& span : secrets_in(text, values_, guesses.found)) {
    if (span.context < hold && hold < span.end) {
      return is_too_long ? span.end : span.context;
    }
  }
  return hold;
}

std::string StreamRedactor::feed(std::string_view piece) {
  if (inside_ != Inside::nothing) {
    const auto belongs = inside_ == Inside::token ? may_go_on : is_key_block_char;
    const auto* const rest = std::find_if_not(piece.begin(), piece.end(), belongs);
    piece.remove_prefix(static_cast<std::size_t>(rest - piece.begin()));
    if (piece.empty()) {
      return {};
    }
    inside_ = Inside::nothing;
  }
  pending_ += piece;
  const std::size_t word = piece.size() - open_word(piece);
  word_ = word == piece.size() ? word_ + word : word;
  // All of it is one word that goes on: nothing is settled.
  if (word_ >= pending_.size() && pending_.size() <= redactor_.most_kept_back()) {
    return {};
  }
  const std::size_t cut = redactor_.settled(before_, pending_);
  std::string out = redactor_.apply(before_, pending_, cut);
  move_on(go_inside(cut, out));
  return out;
}

// A secret that is out before its end has come: how much goes with it, the line that it breaks off
// in included.
std::size_t StreamRedactor::go_inside(std::size_t cut, std::string_view out) {
  if (cut <= k_longest_kept_back || !out.ends_with(k_redacted)) {
    return cut;
  }
  const bool is_key = pending_.find("-----BEGIN") < cut;
  const std::string_view rest = std::string_view(pending_).substr(cut);
  if (!std::ranges::all_of(rest, is_key ? is_key_block_char : may_go_on)) {
    return cut;
  }
  inside_ = is_key ? Inside::key_block : Inside::token;
  return pending_.size();
}

void StreamRedactor::move_on(std::size_t count) {
  before_ += std::string_view(pending_).substr(0, count);
  before_.erase(0, before_.size() - std::min(before_.size(), k_guess_context));
  pending_.erase(0, count);
  word_ = std::min(word_, pending_.size());
}

std::string StreamRedactor::break_off() {
  std::string rest = feed(k_cut);
  rest += finish();
  if (rest.ends_with(k_cut)) {
    rest.erase(rest.size() - k_cut.size());
  }
  return rest;
}

std::string StreamRedactor::finish() {
  std::string out = redactor_.apply(before_, pending_, pending_.size());
  pending_.clear();
  word_ = 0;
  before_.clear();
  inside_ = Inside::nothing;
  return out;
}

}  // namespace agent

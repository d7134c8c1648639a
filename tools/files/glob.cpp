#include "tools/files/glob.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::Result;

constexpr std::size_t k_max_pattern = 4'096;  // bytes
constexpr std::size_t k_max_braces = 16;      // nested
// Stands for the dot that hides a name, so that no wildcard can match it: U+FDD0, no character.
constexpr std::string_view k_hidden = "\xEF\xB7\x90";
constexpr char32_t k_before_slash = U'.';
constexpr char32_t k_after_slash = U'0';
constexpr std::string_view k_any = "[^/\\x{FDD0}]";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  Result<std::string> translate() {
    while (!rest_.empty()) {
      TRY(step());
    }
    if (!braces_.empty()) {
      return wrong("a `{` has no `}`");
    }
    return std::move(regex_);
  }

 private:
  std::unexpected<agent::Error> wrong(std::string_view what) const {
    return agent::fail(Code::tool_invalid_parameters,
                       fmt::format("the glob pattern is not valid: {}", what),
                       "Patterns know * ? [a-z] [!a-z] {a,b} ** and \\ before a character that "
                       "stands for itself.");
  }

  Result<void> step() {
    const char next = rest_.front();
    switch (next) {
      case '*':
        return star();
      case '?':
        take(1);
        return put(k_any);
      case '[':
        return char_class();
      case '{':
        return open_brace();
      case ',':
        if (!braces_.empty()) {
          return next_alternative();
        }
        return literal();
      case '}':
        if (!braces_.empty()) {
          return close_brace();
        }
        return literal();
      case '\\':
        take(1);
        if (rest_.empty()) {
          return wrong("it ends in `\\`");
        }
        return literal();
      default:
        return literal();
    }
  }

  void take(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    at_name_ = false;
  }

  Result<void> put(std::string_view regex) {
    regex_ += regex;
    star_before_ = false;
    return {};
  }

  // A dot that an empty `*` could bring to the front of a name must not match a hidden one.
  Result<void> literal() {
    const std::size_t size = character_size(rest_);
    const std::string_view character = rest_.substr(0, size);
    take(size);
    if (character == ".") {
      return put(star_before_ ? "\\." : "[.\\x{FDD0}]");
    }
    at_name_ = character == "/";
    return put(RE2::QuoteMeta(re2::StringPiece(character.data(), character.size())));
  }

  Result<void> star() {
    const std::size_t stars = std::min(rest_.find_first_not_of('*'), rest_.size());
    const std::string_view ends = braces_.empty() ? "/" : "/,}";
    const bool ends_name = stars == rest_.size() || ends.contains(rest_[stars]);
    if (stars >= 2 && at_name_ && ends_name) {
      return folders(stars);
    }
    take(stars);
    regex_ += fmt::format("{}*", k_any);
    star_before_ = true;
    return {};
  }

  Result<void> folders(std::size_t stars) {
    take(stars);
    if (!rest_.starts_with('/')) {
      return put(fmt::format("{0}+(?:/{0}+)*", k_any));
    }
    take(1);
    at_name_ = true;
    return put(fmt::format("(?:{}+/)*", k_any));
  }

  Result<void> open_brace() {
    if (braces_.size() == k_max_braces) {
      return wrong("too many nested braces");
    }
    braces_.push_back({.at_name = at_name_, .star_at_start = star_before_, .star_at_end = false});
    take(1);
    at_name_ = braces_.back().at_name;
    regex_ += "(?:";
    return {};
  }

  Result<void> next_alternative() {
    take(1);
    Brace& brace = braces_.back();
    brace.star_at_end = brace.star_at_end || star_before_;
    star_before_ = brace.star_at_start;
    at_name_ = brace.at_name;
    regex_ += '|';
    return {};
  }

  Result<void> close_brace() {
    take(1);
    star_before_ = star_before_ || braces_.back().star_at_end;
    braces_.pop_back();
    regex_ += ')';
    return {};
  }

  // `[…]` never matches a `/`: a range across it is cut in two.
  Result<void> char_class() {
    take(1);
    const bool negated = rest_.starts_with('!') || rest_.starts_with('^');
    if (negated) {
      take(1);
    }
    std::string members;
    for (bool first = true; first || !rest_.starts_with(']'); first = false) {
      if (rest_.empty()) {
        return wrong("a `[` has no `]`");
      }
      TRY(add_member(members));
    }
    take(1);
    if (negated) {
      return put(fmt::format("[^/\\x{{FDD0}}{}]", members));
    }
    return put(members.empty() ? "[^\\x{0}-\\x{10FFFF}]" : fmt::format("[{}]", members));
  }

  Result<void> add_member(std::string& members) {
    const char32_t low = take_character();
    char32_t high = low;
    if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
      take(1);
      high = take_character();
    }
    if (high < low) {
      return wrong("a range in `[…]` runs backwards");
    }
    add_range(members, low, std::min(high, k_before_slash));
    add_range(members, std::max(low, k_after_slash), high);
    return {};
  }

  static void add_range(std::string& members, char32_t low, char32_t high) {
    if (low <= high) {
      members += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}",
                             static_cast<std::uint32_t>(low),
                             static_cast<std::uint32_t>(high));
    }
  }

  static std::size_t character_size(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return std::min(size, text.size());
  }

  // The pattern is valid UTF-8.
  char32_t take_character() {
    if (rest_.size() > 1 && rest_.front() == '\\') {
      take(1);
    }
    const std::size_t size = character_size(rest_);
    auto value = static_cast<char32_t>(static_cast<unsigned char>(rest_.front()));
    if (size > 1) {
      value &= (1u << (7 - size)) - 1;
      for (const char byte : rest_.substr(1, size - 1)) {
        value = value << 6 | (static_cast<unsigned char>(byte) & 0x3Fu);
      }
    }
    take(size);
    return value;
  }

  struct Brace {
    bool at_name;
    bool star_at_start;
    bool star_at_end;
  };

  std::string_view rest_;
  std::string regex_;
  std::vector<Brace> braces_;  // those that are open
  bool star_before_ = false;
  bool at_name_ = true;
};

// The path with the dot of each hidden name marked.
std::string with_marks(std::string_view path) {
  std::string marked;
  bool at_name = true;
  for (const char byte : path) {
    if (at_name && byte == '.') {
      marked += k_hidden;
    } else {
      marked += byte;
    }
    at_name = byte == '/';
  }
  return agent::to_valid_utf8(marked);
}

bool spells_hidden(std::string_view pattern) {
  char before = '/';
  for (const char byte : pattern) {
    if (byte == '.' && (before == '/' || before == '{' || before == ',' || before == '\\')) {
      return true;
    }
    before = byte;
  }
  return false;
}

std::optional<std::size_t> count_names(std::string_view pattern) {
  if (pattern.find("**") != std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(std::ranges::count(pattern, '/')) + 1;
}

}  // namespace

Glob::Glob() = default;
Glob::Glob(Glob&&) noexcept = default;
Glob& Glob::operator=(Glob&&) noexcept = default;
Glob::~Glob() = default;

Result<Glob> Glob::compile(std::string_view pattern, Options how) {
  while (pattern.starts_with("./")) {
    pattern.remove_prefix(2);
  }
  if (pattern.empty() || pattern.size() > k_max_pattern) {
    return agent::fail(Code::tool_invalid_parameters,
                       pattern.empty() ? "the glob pattern is empty"
                                       : "the glob pattern is longer than 4,096 bytes",
                       "Give a pattern like `**/*.cpp`.");
  }
  TRY_ASSIGN(const std::string regex, Translator(pattern).translate());
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_case_sensitive(!how.ignore_case);
  Glob glob;
  glob.expression_ = std::make_unique<RE2>(regex, options);
  if (!glob.expression_->ok()) {
    return agent::fail(
        Code::tool_invalid_parameters,
        fmt::format("the glob pattern cannot be used: {}", glob.expression_->error()),
        "Use a shorter pattern.");
  }
  glob.names_hidden_ = how.hidden || spells_hidden(pattern);
  glob.marks_hidden_ = !how.hidden;
  glob.max_names_ = count_names(pattern);
  return glob;
}

bool Glob::matches(std::string_view path) const {
  return RE2::FullMatch(marks_hidden_ ? with_marks(path) : agent::to_valid_utf8(path),
                        *expression_);
}

SplitPattern split_pattern(std::string_view pattern) {
  const std::size_t wild = std::min(pattern.find_first_of("*?[{\\"), pattern.size());
  const std::size_t cut = pattern.substr(0, wild).rfind('/');
  if (cut == std::string_view::npos || cut + 1 == pattern.size()) {
    return {.folder = "", .rest = std::string(pattern)};
  }
  return {.folder = std::string(cut == 0 ? "/" : pattern.substr(0, cut)),
          .rest = std::string(pattern.substr(cut + 1))};
}

}  // namespace tools

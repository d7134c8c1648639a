#include "cli/terminal/render_error.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace cli {
namespace {

constexpr std::string_view k_bold_red = "1;31";
constexpr std::string_view k_bold_yellow = "1;33";
constexpr std::string_view k_blue = "1;34";
constexpr std::string_view k_bold = "1";

// A long line is shown around the place that is meant.
constexpr std::size_t k_before = 60;
constexpr std::size_t k_after = 60;

// The first and last of each range of characters that take two columns of a terminal.
constexpr auto k_wide = std::to_array<std::pair<char32_t, char32_t>>({{0x1100, 0x115F},
                                                                      {0x2E80, 0x303E},
                                                                      {0x3041, 0x33FF},
                                                                      {0x3400, 0x4DBF},
                                                                      {0x4E00, 0x9FFF},
                                                                      {0xA000, 0xA4CF},
                                                                      {0xAC00, 0xD7A3},
                                                                      {0xF900, 0xFAFF},
                                                                      {0xFE30, 0xFE6F},
                                                                      {0xFF00, 0xFF60},
                                                                      {0xFFE0, 0xFFE6},
                                                                      {0x1F300, 0x1F64F},
                                                                      {0x1F680, 0x1F6FF},
                                                                      {0x1F900, 0x1F9FF},
                                                                      {0x20000, 0x3FFFD}});
// And those that take none: they sit on the character before them.
constexpr auto k_combining = std::to_array<std::pair<char32_t, char32_t>>(
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}});

bool is_in(char32_t character, auto const& ranges) {
  return std::ranges::any_of(ranges, [&](const auto& range) {
    return character >= range.first && character <= range.second;
  });
}

// The characters of valid UTF-8, each with its bytes.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && agent::is_continuation(text[end])) {
      ++end;
    }
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

char32_t decoded(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  char32_t value = lead < 0x80   ? lead
                   : lead < 0xE0 ? lead & 0x1F
                   : lead < 0xF0 ? lead & 0xF
                                 : lead & 7;
  for (const char byte : character.substr(1)) {
    value = (value << 6) | (static_cast<unsigned char>(byte) & 0x3F);
  }
  return value;
}

std::size_t width(std::string_view character, std::string_view shown) {
  if (shown != character) {  // a control character made visible
    return shown.size();
  }
  const char32_t value = decoded(character);
  return is_in(value, k_combining) ? 0 : is_in(value, k_wide) ? 2 : 1;
}

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(std::string_view style, std::string_view text) const {
    return cli::paint(style, text, color_);
  }

 private:
  bool color_;
};

constexpr std::size_t k_longest_words = 4'000;  // bytes, as the next
constexpr std::size_t k_longest_fact = 200;

// What a stranger wrote stands in it: it writes no line of its own.
std::string clean(std::string_view text) {
  return agent::one_line(agent::to_valid_utf8(text), k_longest_words);
}

// The differences to a recording are lines of ours, in which the values are written as JSON.
std::string clean_message(const agent::Error& error) {
  return error.code == agent::Code::replay_miss
             ? agent::printable(agent::to_valid_utf8(error.message))
             : clean(error.message);
}

// The lines after the first one are moved under it.
std::string hanging(std::string text, std::size_t indent) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, indent, ' ');
  }
  return text;
}

struct Snippet {
  std::string line;
  std::string padding;  // what stands before the caret
  std::string caret;
};

// The caret stands under the place whatever is left of it: tabs stay tabs, a wide character is two
// columns.
Snippet snippet(const agent::Where& where) {
  const std::string excerpt = agent::to_valid_utf8(where.excerpt);
  const auto parts = characters(excerpt);
  const std::size_t begin =
      std::min(static_cast<std::size_t>(std::max(where.column - 1, 0)), parts.size());
  const std::size_t end =
      std::max(begin + 1,
               std::min(begin + static_cast<std::size_t>(std::max(where.length, 1)), parts.size()));
  const std::size_t first = begin > k_before ? begin - k_before : 0;
  const std::size_t last = std::min(parts.size(), begin + k_after);
  Snippet snippet;
  if (first > 0) {
    snippet.line = "…";
    snippet.padding = " ";
  }
  for (std::size_t at = first; at < last; ++at) {
    const std::string shown = agent::printable(parts[at]);
    const std::size_t columns = width(parts[at], shown);
    snippet.line += shown;
    if (at < begin) {
      snippet.padding += parts[at] == "\t" ? "\t" : std::string(columns, ' ');
    } else if (at < end) {
      snippet.caret += std::string(columns, '^');
    }
  }
  if (last < parts.size()) {
    snippet.line += "…";
  }
  if (snippet.caret.empty()) {
    snippet.caret = "^";
  }
  return snippet;
}

std::string place(const agent::Where& where) {
  std::string text = clean(where.file);
  if (where.line > 0) {
    text += fmt::format(":{}", where.line);
  }
  if (where.line > 0 && where.column > 0) {
    text += fmt::format(":{}", where.column);
  }
  return text;
}

std::string source_lines(const agent::Where& where,
                         std::size_t gutter,
                         std::string_view style,
                         const Painter& paint) {
  const std::string margin(gutter, ' ');
  std::string text = fmt::format("\n {}{} {}", margin, paint(k_blue, "-->"), place(where));
  if (where.line == 0 || where.excerpt.empty()) {
    return text;
  }
  const std::string bar = paint(k_blue, "|");
  const Snippet shown = snippet(where);
  text += fmt::format("\n {} {}", margin, bar);
  text += fmt::format("\n {} {} {}", paint(k_blue, std::to_string(where.line)), bar, shown.line);
  if (where.column > 0) {
    text += fmt::format("\n {} {} {}{}", margin, bar, shown.padding, paint(style, shown.caret));
  }
  return text;
}

// What an operator needs to find the failed call in somebody else's logs.
std::string provider_facts(const agent::Error& error) {
  std::vector<std::string> facts;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) {
      facts.push_back(fmt::format("{}{}", label, agent::one_line(value, k_longest_fact)));
    }
  };
  add("", error.provider);
  add("model ", error.model);
  add("HTTP ", error.http_status == 0 ? "" : std::to_string(error.http_status));
  add("request ", error.request_id);
  if (error.attempts > 0) {
    facts.push_back(fmt::format("{} attempt{}", error.attempts, error.attempts == 1 ? "" : "s"));
  }
  if (error.retry_after) {
    facts.push_back("try again in " + agent::format_duration(*error.retry_after));
  }
  return fmt::format("{}", fmt::join(facts, ", "));
}

// The title line is `kind`, painted; `advice` is the help where the error has none of its own.
struct Frame {
  std::string kind;
  std::string_view style;
  std::string_view advice;
};

// Before anything is cut or escaped: then a secret is no longer known.
agent::Error without_secrets(agent::Error error, const agent::Redactor& redactor) {
  std::vector<std::string*> texts = {
      &error.message, &error.help, &error.provider, &error.model, &error.request_id};
  std::ranges::transform(
      error.context, std::back_inserter(texts), [](auto& text) { return &text; });
  if (error.where) {
    texts.insert(texts.end(), {&error.where->file, &error.where->excerpt});
  }
  if (error.cause) {
    texts.push_back(&error.cause->message);
  }
  for (std::string* text : texts) {
    *text = redactor.apply(*text);
  }
  return error;
}

std::string render_in(const Frame& frame, const agent::Error& error, bool color) {
  const Painter paint(color);
  const std::size_t gutter =
      error.where && error.where->line > 0 ? std::to_string(error.where->line).size() : 1;
  std::string text = fmt::format("{}: {}",
                                 paint(frame.style, frame.kind),
                                 paint(k_bold, hanging(clean_message(error), gutter + 4)));
  if (error.where) {
    text += source_lines(*error.where, gutter, frame.style, paint);
  }
  const auto note = [&](std::string_view label, std::string_view words) {
    text += fmt::format("\n {} {} {}: {}",
                        std::string(gutter, ' '),
                        paint(k_blue, "="),
                        paint(k_bold, label),
                        clean(words));
  };
  for (const std::string& doing : error.context) {
    note("while", doing);
  }
  if (error.cause) {
    note("cause", fmt::format("{}: {}", agent::row(error.cause->code).name, error.cause->message));
  }
  if (const std::string facts = provider_facts(error); !facts.empty()) {
    note("call", facts);
  }
  if (const std::string_view help = error.help.empty() ? frame.advice : error.help; !help.empty()) {
    note("help", help);
  }
  return text;
}

}  // namespace

std::string render(const agent::Error& error, bool color, const agent::Redactor& redactor) {
  const agent::CodeRow& row = agent::row(error.code);
  return render_in(
      {.kind = fmt::format("error[{}]", row.name), .style = k_bold_red, .advice = row.advice},
      without_secrets(error, redactor),
      color);
}

std::string render_warning(const agent::Error& warning,
                           bool color,
                           const agent::Redactor& redactor) {
  return render_in({.kind = "warning", .style = k_bold_yellow, .advice = {}},
                   without_secrets(warning, redactor),
                   color);
}

std::string paint(std::string_view style, std::string_view text, bool color) {
  return color && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

}  // namespace cli

#include "cli/terminal/markdown.h"

#include "agent/text.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/markdown_table.h"
#include "cli/terminal/render_error.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace cli {
namespace {

constexpr std::string_view k_title = "1;35";
constexpr std::string_view k_strong = "1";
constexpr std::string_view k_faint = "2";
constexpr std::string_view k_emphasis = "3";
constexpr std::string_view k_struck = "9";
constexpr std::string_view k_code = "36";
constexpr std::string_view k_link = "4";
constexpr std::string_view k_code_indent = "  ";

constexpr std::size_t k_longest_span = 500;  // bytes; what is longer is no emphasis
constexpr int k_deepest_span = 4;
constexpr std::size_t k_rule_columns = 60;
constexpr std::size_t k_table_bytes = 64u << 10;
constexpr std::size_t k_longest_opening = 200;     // bytes by which it is known what a line is
constexpr std::size_t k_longest_held = 16u << 10;  // of a line that is to be whole

bool is_blank_byte(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}
bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}
bool is_punctuation(char c) {
  return std::ispunct(static_cast<unsigned char>(c)) != 0;
}

std::size_t run_length(std::string_view text, char c) {
  return std::min(text.find_first_not_of(c), text.size());
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
}

// --- *** ___
bool is_rule(std::string_view line) {
  const std::string_view text = agent::trimmed(line);
  return text.size() >= 3 && std::string_view("-*_").contains(text.front()) &&
         run_length(text, text.front()) == text.size();
}

bool is_fence(std::string_view text) {
  return text.starts_with("~~~") ||
         (text.starts_with("```") && !text.substr(run_length(text, '`')).contains('`'));
}

std::string with_style(std::string_view style, std::string_view more) {
  return style.empty() ? std::string(more) : std::string(style) + ";" + std::string(more);
}

// Where the run of `length` marks that ends a span stands; npos: not in `text`.
std::size_t closing(std::string_view text, char mark, std::size_t length) {
  for (std::size_t at = text.find(mark); at != std::string_view::npos;) {
    const std::size_t run = run_length(text.substr(at), mark);
    const bool closes_code = mark == '`' && run == length;
    const char behind = at + run < text.size() ? text[at + run] : ' ';
    const bool closes_span = mark != '`' && run >= length && at > 0 &&
                             !is_blank_byte(text[at - 1]) && text[at - 1] != '\\' &&
                             (mark != '_' || !is_word_byte(behind));
    if (closes_code || (closes_span && (run == length || run == 3))) {  // 3: of two spans at once
      return at + run - length;
    }
    at = text.find(mark, at + run);
  }
  return std::string_view::npos;
}

struct Link {
  std::string_view text;
  std::string_view target;
  std::size_t length = 0;
};

// [text](target), or with a ! in front. nullopt: `text` begins with no whole one.
std::optional<Link> link_at(std::string_view text) {
  const std::size_t open = text.starts_with('!') ? 2 : 1;
  const std::size_t close = text.find("](");
  if (close == std::string_view::npos || close != text.find(']')) {
    return std::nullopt;
  }
  int depth = 1;
  for (std::size_t at = close + 2; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0) {
      return Link{.text = text.substr(open, close - open),
                  .target = text.substr(close + 2, at - close - 2),
                  .length = at + 1};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string MarkdownSetter::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    add(text.substr(0, end), end != std::string_view::npos);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return wrap_.take();
}

std::string MarkdownSetter::finish() {
  if (!line_.empty() || wrap_.is_in_line()) {
    add("", true);
  }
  set_table();
  fence_ = {};
  return wrap_.take();
}

void MarkdownSetter::add(std::string_view piece, bool ends_line) {
  line_ += piece;
  if (!wrap_.is_in_line() && !open_line(ends_line)) {
    return;
  }
  if (wrap_.is_in_line()) {
    set_text(ends_line);
    if (ends_line) {
      end_text();
    }
  }
}

// False: what the line is cannot be said yet. One that is set as a whole leaves no line open.
bool MarkdownSetter::open_line(bool is_whole) {
  const bool is_too_long = line_.size() > k_longest_held;
  if (needs_whole_line(line_) && (is_whole || !is_too_long)) {
    if (is_whole) {
      set_whole_line(std::exchange(line_, {}));
    }
    return is_whole;
  }
  constexpr std::size_t k_longest_mark = 12;  // indent not counted
  const std::string_view text = without_indent(line_);
  const bool may_be_mark =
      text.empty() || std::string_view("#>-+*_~`|0123456789").contains(text.front());
  if (!is_whole && may_be_mark && text.size() < k_longest_mark &&
      line_.size() <= k_longest_opening) {
    return false;
  }
  set_table();
  wrap_.set_columns(columns_());
  const Opening line = opening(line_);
  wrap_.begin(line.first, line.next);
  style_ = line.style;
  before_ = ' ';
  line_.erase(0, line.length);
  return true;
}

bool MarkdownSetter::needs_whole_line(std::string_view line) const {
  if (fence_.mark != 0) {
    return true;
  }
  // Asked at each piece: only so far back does it look.
  const std::string_view text = without_indent(line.substr(0, k_longest_opening));
  if (text.starts_with('|') || text.starts_with("~~~")) {
    return true;
  }
  return line.size() <= k_longest_opening &&
         (is_fence(text) || is_rule(text) || agent::trimmed(text).empty());
}

void MarkdownSetter::set_whole_line(std::string_view line) {
  const std::string_view text = without_indent(line);
  if (fence_.mark != 0) {
    const std::size_t run = run_length(text, fence_.mark);
    if (run >= fence_.length && agent::trimmed(text.substr(run)).empty()) {
      fence_ = {};
    } else {
      set_code(line);
    }
    return;
  }
  if (text.starts_with('|')) {
    table_.emplace_back(text);
    table_bytes_ += text.size();
    if (table_bytes_ > k_table_bytes) {
      set_table();
    }
    return;
  }
  set_table();
  if (is_fence(text)) {
    fence_ = {.mark = text.front(), .length = run_length(text, text.front())};
  } else if (is_rule(text)) {
    const std::size_t width = columns_();
    std::string rule;
    for (std::size_t at = 0; at < (width == 0 ? k_rule_columns : std::min(width, k_rule_columns));
         ++at) {
      rule += "─";
    }
    wrap_.put_line(paint(k_faint, rule, true));
  } else {
    wrap_.put_line("");
  }
}

// As it is: whoever copies it wants its lines.
void MarkdownSetter::set_code(std::string_view line) {
  wrap_.put_line(std::string(line.empty() ? "" : k_code_indent) + paint(k_code, line, true));
}

MarkdownSetter::Opening MarkdownSetter::opening(std::string_view line) {
  const std::string_view text = without_indent(line);
  const std::size_t indent = line.size() - text.size();
  const std::string margin(line.substr(0, indent));
  if (const std::size_t level = run_length(text, '#');
      level >= 1 && level <= 6 && level < text.size() && text[level] == ' ') {
    return {.length = indent + level + 1,
            .first = {},
            .next = {},
            .style = level == 1 ? k_title : k_strong};
  }
  if (text.starts_with('>')) {
    const std::string bar = margin + paint(k_faint, "│", true) + " ";
    return {.length = indent + (text.starts_with("> ") ? 2 : 1),
            .first = bar,
            .next = bar,
            .style = {}};
  }
  if (text.size() >= 2 && std::string_view("-*+").contains(text.front()) && text[1] == ' ') {
    const std::string_view rest = text.substr(2);
    const bool is_box =
        rest.starts_with("[ ] ") || rest.starts_with("[x] ") || rest.starts_with("[X] ");
    const std::string_view mark = !is_box ? "•" : rest[1] == ' ' ? "☐" : "☑";
    return {.length = indent + (is_box ? 6 : 2),
            .first = margin + std::string(mark) + " ",
            .next = margin + "  ",
            .style = {}};
  }
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits >= 1 && digits <= 9 && digits + 1 < text.size() &&
      (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ') {
    return {.length = indent + digits + 2,
            .first = margin + std::string(text.substr(0, digits + 2)),
            .next = margin + std::string(digits + 2, ' '),
            .style = {}};
  }
  return {.length = indent, .first = margin, .next = margin, .style = {}};
}

// As far as it is settled; to its end where the line is whole.
void MarkdownSetter::set_text(bool is_whole) {
  std::string_view rest = line_;
  while (!rest.empty()) {
    const std::size_t length = set_next(rest, style_, is_whole, 0);
    if (length == 0) {
      break;
    }
    before_ = rest[length - 1];
    rest.remove_prefix(length);
  }
  line_.erase(0, line_.size() - rest.size());
  if (redactor_ != nullptr && !is_whole) {
    put_settled(redactor_->settled(shown_));
  }
}

// Marks that fall away may put a secret together that was none in the Markdown.
void MarkdownSetter::put(std::string_view text, std::string_view style) {
  if (redactor_ == nullptr) {
    wrap_.put(text, style);
    return;
  }
  shown_ += text;
  if (!styles_.empty() && styles_.back().style == style) {
    styles_.back().length += text.size();
  } else {
    styles_.push_back({.length = text.size(), .style = std::string(style)});
  }
}

// What is settled; where a secret is in it, it has no styles.
void MarkdownSetter::put_settled(std::size_t count) {
  if (count == 0) {
    return;
  }
  const std::string text = shown_.substr(0, count);
  shown_.erase(0, count);
  const bool is_clean = redactor_->is_clean(text);
  std::size_t at = 0;
  for (auto run = styles_.begin(); at < count; run = styles_.begin()) {
    const std::size_t length = std::min(run->length, count - at);
    if (is_clean) {
      wrap_.put(std::string_view(text).substr(at, length), run->style);
    }
    at += length;
    run->length -= length;
    if (run->length == 0) {
      styles_.pop_front();
    }
  }
  if (!is_clean) {
    wrap_.put(redactor_->apply(text), style_);
  }
}

void MarkdownSetter::end_text() {
  put_settled(shown_.size());
  wrap_.end();
}

void MarkdownSetter::set_inline(std::string_view text, std::string_view style, int depth) {
  const char outside = std::exchange(before_, ' ');
  while (!text.empty()) {
    const std::size_t length = set_next(text, style, true, depth);
    before_ = text[length - 1];
    text.remove_prefix(length);
  }
  before_ = outside;
}

// Puts what the text begins with, and says how long that is; 0: that depends on what comes.
std::size_t MarkdownSetter::set_next(std::string_view text,
                                     std::string_view style,
                                     bool is_whole,
                                     int depth) {
  constexpr std::string_view k_marks = "\\`*_~[!";
  if (const std::size_t plain = std::min(text.find_first_of(k_marks), text.size()); plain > 0) {
    put(text.substr(0, plain), style);
    return plain;
  }
  const char mark = text.front();
  const bool may_go_on = !is_whole && text.size() <= k_longest_span;
  const std::string_view window = text.substr(0, k_longest_span);
  const auto as_it_is = [&](std::size_t length) {
    put(text.substr(0, length), style);
    return length;
  };
  if (mark == '\\') {
    if (text.size() == 1 && may_go_on) {
      return 0;
    }
    if (text.size() == 1 || !is_punctuation(text[1])) {
      return as_it_is(1);
    }
    put(text.substr(1, 1), style);
    return 2;
  }
  if (mark == '[' || mark == '!') {
    const std::size_t open = mark == '!' ? 1 : 0;
    if (open < text.size() && text[open] != '[') {
      return as_it_is(1);
    }
    if (const auto link = depth < k_deepest_span ? link_at(window) : std::nullopt) {
      set_inline(link->text, with_style(style, k_link), depth + 1);
      if (!link->target.empty() && link->target != link->text && !link->target.starts_with('#')) {
        put(" (", style);
        put(link->target, with_style(style, k_faint));
        put(")", style);
      }
      return link->length;
    }
    const std::size_t close = window.find(']');
    const bool is_no_link =
        close != std::string_view::npos && close + 1 < window.size() && window[close + 1] != '(';
    return may_go_on && !is_no_link ? 0 : as_it_is(open + (open < text.size() ? 1 : 0));
  }
  const std::size_t run = run_length(window, mark);
  if (run == text.size() && may_go_on) {
    return 0;
  }
  const char behind = run < text.size() ? text[run] : ' ';
  const bool opens =
      mark == '`'   ? true
      : mark == '~' ? run == 2 && !is_blank_byte(behind)
                    : run <= 3 && !is_blank_byte(behind) && (mark != '_' || !is_word_byte(before_));
  if (!opens || depth >= k_deepest_span) {
    return as_it_is(run);
  }
  const std::string_view inside = window.substr(run);
  const std::size_t end = closing(inside, mark, run);
  // A mark at the very end may be the beginning of a longer one.
  const bool is_settled = end != std::string_view::npos && end + run < inside.size();
  if (!is_settled && may_go_on) {
    return 0;
  }
  if (end == std::string_view::npos) {
    return as_it_is(run);
  }
  if (mark == '`') {
    std::string_view code = inside.substr(0, end);
    if (code.size() > 2 && code.front() == ' ' && code.back() == ' ') {
      code = code.substr(1, code.size() - 2);
    }
    put(code, with_style(style, k_code));
  } else {
    const std::string_view more = mark == '~' ? k_struck
                                  : run == 1  ? k_emphasis
                                  : run == 2  ? k_strong
                                              : "1;3";
    set_inline(inside.substr(0, end), with_style(style, more), depth + 1);
  }
  return run + end + run;
}

void MarkdownSetter::set_table() {
  if (table_.empty()) {
    return;
  }
  table_bytes_ = 0;
  const std::size_t columns = columns_();
  const auto lines = std::exchange(table_, {});
  const auto cell_text = [&](std::string_view cell, std::size_t width, std::string_view style) {
    WordWrap outside = std::exchange(wrap_, {});
    wrap_.set_columns(width);
    wrap_.begin("", "");
    set_inline(cell, style, 0);
    end_text();
    std::string text = wrap_.take();
    wrap_ = std::move(outside);
    return text;
  };
  for (const std::string& line : table_lines(lines, columns, cell_text)) {
    wrap_.put_line(line);
  }
}

}  // namespace cli

#include "cli/manual/plain.h"

#include "agent/text.h"
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cli::mdoc {
namespace {

constexpr std::size_t k_columns = 80;
constexpr std::size_t k_step = 4;  // of indentation
constexpr std::size_t k_longest_piece = 68;
constexpr std::string_view k_hard_space = "\u00a0";

// ---- a line ----

// What stands for a character: `\-`, `\(dq`.
struct Escape {
  std::string_view mdoc;
  std::string_view means;
};
constexpr auto k_escapes = std::to_array<Escape>({
    {"\\-", "-"},
    {"\\e", "\\"},
    {"\\&", ""},
    {"\\(dq", "\""},
    {"\\(aq", "'"},
    {"\\ ", k_hard_space},
});

std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto escape = std::ranges::find_if(
        k_escapes, [&](const Escape& one) { return text.starts_with(one.mdoc); });
    if (escape != k_escapes.end()) {
      plain += escape->means;
      text.remove_prefix(escape->mdoc.size());
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

// What is in quotes is an example or a key: on one line, where it fits.
std::string in_one_piece(std::string_view text) {
  std::string piece;
  for (const char byte : unescaped(text)) {
    piece +=
        byte == ' ' && text.size() <= k_longest_piece ? k_hard_space : std::string_view(&byte, 1);
  }
  return piece;
}

struct Token {
  std::string_view text;
  bool quoted = false;  // neither a macro nor punctuation then
};

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) {
      return tokens;
    }
    const bool quoted = line.front() == '"';
    std::size_t end = quoted ? line.find('"', 1) : line.find(' ');
    while (!quoted && end != std::string_view::npos && line[end - 1] == '\\') {
      end = line.find(' ', end + 1);
    }
    const std::size_t begin = quoted ? 1 : 0;
    end = std::min(end, line.size());
    tokens.push_back({line.substr(begin, end - begin), quoted});
    line.remove_prefix(std::min(end + begin, line.size()));
  }
}

bool is_closing(const Token& token) {
  return !token.quoted && token.text.size() == 1 &&
         std::string_view(".,:;)]?!").contains(token.text.front());
}

// Macros within a line, and what they set around their words.
struct Inline {
  std::string_view name;
  std::string_view before;
  std::string_view after;
  std::string_view each;    // before each word
  bool to_the_end = false;  // around all that follows, other macros too
};
constexpr auto k_inline = std::to_array<Inline>({
    {"Ar", "", "", ""},
    {"Cm", "", "", ""},
    {"Ev", "", "", ""},
    {"Fl", "", "", "-"},
    {"Ic", "", "", ""},
    {"Li", "", "", ""},
    {"Nm", "", "", ""},
    {"No", "", "", ""},
    {"Pa", "", "", ""},
    {"Sx", "", "", ""},
    {"Ql", "`", "`", ""},
    {"Sq", "'", "'", "", true},
    {"Pq", "(", ")", "", true},
    {"Op", "[", "]", "", true},
    {"Po", "(", "", "", true},
    {"Pc", "", ")", ""},
    {"Xr", "", "", ""},
});

const Inline* inline_macro(const Token& token) {
  const auto found = std::ranges::find(k_inline, token.text, &Inline::name);
  return token.quoted || found == k_inline.end() ? nullptr : &*found;
}

// Words as they gather: what opens sticks to the next one, what closes to the one before it.
class Words {
 public:
  void add(std::string_view text) {
    text_ += text_.empty() || sticks_ ? "" : " ";
    text_ += text;
    sticks_ = false;
  }
  void open(std::string_view text) {
    if (!text.empty()) {
      add(text);
      sticks_ = true;
    }
  }
  void close(std::string_view text) { text_ += text; }
  bool empty() const { return text_.empty(); }
  std::string take() {
    sticks_ = false;
    return std::exchange(text_, {});
  }

 private:
  std::string text_;
  bool sticks_ = false;
};

class Line {
 public:
  Line(std::vector<Token> tokens, std::string_view name, Words& words)
      : tokens_(std::move(tokens)), name_(name), words_(words) {
    // Punctuation at the end stands outside of what the line encloses.
    while (tokens_.size() > 1 && is_closing(tokens_.back())) {
      tail_.insert(tail_.begin(), tokens_.back().text.front());
      tokens_.pop_back();
    }
  }

  void write() {
    while (at_ < tokens_.size()) {
      const Inline* macro = inline_macro(tokens_[at_]);
      if (macro == nullptr) {
        word(tokens_[at_++]);
      } else {
        ++at_;
        write(*macro);
      }
    }
    for (const std::string& closing : closings_) {
      words_.close(closing);
    }
    words_.close(tail_);
  }

 private:
  void word(const Token& token) {
    if (is_closing(token)) {
      words_.close(token.text);
    } else {
      words_.add(unescaped(token.text));
    }
  }

  void write(const Inline& macro) {
    if (macro.to_the_end) {
      words_.open(macro.before);
      closings_.insert(closings_.begin(), std::string(macro.after));
      return;
    }
    if (macro.name == "Pc") {
      words_.close(macro.after);
      return;
    }
    if (macro.name == "Xr" && at_ + 1 < tokens_.size()) {
      words_.add(fmt::format("{}({})", unescaped(tokens_[at_].text), tokens_[at_ + 1].text));
      at_ += 2;
      return;
    }
    if (at_ == tokens_.size() || inline_macro(tokens_[at_]) != nullptr) {
      words_.add(macro.name == "Nm" ? name_ : macro.each);
      return;
    }
    while (at_ < tokens_.size() && inline_macro(tokens_[at_]) == nullptr) {
      run_of_words(macro);
    }
  }

  // Up to the next punctuation, which is not the macro's.
  void run_of_words(const Inline& macro) {
    bool is_open = false;
    while (at_ < tokens_.size() && inline_macro(tokens_[at_]) == nullptr) {
      const Token& token = tokens_[at_++];
      const bool is_bar = token.text == "|" && (is_open || at_ < tokens_.size());
      if (is_closing(token) || is_bar) {
        words_.close(is_open ? macro.after : "");
        word(token);
        return;
      }
      words_.open(is_open ? "" : macro.before);
      words_.add(std::string(macro.each) +
                 (token.quoted ? in_one_piece(token.text) : unescaped(token.text)));
      is_open = true;
    }
    words_.close(is_open ? macro.after : "");
  }

  std::vector<Token> tokens_;
  std::string_view name_;
  Words& words_;
  std::size_t at_ = 0;
  std::string tail_;
  std::vector<std::string> closings_;
};

// ---- a page ----

struct List {
  std::size_t indent;  // of its tags
  std::size_t width;   // of a tag that has its text beside it; 0: text stands below
  bool is_compact;
  bool is_bullets;
  bool is_numbered;
  int items = 0;
};

class Page {
 public:
  explicit Page(const PlainText& how) : how_(how) {}

  std::string write(std::string_view source) {
    while (!source.empty()) {
      const auto end = std::min(source.find('\n'), source.size());
      line(source.substr(0, end));
      source.remove_prefix(std::min(end + 1, source.size()));
    }
    flush();
    out_.resize(out_.size() - (out_.ends_with("\n\n") ? 1 : 0));
    return std::move(out_);
  }

 private:
  void line(std::string_view text) {
    if (is_literal_ && text != ".Ed") {
      out_ += std::string(text.empty() ? 0 : indent_ + k_step, ' ') + unescaped(text) + "\n";
    } else if (!text.starts_with('.')) {
      words_.add(unescaped(text));
    } else if (!text.starts_with(".\\\"")) {
      const std::string_view macro = text.substr(1, text.find(' ') - 1);
      request(macro, text.substr(std::min(macro.size() + 2, text.size())));
    }
  }

  void request(std::string_view macro, std::string_view rest) {
    if (macro == "Dd" || macro == "Dt" || macro == "Os") {
      return;
    }
    if (macro == "Sh" || macro == "Ss") {
      heading(macro == "Sh" ? 0 : k_step / 2, rest);
    } else if (macro == "Pp") {
      paragraph();
    } else if (macro == "br") {
      flush();
    } else if (macro == "Bl" || macro == "It" || macro == "El") {
      list(macro, rest);
    } else if (macro == "Bd" || macro == "Ed") {
      literal_lines(macro == "Bd");
    } else if (macro == "Dl") {
      flush();
      out_ += std::string(indent_ + k_step, ' ') + unescaped(rest) + "\n";
      after_heading_ = false;
    } else if (macro == "Nd") {
      words_.add("-");
      words_.add(unescaped(rest));
    } else {
      if (macro == "Nm" && section_ == "SYNOPSIS") {
        flush();
      }
      inside(fmt::format("{} {}", macro, rest));
    }
  }

  void inside(std::string_view text) { Line(tokens_of(text), how_.name, words_).write(); }

  void heading(std::size_t indent, std::string_view text) {
    paragraph();
    section_ = indent == 0 ? text : section_;
    const std::string title = unescaped(text);
    out_ += std::string(indent, ' ') +
            (how_.bold ? fmt::format("\x1b[1m{}\x1b[0m", title) : title) + "\n";
    indent_ = k_step;
    after_heading_ = true;
  }

  void list(std::string_view macro, std::string_view rest) {
    flush();
    if (macro == "Bl") {
      lists_.push_back({.indent = indent_,
                        .width = width_of(rest),
                        .is_compact = rest.contains("-compact"),
                        .is_bullets = rest.starts_with("-bullet"),
                        .is_numbered = rest.starts_with("-enum")});
    } else if (macro == "It" && !lists_.empty()) {
      item(lists_.back(), rest);
    } else if (!lists_.empty()) {
      indent_ = lists_.back().indent;
      lists_.pop_back();
    }
  }

  // `Ds` is as wide as an indentation; `3n` are columns; else it is an example of the widest tag.
  static std::size_t width_of(std::string_view rest) {
    const auto at = rest.find("-width ");
    if (at == std::string_view::npos) {
      return 0;
    }
    const std::string_view width = tokens_of(rest.substr(at)).at(1).text;
    if (width == "Ds") {
      return 0;
    }
    return agent::is_digit(width.front()) ? static_cast<std::size_t>(width.front() - '0')
                                          : width.size();
  }

  void item(List& list, std::string_view rest) {
    if (!list.is_compact) {
      paragraph();
    }
    inside(rest);
    ++list.items;
    const std::string tag = list.is_bullets    ? "-"
                            : list.is_numbered ? fmt::format("{}.", list.items)
                                               : words_.take();
    const bool is_marked = list.is_bullets || list.is_numbered;
    const std::string margin(list.indent, ' ');
    indent_ = list.indent + (is_marked         ? tag.size() + 1
                             : list.width == 0 ? k_step
                                               : list.width + 2);
    const std::size_t used = list.indent + agent::character_count(tag);
    if (is_marked || (list.width > 0 && used < indent_)) {
      beside_ = margin + tag + std::string(indent_ - used, ' ');
    } else {
      out_ += margin + tag + "\n";
    }
    after_heading_ = true;
  }

  void literal_lines(bool begin) {
    paragraph();
    is_literal_ = begin;
    after_heading_ = false;
  }

  void flush() {
    if (words_.empty() && beside_.empty()) {
      return;
    }
    const std::string margin = beside_.empty() ? std::string(indent_, ' ') : std::move(beside_);
    out_ += margin + wrapped(words_.take(), k_columns - indent_, indent_) + "\n";
    beside_.clear();
    after_heading_ = false;
  }

  // A blank line, but for the first line and behind a heading.
  void paragraph() {
    flush();
    if (!out_.empty() && !out_.ends_with("\n\n") && !after_heading_) {
      out_ += "\n";
    }
  }

  const PlainText& how_;
  std::string out_;
  Words words_;
  std::string_view section_;
  std::vector<List> lists_;
  std::string beside_;  // a tag that waits for the text beside it
  std::size_t indent_ = k_step;
  bool is_literal_ = false;
  bool after_heading_ = false;
};

}  // namespace

std::string plain_text(std::string_view source, const PlainText& how) {
  std::string text = Page(how).write(source);
  for (auto at = text.find(k_hard_space); at != std::string::npos;
       at = text.find(k_hard_space, at)) {
    text.replace(at, k_hard_space.size(), " ");
  }
  return text;
}

}  // namespace cli::mdoc

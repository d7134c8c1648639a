#include "tools/permissions/shell_reader.h"

namespace tools::shell {

Word Reader::read_word() {
  Word word;
  bool is_bare = true;
  bool has_brace = false;
  bool is_set = false;  // `[…]` of a pattern, and not the command of that name
  while (!done()) {
    const char c = peek();
    if ((c == '<' || c == '>') && peek(1) == '(') {
      skip();
      if (std::exchange(is_bare, false)) {
        word.bare = word.text.size();
      }
      read_subshell();
      know_not(word);
      continue;
    }
    if (k_word_ends.contains(c)) {
      break;
    }
    if (c == '\\' && peek(1) == '\n') {
      skip(2);
      continue;
    }
    const bool is_special = std::string_view("'\"\\$`*?[").contains(c);
    if (is_special && std::exchange(is_bare, false)) {
      word.bare = word.text.size();
    }
    switch (c) {
      case '\'':
        read_single_quotes(word);
        break;
      case '"':
        skip();
        read_double_quotes(word);
        break;
      case '\\':
        word.is_quoted = true;
        skip();
        if (!done()) {
          word.text += text_[at_++];
        }
        break;
      case '$':
        read_dollar(word, false);
        break;
      case '`':
        read_backticks(false);
        know_not(word);
        break;
      case '*':
      case '?':
        skip();
        word.text += k_unknown_name;
        break;
      case '[':
        is_set = is_set || !word.text.empty() || !is_word_end(peek(1) == '[' ? 2 : 1);
        word.text += c;
        skip();
        break;
      default:
        has_brace = has_brace || (c == '{' && (peek(1) != '}' && !k_word_ends.contains(peek(1))));
        word.text += c;
        skip();
    }
  }
  if (is_bare) {
    word.bare = word.text.size();
  }
  // Some shells make several words of `{a,b}`, others leave it.
  const bool splits =
      has_brace && word.text.contains('}') && (word.text.contains(',') || word.text.contains(".."));
  if (splits || is_set) {
    word = {};
    know_not(word);
  }
  return word;
}

void Reader::read_single_quotes(Word& word) {
  word.is_quoted = true;
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) {
    unclear("a quote is not closed");
  }
  word.text += text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
  at_ = end == std::string_view::npos ? text_.size() : end + 1;
}

// Behind the opening quote.
void Reader::read_double_quotes(Word& word) {
  word.is_quoted = true;
  while (!done() && peek() != '"') {
    const char c = peek();
    if (c == '\\' && peek(1) == '\n') {
      skip(2);
    } else if (c == '\\' && std::string_view("$`\"\\").contains(peek(1))) {
      word.text += peek(1);
      skip(2);
    } else if (c == '$' && peek(1) != '\'' && peek(1) != '"') {
      read_dollar(word, true);
    } else if (c == '`') {
      read_backticks(true);
      know_not(word);
    } else {
      word.text += c;
      skip();
    }
  }
  if (done()) {
    unclear("a quote is not closed");
  }
  skip();
}

// `$'…'`: text with the escapes of C in some shells, a dollar and a quoted text in others.
void Reader::read_ansi_quotes(Word& word) {
  constexpr std::string_view k_letters = "abefnrtv\\'\"?";
  constexpr std::string_view k_values = "\a\b\x1b\f\n\r\t\v\\'\"?";
  word.is_quoted = true;
  while (!done() && peek() != '\'') {
    const char c = text_[at_++];
    if (c != '\\' || done()) {
      word.text += c;
      continue;
    }
    const char escaped = text_[at_++];
    if (const auto at = k_letters.find(escaped); at != std::string_view::npos) {
      word.text += k_values[at];
      continue;
    }
    const int base = escaped == 'x' ? 16 : escaped >= '0' && escaped <= '7' ? 8 : 0;
    int value = base == 8 ? escaped - '0' : 0;
    for (int left = 2; base != 0 && left > 0 && !done(); --left) {
      const char digit = peek();
      const int number = is_digit(digit)                ? digit - '0'
                         : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                         : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                        : 99;
      if (number >= base) {
        break;
      }
      value = value * base + number;
      skip();
    }
    word.text += base != 0 && value != 0 ? static_cast<char>(value) : k_unknown;
  }
  if (done()) {
    unclear("a quote is not closed");
  }
  skip();
}

// At a `$`, quoted or not.
void Reader::read_dollar(Word& word, bool in_quotes) {
  skip();
  if (peek() == '\'') {
    skip();
    read_ansi_quotes(word);
    return;
  }
  if (peek() == '"') {
    skip();
    read_double_quotes(word);
    return;
  }
  if (peek() == '(' && peek(1) == '(') {
    read_arithmetic();
  } else if (peek() == '(') {
    read_subshell();
  } else if (peek() == '{') {
    skip();
    read_parameter(in_quotes);
  } else if (is_name_start(peek())) {
    while (is_name_start(peek()) || is_digit(peek())) {
      skip();
    }
  } else if (is_digit(peek()) || std::string_view("@*#?-$!").contains(peek())) {
    skip();
  } else {
    word.text += '$';
    word.is_quoted = true;
    return;
  }
  know_not(word);
}

// Behind `${`: to its `}`; what is substituted in it counts.
void Reader::read_parameter(bool in_quotes) {
  const Level level(*this);
  Word ignored;
  while (!done() && peek() != '}') {
    if ((peek() == '<' || peek() == '>') && peek(1) == '(') {
      unclear("a process substitution in a `${…}`");
    }
    if (in_quotes && (peek() == '\'' || peek() == '"')) {
      unclear("quotes in a `${…}` in quotes");  // shells differ in where it ends
    }
    switch (peek()) {
      case '\'':
        read_single_quotes(ignored);
        break;
      case '"':
        skip();
        read_double_quotes(ignored);
        break;
      case '\\':
        skip(2);
        break;
      case '$':
        read_dollar(ignored, in_quotes);
        break;
      case '`':
        read_backticks(in_quotes);
        break;
      default:
        skip();
    }
  }
  if (done()) {
    unclear("a `${` has no `}`");
  }
  skip();
}

// At the `((` of `$((`. What is no plain sum may be a subshell in a substitution.
void Reader::read_arithmetic() {
  const std::size_t begin = at_;
  const std::size_t end = text_.find("))", at_);
  const std::string_view sum =
      end == std::string_view::npos ? std::string_view() : text_.substr(at_ + 2, end - at_ - 2);
  constexpr std::string_view k_operators = "_+-*/%<>=!&|^~?:,$ \t";
  bool is_plain = end != std::string_view::npos;
  bool gap = false;      // white space behind a name or number
  bool operand = false;  // the last thing was a name or number
  for (const char c : sum) {
    const bool is_letter = is_name_start(c) || is_digit(c) || c == '$';
    is_plain = is_plain && (is_letter || k_operators.contains(c)) && !(is_letter && gap);
    gap = (c == ' ' || c == '\t') && (operand || gap);
    operand = is_letter;
  }
  if (is_plain) {
    at_ = end + 2;
    return;
  }
  unclear("`$((` may be a sum or a subshell");
  at_ = begin;
  read_subshell();
}

void Reader::read_backticks(bool in_quotes) {
  std::string inner;
  for (skip(); !done() && peek() != '`'; skip()) {
    if (peek() == '\\' && std::string_view(in_quotes ? "`$\\\"" : "`$\\").contains(peek(1))) {
      skip();
    }
    if (!done()) {
      inner += peek();
    }
  }
  if (done()) {
    unclear("a backtick is not closed");
  }
  skip();
  read_inner(inner);
}

}  // namespace tools::shell

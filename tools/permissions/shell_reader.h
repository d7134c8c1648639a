// The reader behind shell_script.h: the structure of a command line (shell_script.cpp) and what is
// in its words (shell_words.cpp).
#pragma once
#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools::shell {

constexpr int k_deepest = 40;  // nested substitutions and subshells
constexpr std::string_view k_word_ends = " \t\n;&|<>()";

inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

inline bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_name_start(c) || is_digit(c); });
}

struct Word {
  std::string text;
  std::size_t bare = 0;  // how many characters at its front are neither quoted nor expanded
  bool is_quoted = false;

  bool is_bare() const { return !is_quoted && bare == text.size(); }
  // "A=b" or "A+=b".
  bool is_assignment() const {
    std::string_view name = std::string_view(text).substr(0, std::min(text.find('='), bare));
    if (name.size() == bare) {
      return false;
    }
    return is_name(name.ends_with('+') ? name.substr(0, name.size() - 1) : name);
  }
};

class Reader {
 public:
  Reader(std::string_view text, ShellScript& script, int depth)
      : text_(text), script_(script), depth_(depth) {
    if (depth_ > k_deepest) {
      unclear("it is nested too deeply");
      at_ = text_.size();
    }
  }

  void read_all() {
    read_list(Closing::none);
    if (!documents_.empty()) {
      read_documents();
    }
  }

 private:
  enum class Closing { none, parenthesis, case_item };
  // One level deeper, for its lifetime; too deep, the rest is not read.
  struct Level {
    explicit Level(Reader& reader) : depth(reader.depth_) {
      if (++depth > k_deepest) {
        reader.unclear("it is nested too deeply");
        reader.at_ = reader.text_.size();
      }
    }
    ~Level() { --depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    int& depth;
  };
  struct Document {
    std::size_t command;  // whose input it is
    std::string end;
    bool is_literal;
    bool strips_tabs;
  };

  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool is_word_end(std::size_t ahead) const {
    return at_ + ahead >= text_.size() || k_word_ends.contains(text_[at_ + ahead]);
  }
  // Where no word can begin; a process substitution is one.
  bool at_word_end() const {
    const bool substitutes = (peek() == '<' || peek() == '>') && peek(1) == '(';
    return done() || (k_word_ends.contains(peek()) && !substitutes);
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) {
      return false;
    }
    skip(word.size());
    return true;
  }
  void unclear(std::string why) {
    if (std::ranges::find(script_.unclear, why) == script_.unclear.end()) {
      script_.unclear.push_back(std::move(why));
    }
  }
  void skip(std::size_t count = 1) { at_ = std::min(at_ + count, text_.size()); }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || (peek() == '\\' && peek(1) == '\n')) {
      skip(peek() == '\\' ? 2 : 1);
    }
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void skip_blank_lines() {
    for (skip_blanks(); peek() == '\n' || peek() == '#'; skip_blanks()) {
      if (peek() == '#') {
        skip_line();
      } else {
        end_line();
      }
    }
  }
  void end_line() {
    skip();
    read_documents();
  }

  void read_list(Closing closing);
  bool read_command(Closing closing);  // false: `esac` closes the item
  void read_rest_of_command(ShellCommand command);
  bool read_redirection(ShellCommand& command);
  void read_subshell();
  void read_case();
  void read_for();
  void read_function();

  Word read_word();
  void read_single_quotes(Word& word);
  void read_double_quotes(Word& word);
  void read_ansi_quotes(Word& word);
  void read_dollar(Word& word, bool in_quotes);
  void read_parameter(bool in_quotes);
  void read_arithmetic();
  void read_backticks(bool in_quotes);
  void read_inner(const std::string& text) {
    Reader inner(text, script_, depth_ + 1);
    inner.is_piped_ = inner.is_piped_throughout_ = is_piped_;
    inner.read_all();
  }
  void end_pipe() { is_piped_ = is_piped_ && is_piped_throughout_; }
  // All that stands in a block reads what the block does; where that ends is not looked for.
  void begin_block() { is_piped_throughout_ = is_piped_throughout_ || is_piped_; }
  void read_documents();
  void read_document_text(std::string_view body);
  static void know_not(Word& word) {
    word.text += k_unknown;
    word.is_quoted = true;
  }

  std::string_view text_;
  ShellScript& script_;
  int depth_;
  std::size_t at_ = 0;
  bool is_piped_ = false;  // what stands here reads a pipe
  bool is_piped_throughout_ = false;
  std::vector<Document> documents_;  // announced in this line
};

}  // namespace tools::shell

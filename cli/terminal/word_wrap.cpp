#include "cli/terminal/word_wrap.h"

#include "cli/terminal/columns.h"

#include <algorithm>
#include <utility>

namespace cli {
namespace {

constexpr std::size_t k_least_room = 8;  // for words, beside what lines begin with

}  // namespace

void WordWrap::begin(std::string_view first, std::string_view next) {
  out_ += first;
  column_ = columns_of(first);
  next_ = next;
  next_columns_ = columns_of(next);
  if (columns_ > 0 && next_columns_ + k_least_room > columns_) {
    next_.clear();
    next_columns_ = 0;
  }
  blanks_ = 0;
  has_word_ = false;
  is_in_line_ = true;
}

void WordWrap::put(std::string_view text, std::string_view style) {
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    text.remove_prefix(character.size());
    if (character == " " || character == "\t") {
      end_word();
      blanks_ += character == " " ? 1 : 4;
    } else {
      put_character(character, style);
    }
  }
  if (columns_ == 0) {
    end_word();
  }
}

void WordWrap::put_character(std::string_view character, std::string_view style) {
  const std::size_t columns = columns_of_character(character);
  if (columns == 2 || (columns > 0 && word_columns_ > 0 && columns_ > 0 &&
                       next_columns_ + word_columns_ + columns > columns_)) {
    end_word();
  }
  if (style_ != style) {
    word_ += style_.empty() ? "" : "\x1b[0m";
    style_ = style;
    if (!style_.empty()) {
      word_ += "\x1b[" + style_ + "m";
    }
  }
  word_ += character;
  word_columns_ += columns;
  if (columns == 2) {
    end_word();
  }
}

void WordWrap::end_word() {
  if (word_.empty()) {
    return;
  }
  if (!style_.empty()) {
    word_ += "\x1b[0m";
    style_.clear();
  }
  if (columns_ > 0 && column_ + blanks_ + word_columns_ > columns_ && has_word_) {
    break_line();
  }
  out_.append(blanks_, ' ');
  out_ += word_;
  column_ += blanks_ + word_columns_;
  has_word_ = true;
  blanks_ = 0;
  word_.clear();
  word_columns_ = 0;
}

// The blanks between the lines are the line's end.
void WordWrap::break_line() {
  out_ += '\n';
  out_ += next_;
  column_ = next_columns_;
  blanks_ = 0;
}

void WordWrap::end() {
  end_word();
  out_ += '\n';
  is_in_line_ = false;
  blanks_ = 0;
}

void WordWrap::put_line(std::string_view text) {
  out_ += text;
  out_ += '\n';
}

std::string WordWrap::take() {
  return std::exchange(out_, {});
}

std::string wrap_line(std::string_view line, std::size_t columns, std::size_t indent) {
  if (columns == 0 || columns_of(line) <= columns) {
    return std::string(line);
  }
  WordWrap wrap;
  wrap.set_columns(columns);
  wrap.begin("", std::string(indent, ' '));
  std::string_view style;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find('\x1b'), line.size());
    wrap.put(line.substr(0, escape), style);
    line.remove_prefix(escape);
    if (!line.empty()) {
      const std::size_t end = std::min(line.find('m'), line.size() - 1);
      style = line.substr(2, std::max<std::size_t>(end, 2) - 2);
      style = style == "0" ? std::string_view() : style;
      line.remove_prefix(end + 1);
    }
  }
  wrap.end();
  std::string text = wrap.take();
  text.pop_back();
  return text;
}

}  // namespace cli

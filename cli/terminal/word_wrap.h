// Lines that are broken between words, for a terminal; what is put in comes out as it is settled.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

class WordWrap {
 public:
  // The width of all lines that begin from now on; 0: it is not known, and nothing is broken.
  void set_columns(std::size_t columns) { columns_ = columns; }

  // A new line. What it begins with, and what those do that it is broken into; both may have styles
  // (paint()).
  void begin(std::string_view first, std::string_view next);
  // Goes on with it: text without line ends, in a style ("1;31", may be empty). A word that is
  // longer than a line is broken where the line is full; wide characters are words of their own.
  void put(std::string_view text, std::string_view style = {});
  // The last word and the line's end.
  void end();
  // A line that is not broken; between lines only.
  void put_line(std::string_view text);

  // What has come out since the last time.
  std::string take();
  // Whether a line has begun and not ended.
  bool is_in_line() const { return is_in_line_; }

 private:
  void put_character(std::string_view character, std::string_view style);
  void end_word();
  void break_line();

  std::size_t columns_ = 0;
  std::string out_;
  std::string next_;
  std::size_t next_columns_ = 0;
  std::size_t column_ = 0;  // where the line is
  std::size_t blanks_ = 0;  // in front of the word
  std::string word_;        // with its styles
  std::size_t word_columns_ = 0;
  std::string style_;  // that the word's end is in
  bool is_in_line_ = false;
  bool has_word_ = false;  // on this line of the terminal
};

// One line, with its styles, in lines of at most `columns` (0: as it is) and without the last
// line's end; those after the first are moved in by `indent`.
std::string wrap_line(std::string_view line, std::size_t columns, std::size_t indent);

}  // namespace cli

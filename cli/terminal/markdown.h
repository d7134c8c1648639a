// A model's Markdown as a terminal shows it, set as it comes: a line is what its beginning says it
// is, and what is written stays. Headings, emphasis, code, links, lists, quotes, rules, fenced
// blocks and tables; all else stays as the model wrote it, line ends included.
#pragma once
#include "agent/secrets/redact.h"
#include "cli/terminal/word_wrap.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

class MarkdownSetter {
 public:
  // `columns` is asked at each line: the terminal's width, 0 where it is not known.
  // `redactor`, which may be null and is borrowed, takes out what is a secret only as it is shown.
  explicit MarkdownSetter(std::function<std::size_t()> columns,
                          const agent::Redactor* redactor = nullptr)
      : columns_(std::move(columns)), redactor_(redactor) {}

  // What can be shown by now; the last word of a line, a mark whose end has not come, a line of
  // code and a table are kept back. The text is valid UTF-8 without control characters
  // (agent::printable). In time linear in the text.
  std::string feed(std::string_view text);
  // The rest, with a line end where something stands on a line; then it begins anew.
  std::string finish();
  // Whether what has come out ends within a line.
  bool is_in_line() const { return wrap_.is_in_line(); }

 private:
  struct Fence {
    char mark = 0;  // 0: outside
    std::size_t length = 0;
  };

  struct StyleRun {
    std::size_t length = 0;  // bytes
    std::string style;
  };

  // What a line is, known from its beginning.
  struct Opening {
    std::size_t length = 0;  // bytes of it that are no text
    std::string first;       // in their place
    std::string next;        // in front of the lines that it is broken into
    std::string_view style = {};
  };

  void add(std::string_view piece, bool ends_line);
  bool open_line(bool is_whole);
  bool needs_whole_line(std::string_view line) const;
  void set_whole_line(std::string_view line);
  void set_code(std::string_view line);
  void set_text(bool is_whole);
  std::size_t set_next(std::string_view text, std::string_view style, bool is_whole, int depth);
  void set_inline(std::string_view text, std::string_view style, int depth);
  void put(std::string_view text, std::string_view style);
  void put_settled(std::size_t count);
  void end_text();
  void set_table();
  static Opening opening(std::string_view line);

  std::function<std::size_t()> columns_;
  const agent::Redactor* redactor_;
  WordWrap wrap_;
  std::string shown_;            // without its marks, on its way to wrap_
  std::deque<StyleRun> styles_;  // of shown_
  std::string line_;             // of it what is not set
  std::string style_;
  Fence fence_;
  std::vector<std::string> table_;  // its lines
  std::size_t table_bytes_ = 0;
  char before_ = ' ';  // the byte in front of line_'s text
};

}  // namespace cli

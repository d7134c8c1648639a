// A call as a person sees it before they say yes: all of its bytes, line by line, with a mark in
// front of each so that nothing in it can look like a part of the prompt. Nothing is redacted: this
// is for the terminal of the person alone.
#pragma once
#include "agent/toolbox.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

class CallSheet {
 public:
  // Lines are at most `columns` wide.
  explicit CallSheet(std::size_t columns) : columns_(columns) {}

  void add_line(std::string_view text);  // errand's own words, and what they quote
  void add_text(std::string_view title, std::string_view text);  // marked; an empty text is said
  // Each argument by its name.
  void add_arguments(const agent::ToolCall& call);
  // What the written-out characters are, where there are any.
  void explain_characters();

  std::size_t size() const { return lines_.size(); }
  // Lines with their ends.
  std::string lines(std::size_t begin, std::size_t end) const;
  // Of the texts that the lines show.
  std::size_t bytes(std::size_t begin) const;

 private:
  void add_wrapped(std::string_view mark, std::string_view text);  // text that is written out

  struct Line {
    std::string text;
    std::size_t bytes = 0;
  };

  std::size_t columns_;
  std::vector<Line> lines_;
  std::size_t characters_ = 0;  // written out
};

}  // namespace cli

// The text of a file that the user wrote, and places in it. Knows no YAML.
#pragma once
#include "agent/error.h"
#include "agent/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Bytes of a source text.
struct Span {
  std::size_t offset = 0;
  std::size_t length = 0;  // 0: a single place

  bool operator==(const Span&) const = default;
};

class Source {
 public:
  // Takes a text of valid UTF-8 without control characters; drops a byte order mark. config.invalid
  // with the place of what is no text.
  static agent::Result<Source> create(std::string text, std::string file);

  const std::string& file() const { return file_; }
  std::string_view text() const { return text_; }

  // Line, column, length and excerpt of a span; what lies beyond its first line is not marked.
  // Hidden spans are starred out of the excerpt. A line over 1,000 bytes has no excerpt.
  agent::Where where(Span span) const;
  std::size_t line_of(std::size_t offset) const;       // from 1
  std::size_t line_begin(std::size_t line) const;      // of line `line` (from 1)
  std::string_view line_text(std::size_t line) const;  // without its end
  std::size_t line_count() const { return line_begins_.size(); }

  void hide(Span span) { hidden_.push_back(span); }
  bool is_hidden(std::size_t offset) const;

 private:
  Source(std::string text, std::string file);

  std::string text_;
  std::string file_;
  std::vector<std::size_t> line_begins_;
  std::vector<Span> hidden_;
};

// The whole of a regular file of at most `limit` bytes; config.invalid otherwise. A pipe or device
// is never opened for longer than it takes to see what it is. `judge` is asked before anything is
// read, with where the open file really is; its error ends it.
using JudgeOpened = std::function<agent::Result<void>(const std::filesystem::path& real)>;
agent::Result<std::string> read_text_file(const std::filesystem::path& file,
                                          std::size_t limit,
                                          const JudgeOpened& judge = {});

// Mistakes in a file that a link leads to, without a word of its text: who wrote the link need not
// be one who may read that file. A link counts as the last part of the path, and in each
// part below the current folder; false: it is behind none.
bool hide_text_behind_link(const std::filesystem::path& file, std::vector<agent::Error>& mistakes);

// As read_text_file(), of a file that whoever wrote the folder `root` has put there: no part of
// `relative` may be a link, so that nothing outside is read and shown in the message of a mistake.
// nullopt: it is not there.
agent::Result<std::optional<std::string>> read_file_inside(const std::filesystem::path& root,
                                                           const std::filesystem::path& relative,
                                                           std::size_t limit);

}  // namespace config

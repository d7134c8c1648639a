// Text that a person is to judge by, in characters that show what they are. What passes is listed:
// printable ASCII, and letters that look like no other sign; all else is written out.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

// A line of a terminal.
struct WrittenRow {
  std::string text;
  bool goes_on = false;   // the line of the text before it did not fit
  std::size_t bytes = 0;  // of the text that it shows, the line's end included
};

struct WrittenOut {
  std::vector<WrittenRow> rows;
  std::size_t characters = 0;  // that are written out
};

// Any bytes. A character that is written out is `\u{202e}`, a byte that is no UTF-8 is `\x{ff}`,
// and where the text itself has `\u{` or `\x{` its backslash is `\u{5c}`. A tab is `→` and the
// blanks up to the next eighth column, a blank at the end of a line `\u{20}`, and behind a line end
// that is the last byte there is an empty row: nothing can be mistaken for another. Rows are at
// most `columns` (at least 12) wide. In time linear in the text.
WrittenOut written_out(std::string_view text, std::size_t columns);

// The same in one line; line ends are written out, too.
std::string written_out_line(std::string_view text);

// The first bytes of it, at most `limit`; the mark of a cut, `…`, stands as it is.
std::string written_out_line(std::string_view text, std::size_t limit);

}  // namespace agent

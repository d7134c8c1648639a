// The command lines that a rule may allow: a small language which dash and bash read alike, and
// which is understood whole. What is not in it is refused, with the reason; it is not guessed at.
//
//   line        = command { (";" | newline | "&&" | "||" | "|") command }
//   command     = [ "!" ] { assignment } word { word } { redirection }
//   word        = plain characters, '…', "…" and \c; no `$`, backtick or brace; `~` in the middle
//                 alone; `*` and `?` behind a first character that is not theirs and not `-`
//   assignment  = a harmless name, `=`, plain characters
//   redirection = [0] < file, [1|2] > file, [1|2] >> file, [1|2] >& (1|2), behind a blank
//
// Comments and a backslash at the end of a line are read, too. `cd` is followed by one folder
// below, and then nothing else in the line is a relative path.
#pragma once
#include "tools/permissions/shell_script.h"

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct PlainCommand {
  std::vector<std::string> assignments;
  // Without their quotes. A wildcard is k_unknown_name: such a word may become several, none of
  // which begins with `-`.
  std::vector<std::string> words;
  std::vector<ShellFile> files;
  // Where in `words` a command begins: at 0, and behind each of `nice`, `timeout 5`, …
  std::vector<std::size_t> starts;
};

// The commands in their order, or why the line is not a plain one: "it holds a `$`".
std::expected<std::vector<PlainCommand>, std::string> read_plain(std::string_view text);

}  // namespace tools

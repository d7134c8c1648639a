// The person at the terminal: what is said to them on stderr, and the lines that they type.
#pragma once
#include "agent/environment.h"
#include "agent/secrets/redact.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace cli {

class Terminal {
 public:
  // False where stdin or stderr is no terminal, or none any more, or it belongs to another job:
  // nothing is to be asked.
  static bool is_there();
  // Whether what is written there can move the cursor.
  static bool understands_escapes(int descriptor, const agent::Environment& environment);

  // `redactor` is borrowed.
  explicit Terminal(const agent::Redactor& redactor) : redactor_(redactor) {}

  struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
  };
  // Of stderr; the default where it does not say.
  static Size size();
  // Of the terminal that this is, now; 0: it does not say.
  static std::size_t columns(int descriptor);

  static void say(std::string_view text);
  // Without secrets, and safe to show.
  std::string clean(std::string_view text) const;
  // The same with a mark in front of each line: nothing in it can look like a part of the prompt.
  std::string with_marks(std::string_view text) const;

  // What was typed before is no answer to what is asked now.
  static void forget_typed();
  struct Line {
    std::string text;
    bool is_last =
        false;  // the input has ended (Ctrl-D): what was begun is no line, `text` is empty
  };
  // The next line, at most `limit` bytes of it.
  // nullopt where nobody has answered: soon after `stop`, or at the deadline, with the prompt's
  // line ended; and where the terminal was closed, after the second that its signal may take to
  // come.
  static std::optional<Line> read_line(const std::stop_token& stop,
                                       std::size_t limit,
                                       std::chrono::steady_clock::time_point deadline =
                                           std::chrono::steady_clock::time_point::max());

 private:
  const agent::Redactor& redactor_;
};

}  // namespace cli

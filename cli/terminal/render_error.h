// An error as a person reads it: what happened, where, and how to mend it.
#pragma once
#include "agent/error.h"
#include "agent/secrets/redact.h"

#include <span>
#include <string>
#include <string_view>

namespace cli {

// Several lines without the last line's end. Colours only where asked; escape sequences of the
// message are made visible, secrets taken out.
std::string render(const agent::Error& error, bool color, const agent::Redactor& redactor);

// The same for what is not yet an error.
std::string render_warning(const agent::Error& warning,
                           bool color,
                           const agent::Redactor& redactor);

// How a run ended, in two lines where no place in a file is to be shown: what went wrong, and the
// exit code's name with what to do about it. `errors` may be empty; `bill` is what the run took,
// and may be, too. Without the last line's end.
std::string render_ending(std::span<const agent::Error> errors,
                          int exit_code,
                          std::string_view bill,
                          bool color,
                          const agent::Redactor& redactor);

// `text` in a style of the terminal ("1;31"), where colour is asked for and there is any text.
std::string paint(std::string_view style, std::string_view text, bool color);

}  // namespace cli

// How a failed call is told to the model: the category of its code, and the four-line block. What
// the user reads is the result's message; the policy of a code is agent/error.h's.
#pragma once
#include "agent/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tools {

// Where in a call's life it went wrong.
enum class Phase : std::uint8_t { setup, param_handling, execution, result_interpretation };

struct Category {
  agent::Code code;
  Phase phase;
  bool reformat_helps;          // other wording of the same arguments may be all that it takes
  std::string_view suggestion;  // what the model can do

  std::string_view label() const;     // the code's name without "tool."
  agent::Domain domain() const;       // the code's row has it
  bool counts_against_model() const;  // planning and reflection; infrastructure never does
  // Made again unchanged: what `retryable` says. Of a call that may have had its effect, only where
  // its tool can be called twice.
  bool same_call_may_work(bool is_idempotent) const;
};

// One row for each tool.* code.
std::span<const Category> categories();
// The row of the code; that of tool.failed where it has none of its own.
const Category& category(agent::Code code);
std::string_view to_string(Phase phase);

// "[tool_error]" and its four lines, without a final newline. `message` and `suggestion` become one
// line each and are cut at 2,000 bytes; an empty suggestion is the category's. Secrets are the
// caller's to remove.
std::string error_block(agent::Code code,
                        std::string_view message,
                        std::string_view suggestion,
                        bool is_idempotent = false);

// White space, line ends and control characters as single spaces; at most `limit` bytes.
std::string one_line(std::string_view text, std::size_t limit = 2'000);

}  // namespace tools

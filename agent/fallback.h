// For which failures another model is asked: words for classes of errors, and their one table.
#pragma once
#include "agent/error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace agent {

// In the table's order.
enum class FallbackReason : std::uint8_t {
  unavailable,
  rate_limited,
  bad_response,
  quota,
  model_not_found,
  auth,
  unsupported,
  context_overflow,
};

struct FallbackRow {
  FallbackReason reason;
  std::string_view word;  // in the agent file
  std::span<const Code> codes;
  bool is_standard;       // counts where the agent file names no reasons
  bool is_about_request;  // another request may well succeed: only this run stays away
};

std::span<const FallbackRow> fallback_table();
const FallbackRow& row(FallbackReason reason);
std::optional<FallbackReason> fallback_reason_from(std::string_view word);
// nullopt: no other model would be of help, or nobody may be asked behind the user's back.
std::optional<FallbackReason> fallback_reason(Code code);
std::vector<FallbackReason> standard_fallback_reasons();

}  // namespace agent

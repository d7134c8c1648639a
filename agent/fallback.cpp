#include "agent/fallback.h"

#include <algorithm>
#include <array>
#include <utility>

namespace agent {
namespace {

constexpr auto k_unavailable = std::to_array<Code>({
    Code::provider_network,
    Code::provider_timeout,
    Code::provider_unavailable,
    Code::provider_model_loading,
    Code::provider_stream_broken,
    Code::provider_circuit_open,
    Code::provider_other,
});
constexpr auto k_rate_limited =
    std::to_array<Code>({Code::provider_rate_limited, Code::provider_busy});
constexpr auto k_bad_response = std::to_array<Code>({Code::provider_bad_response});
constexpr auto k_quota = std::to_array<Code>({Code::provider_quota});
constexpr auto k_model_not_found = std::to_array<Code>({Code::provider_model_not_found});
constexpr auto k_auth = std::to_array<Code>({Code::provider_auth});
constexpr auto k_unsupported = std::to_array<Code>({Code::provider_unsupported});
constexpr auto k_context_overflow = std::to_array<Code>({Code::context_overflow});

// A wrong key and a model that cannot do the work are mistakes of the set-up, which a fallback
// would hide: they count only where the agent file asks for it. A refusal is an answer, and a
// request that is wrong is wrong everywhere: they have no word.
constexpr auto k_fallback_rows = std::to_array<FallbackRow>({
    {FallbackReason::unavailable, "unavailable", k_unavailable, true, false},
    {FallbackReason::rate_limited, "rate_limited", k_rate_limited, true, false},
    {FallbackReason::bad_response, "bad_response", k_bad_response, true, false},
    {FallbackReason::quota, "quota", k_quota, true, false},
    {FallbackReason::model_not_found, "model_not_found", k_model_not_found, true, false},
    {FallbackReason::auth, "auth", k_auth, false, false},
    {FallbackReason::unsupported, "unsupported", k_unsupported, false, true},
    {FallbackReason::context_overflow, "context_overflow", k_context_overflow, false, true},
});

}  // namespace

std::span<const FallbackRow> fallback_table() {
  return k_fallback_rows;
}

const FallbackRow& row(FallbackReason reason) {
  return k_fallback_rows.at(std::to_underlying(reason));
}

std::optional<FallbackReason> fallback_reason_from(std::string_view word) {
  const auto found = std::ranges::find(k_fallback_rows, word, &FallbackRow::word);
  return found == k_fallback_rows.end() ? std::nullopt : std::optional(found->reason);
}

std::optional<FallbackReason> fallback_reason(Code code) {
  const auto found = std::ranges::find_if(k_fallback_rows, [&](const FallbackRow& one) {
    return std::ranges::find(one.codes, code) != one.codes.end();
  });
  return found == k_fallback_rows.end() ? std::nullopt : std::optional(found->reason);
}

std::vector<FallbackReason> standard_fallback_reasons() {
  std::vector<FallbackReason> reasons;
  for (const FallbackRow& one : k_fallback_rows) {
    if (one.is_standard) {
      reasons.push_back(one.reason);
    }
  }
  return reasons;
}

}  // namespace agent

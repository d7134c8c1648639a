// When a conversation is made shorter, and how: decided from the state alone, like every step.
#pragma once
#include "agent/event.h"
#include "agent/state.h"

#include <cstdint>
#include <optional>

namespace agent {

// Tokens that the model that is asked next can take, or fewer where it has refused as many; 0:
// nobody knows, or context management is off.
std::int64_t window_of(const State& state);

// What is to be done before the next request, nullopt: nothing. Missing in it is what a summary
// says, what is pinned, and what comes of it.
//
// Results first, the old ones all at once, where that frees a fifth. Then a summary of the older
// turns. Where two summaries in a row have failed, or none could free a fifth: any result, the
// oldest first, and then whole turns without a summary.
std::optional<ContextCompacted> next_compaction(const State& state);
// After a request that was too large for the model, whatever the count says.
std::optional<ContextCompacted> compaction_after_overflow(const State& state);

// The longest summary of use, in tokens.
std::int64_t summary_limit(std::int64_t window);

}  // namespace agent

// Old turns as a summary: what the model is asked for it, and whether its answer is one.
#pragma once
#include "agent/error.h"
#include "agent/message.h"
#include "agent/state.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

// The fixed words before the question.
std::string_view summary_instructions();

// The question: the first `messages` of the conversation as the log has them, and the notes that
// were made of some of them before. What does not fit into `most_bytes` is cut, and it says where:
// of older messages first, so that the newest, which no notes have, are told best. `limit` is the
// length of the summary in tokens.
std::string summary_question(const State& state,
                             std::size_t messages,
                             std::size_t most_bytes,
                             std::int64_t limit);

// Why the answer is no summary (context.compaction_failed); nullopt: it is one.
std::optional<Error> why_no_summary(const Reply& reply, std::int64_t limit);

}  // namespace agent

// The pure function from a run's state to its next step: what a reply means, and what the limits
// still allow.
#pragma once
#include "agent/budget.h"
#include "agent/state.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace agent {

// Only until the first call: a model that must call a tool in every turn never ends.
std::string_view tool_choice(const State& state);

struct AskModel {
  std::optional<std::int64_t> max_output_tokens;  // what the budgets leave
};
struct RunTools {
  std::span<const ToolCall> calls;  // of State::open_calls
};
struct Say {
  UserSaid message;
};
struct Warn {
  LimitWarning warning;
};
struct Compact {
  ContextCompacted plan;  // see next_compaction
};
struct Finish {
  Ending ending;
};
using Step = std::variant<AskModel, RunTools, Say, Warn, Compact, Finish>;

Step next(const State& state);
// Before one more try of a request that has failed: to ask, to warn or to finish.
Step next_try(const State& state);

// As Budget's: where max_total_tokens and max_cost_usd are judged, whoever asks.
std::expected<std::optional<std::int64_t>, Ending> room_for(const State& state,
                                                            const Asking& asking);

// An ending at a setting of the agent file, with its Stop: which one, the exit table says.
Ending stopped_at(Code code, double used, double max, std::string message);

}  // namespace agent

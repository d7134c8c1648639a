// The pure function from a run's state to its next step: what a reply means, and what the limits
// still allow.
#pragma once
#include "agent/budget.h"
#include "agent/state.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agent {

// A model that must call a tool has to until the first call: else the run never ends. One that has
// to give its answer now may call none.
std::string_view tool_choice(const State& state);

struct AskModel {
  std::optional<std::int64_t> max_output_tokens;  // what the budgets leave
};
struct RunTools {
  std::span<const ToolCall> calls;  // of State::open_calls
};
struct RefuseTools {
  std::span<const ToolCall> calls;  // the same
  std::string_view why;
};
struct RunCheck {
  std::size_t index = 0;  // in the plan
  int attempt = 1;
};
struct SendBack {
  std::vector<CheckRan> failed;  // checks of the answer
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
using Step =
    std::variant<AskModel, RunTools, RefuseTools, RunCheck, SendBack, Say, Warn, Compact, Finish>;

Step next(const State& state);
// Before one more try of a request that has failed: to ask, to warn or to finish.
Step next_try(const State& state);

// How the answer ends the run, as it is: nothing comes of it any more.
Ending ending_of_answer(const State& state);

// The last turn, where a limit keeps a share for it; the loop knows when that of the time begins.
Step wrap_up(const State& state, Code limit);
constexpr std::int64_t k_kept_share = 10;  // one part of so many
// What ordinary turns may cost.
Limits before_the_share(Limits limits);
// Whether the model is yet to be told that its last turn comes.
bool may_wrap_up(const State& state);

// As Budget's: where max_total_tokens and max_cost_usd are judged, whoever asks.
std::expected<std::optional<std::int64_t>, Ending> room_for(const State& state,
                                                            const Asking& asking);

// The request that comes next.
Asking next_request(const State& state);
// As room_for, of limits that count for several runs. `by`: " by the flow", for messages.
std::expected<std::optional<std::int64_t>, Ending> room_within(const Limits& limits,
                                                               const Spending& spent,
                                                               const Asking& asking,
                                                               std::string_view by);

// An ending at a setting of the agent file, with its Stop: which one, the exit table says.
Ending stopped_at(Code code, double used, double max, std::string message);

}  // namespace agent

#include "agent/store/run_row.h"

#include "agent/text.h"

#include <chrono>
#include <type_traits>
#include <variant>

namespace agent::store {
namespace {

constexpr std::size_t k_prompt_excerpt = 200;  // bytes

class Fold {
 public:
  Fold(RunRow& row, const Event& event, const Redactor& redactor)
      : row_(row), event_(event), redactor_(redactor) {}

  void operator()(const RunStarted& started) {
    const std::int64_t time = to_milliseconds(event_.time);
    if (started.forked_from) {
      row_.started = time;
      row_.cost = Money{};
    }
    if (row_.agent.empty()) {
      row_.started = time;
      row_.agent = redactor_.apply(started.agent_name);
      const std::string prompt = redactor_.apply(started.prompt);
      row_.prompt = prefix(prompt, k_prompt_excerpt);
    }
    row_.begun = time;
    row_.model = redactor_.apply(started.model);
    row_.cwd = redactor_.apply(started.cwd);
    row_.session = redactor_.apply(started.session);
    row_.finished.reset();
    row_.exit_code.reset();
  }
  void operator()(const ModelResponded& responded) { row_.turns = responded.turn; }
  void operator()(const RunFinished& finished) {
    row_.finished = to_milliseconds(event_.time);
    row_.exit_code = finished.result.exit_code;
    row_.turns = finished.result.turns;
    row_.cost = finished.result.cost;
  }
  template <IsOneOf<TurnStarted,
                    UserSaid,
                    LimitWarning,
                    Warning,
                    ModelRequested,
                    ModelDelta,
                    ModelBroken,
                    ModelReset,
                    ModelRetrying,
                    ModelFallback,
                    ToolStarted,
                    ToolOutput,
                    ToolFinished,
                    ToolsAdded,
                    ApprovalRequested,
                    ApprovalAnswered,
                    RunParked,
                    HookRan,
                    GuardrailRan,
                    ContextCompacted,
                    CheckRan,
                    MemberStarted,
                    MemberFinished> Other>
  void operator()(const Other&) {}

 private:
  RunRow& row_;
  const Event& event_;
  const Redactor& redactor_;
};

}  // namespace

std::int64_t to_milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

void fold(RunRow& row, const Event& event, const Redactor& redactor) {
  row.run_id = event.run_id;
  row.updated = to_milliseconds(event.time);
  if (const auto use = use_in(event.body)) {
    row.cost = sum_of(row.cost, use->cost);
  }
  std::visit(Fold(row, event, redactor), event.body);
}

bool is_in_rows(std::string_view event_type) {
  return event_type == RunStarted::k_type || event_type == ModelResponded::k_type ||
         event_type == ModelBroken::k_type || event_type == GuardrailRan::k_type ||
         event_type == ContextCompacted::k_type || event_type == RunFinished::k_type;
}

}  // namespace agent::store

#include "agent/store/run_row.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>

namespace agent::store {
namespace {

constexpr std::size_t k_prompt_excerpt = 200;  // bytes

}  // namespace

class RowFold::Body {
 public:
  Body(RowFold& fold, const Event& event, const Redactor& redactor)
      : row_(fold.row_), members_(fold.members_), event_(event), redactor_(redactor) {}

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
  void operator()(const MemberFinished& member) {
    if (member.taken_from) {
      return;  // another run has paid for it
    }
    Bill& before = members_[name_of(member)];
    const Bill now{.turns = member.result.turns, .cost = member.result.cost};
    const bool is_known = now.cost && before.cost;
    row_.cost = sum_of(row_.cost, is_known ? std::optional(*now.cost - *before.cost) : now.cost);
    row_.turns +=
        member.call_id.empty() ? now.turns - before.turns : 0;  // a sub-agent's are its own
    before = now;
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
                    MemberStarted> Other>
  void operator()(const Other&) {}

 private:
  RunRow& row_;
  std::map<std::string, Bill>& members_;
  const Event& event_;
  const Redactor& redactor_;
};

std::string RowFold::name_of(const MemberFinished& member) {
  return fmt::format("{}@{}", member.member, member.round);
}

RowFold::RowFold(RunRow row, std::span<const Event> told) : row_(std::move(row)) {
  for (const Event& event : told) {
    if (const auto* member = std::get_if<MemberFinished>(&event.body)) {
      members_[name_of(*member)] = {.turns = member->result.turns, .cost = member->result.cost};
    }
  }
}

std::int64_t to_milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

void RowFold::add(const Event& event, const Redactor& redactor) {
  row_.run_id = event.run_id;
  row_.updated = to_milliseconds(event.time);
  if (const auto use = use_in(event.body)) {
    row_.cost = sum_of(row_.cost, use->cost);
  }
  std::visit(Body(*this, event, redactor), event.body);
}

bool is_in_rows(std::string_view event_type) {
  return event_type == RunStarted::k_type || event_type == ModelResponded::k_type ||
         event_type == ModelBroken::k_type || event_type == GuardrailRan::k_type ||
         event_type == ContextCompacted::k_type || event_type == MemberFinished::k_type ||
         event_type == RunFinished::k_type;
}

}  // namespace agent::store

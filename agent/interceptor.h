// Who may look at what a run does, change it or end it, at named points: hooks and guardrails, as a
// port. The loop asks; it does not know what a hook is.
#pragma once
#include "agent/budget.h"
#include "agent/event.h"
#include "agent/hook_decision.h"
#include "agent/hook_point.h"
#include "agent/message.h"
#include "agent/outcome.h"
#include "agent/toolbox.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

namespace agent {

// What is about to happen, or has just happened. Filled in is what belongs to the point; all
// borrowed.
struct HookContext {
  HookPoint point = HookPoint::run_start;
  std::int64_t turn = 0;
  std::string_view prompt;                     // of the run
  std::string_view text;                       // see HookPoint
  std::string_view kind;                       // notification: what of; run_end: the exit name
  const Conversation* conversation = nullptr;  // pre_model, post_model, pre_compact
  const Reply* reply = nullptr;                // post_model
  const ToolCall* call = nullptr;              // pre_tool_use, post_tool_use
  const ToolResult* result = nullptr;          // post_tool_use
  const RunResult* ending = nullptr;           // run_end
  bool again = false;                          // stop: a hook has sent the run on before
  int denials = 0;                             // stop: answers that were denied before
  bool is_partial = false;                     // stop: no answer, but what there is at an ending
  const Budget* budget = nullptr;              // for requests to models; null: without limits
};

class Interceptor {
 public:
  virtual ~Interceptor() = default;

  // On the loop's thread. `emit` hears of each that had its say; `stop` ends the waiting.
  virtual HookDecision judge(const HookContext& hook_context,
                             const Emit& emit,
                             std::stop_token stop) = 0;

  // Cheap: asked before each request and each call. Where there is one, the run ends with it.
  virtual std::optional<Error> killed() { return std::nullopt; }
};

}  // namespace agent

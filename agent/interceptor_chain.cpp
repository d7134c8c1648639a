#include "agent/interceptor_chain.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace agent {

HookDecision InterceptorChain::judge(const HookContext& hook_context,
                                     const Emit& emit,
                                     std::stop_token stop) {
  HookDecision all;
  ToolCall changed;
  for (Interceptor* interceptor : interceptors_) {
    HookContext seen = hook_context;
    if (all.text) {
      seen.text = *all.text;
    }
    if (all.text && hook_context.point == HookPoint::pre_tool_use && hook_context.call != nullptr) {
      changed = *hook_context.call;
      changed.arguments = *all.text;
      seen.call = &changed;
    }
    HookDecision one = interceptor->judge(seen, emit, stop);
    std::ranges::move(one.context, std::back_inserter(all.context));
    all.is_allowed = all.is_allowed || one.is_allowed;
    if (one.text) {
      all.text = std::move(one.text);
    }
    if (!all.question) {
      all.question = std::move(one.question);
    }
    if (one.ending || one.refusal) {
      all.ending = std::move(one.ending);
      all.stop = std::move(one.stop);
      all.refusal = std::move(one.refusal);
      all.is_denial = one.is_denial;
      break;
    }
  }
  return all;
}

std::optional<Error> InterceptorChain::killed() {
  for (Interceptor* interceptor : interceptors_) {
    if (auto error = interceptor->killed()) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace agent

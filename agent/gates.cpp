#include "agent/gates.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace agent {

Ruling Gates::judge(const Occasion& occasion, const Emit& emit, std::stop_token stop) {
  Ruling all;
  ToolCall changed;
  for (Gate* gate : gates_) {
    Occasion seen = occasion;
    if (all.text) {
      seen.text = *all.text;
    }
    if (all.text && occasion.point == Point::pre_tool_use && occasion.call != nullptr) {
      changed = *occasion.call;
      changed.arguments = *all.text;
      seen.call = &changed;
    }
    Ruling one = gate->judge(seen, emit, stop);
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
      all.refusal = std::move(one.refusal);
      all.is_denial = one.is_denial;
      break;
    }
  }
  return all;
}

std::optional<Error> Gates::killed() {
  for (Gate* gate : gates_) {
    if (auto error = gate->killed()) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace agent

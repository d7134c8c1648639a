// What hooks and guardrails say to something that is about to happen, or has just happened.
#pragma once
#include "agent/error.h"
#include "agent/outcome.h"

#include <optional>
#include <string>
#include <vector>

namespace agent {

struct HookDecision {
  std::optional<Error> ending = std::nullopt;         // the run ends, with this
  std::optional<Stop> stop = std::nullopt;            // where that is a limit
  std::optional<std::string> refusal = std::nullopt;  // it is not to be; why, for the model
  bool is_denial = false;                             // the refusal is a guardrail's
  std::optional<std::string> text = std::nullopt;     // in place of HookContext::text
  std::vector<std::string> context = {};              // more for the model to read
  // Of a call: whether a person has to be asked, as far as no rule of `permissions` says so.
  bool is_allowed = false;
  std::optional<std::string> question = std::nullopt;  // why a person is to be asked all the same
};

}  // namespace agent

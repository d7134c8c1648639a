// Flows that are steps of flows: how deep they stand in each other, how many steps all of them have
// together, and that none stands in itself.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"

#include <cstddef>
#include <optional>

namespace cli {

// A flow, and the one that it is a step of. All borrowed.
struct FlowNesting {
  const agent::AgentSpec& flow;
  const FlowNesting* outer = nullptr;  // null: it is the outermost
  std::size_t& steps;                  // of the outermost one, with those of all flows in it
};

constexpr std::size_t k_most_steps = 1'000;

// Why `inner`, a flow, cannot be that step of it; else its steps are counted. team.invalid.
std::optional<agent::Error> why_not_inside(const FlowNesting& nesting,
                                           const agent::StepSpec& step,
                                           const agent::AgentSpec& inner);

}  // namespace cli

// A part of a flow, run on what an earlier run of it has brought.
#pragma once
#include "agent/spec.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace agent::flow {

enum class Part : std::uint8_t {
  runs,
  taken,     // from the record of the earlier run: one that runs needs it
  left_out,  // nobody needs it
};

// One for each step: that step and all that come after it.
std::vector<Part> parts_from(std::span<const StepSpec> steps, std::size_t step);
// That step alone.
std::vector<Part> parts_of_one(std::span<const StepSpec> steps, std::size_t step);

// The steps as they are run then: what is left out has a `when` that does not hold, and only what
// runs is repeated.
void narrow(std::vector<StepSpec>& steps, std::span<const Part> parts);

}  // namespace agent::flow

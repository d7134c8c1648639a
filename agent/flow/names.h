// What the steps of a flow name, in all of their expressions.
#pragma once
#include "agent/flow/expression.h"
#include "agent/spec.h"

#include <span>
#include <string_view>
#include <vector>

namespace agent::flow {

// Those of `when`, `for_each`, `prompt` and `parameters` that can be read.
std::vector<Expression> expressions_of(const StepSpec& step);

// Whether one of them begins with that name.
bool names(const StepSpec& step, std::string_view name);
bool names_in(std::span<const StepSpec> steps, std::string_view name);  // of any of them

}  // namespace agent::flow

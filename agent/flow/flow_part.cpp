#include "agent/flow/flow_part.h"

#include <algorithm>

namespace agent::flow {
namespace {

// What those that run need, at whatever remove.
void take_needs(std::span<const StepSpec> steps, std::vector<Part>& parts) {
  std::vector<std::size_t> open;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (parts[step] == Part::runs) {
      open.push_back(step);
    }
  }
  while (!open.empty()) {
    const std::size_t step = open.back();
    open.pop_back();
    for (const std::size_t need : steps[step].needs) {
      if (parts[need] == Part::left_out) {
        parts[need] = Part::taken;
        open.push_back(need);
      }
    }
  }
}

}  // namespace

std::vector<Part> parts_from(std::span<const StepSpec> steps, std::size_t first) {
  std::vector<std::vector<std::size_t>> next(steps.size());  // who needs it
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const std::size_t need : steps[step].needs) {
      next[need].push_back(step);
    }
  }
  std::vector<Part> parts(steps.size(), Part::left_out);
  std::vector<std::size_t> open = {first};
  parts[first] = Part::runs;
  while (!open.empty()) {
    const std::size_t step = open.back();
    open.pop_back();
    for (const std::size_t after : next[step]) {
      if (parts[after] != Part::runs) {
        parts[after] = Part::runs;
        open.push_back(after);
      }
    }
  }
  take_needs(steps, parts);
  return parts;
}

std::vector<Part> parts_of_one(std::span<const StepSpec> steps, std::size_t step) {
  std::vector<Part> parts(steps.size(), Part::left_out);
  parts[step] = Part::runs;
  take_needs(steps, parts);
  return parts;
}

void narrow(std::vector<StepSpec>& steps, std::span<const Part> parts) {
  const bool is_one = std::ranges::count(parts, Part::runs) == 1;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (parts[step] == Part::left_out) {
      steps[step].when = "false";
    }
    const auto& repeat = steps[step].repeat;
    const bool repeats_other = repeat && parts[repeat->with] != Part::runs;
    if (parts[step] != Part::runs || (is_one && repeats_other)) {
      steps[step].repeat.reset();
    }
  }
}

}  // namespace agent::flow

#include "cli/flow_nesting.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::AgentSpec;
using agent::Error;

// Links are no way out of a circle.
fs::path real_file(const AgentSpec& flow) {
  std::error_code error;
  const fs::path file = agent::file_of(flow);
  const fs::path real = fs::weakly_canonical(file, error);
  return error ? file : real;
}

Error invalid(const agent::StepSpec& step, const std::string& message, std::string help) {
  return {.code = agent::Code::team_invalid,
          .message = fmt::format("step `{}`: {}", step.name, message),
          .help = std::move(help),
          .where = step.where};
}

std::string name_of(const AgentSpec& flow) {
  return agent::one_line(fs::path(flow.file).filename().string(), 60);
}

}  // namespace

std::optional<Error> why_not_inside(const FlowNesting& nesting,
                                    const agent::StepSpec& step,
                                    const AgentSpec& inner) {
  const fs::path file = real_file(inner);
  std::string way = name_of(inner);
  std::int64_t depth = 0;
  for (const FlowNesting* outer = &nesting; outer != nullptr; outer = outer->outer) {
    way = name_of(outer->flow) + " → " + way;
    if (real_file(outer->flow) == file) {
      return invalid(step,
                     fmt::format("the flow would be a step of itself: {}", way),
                     "`repeat` runs steps again; take this one out");
    }
    if (++depth > outer->flow.limits.max_depth) {
      return invalid(step,
                     fmt::format("flows stand {} deep in {}, and its `limits.max_depth` is {}: {}",
                                 depth,
                                 name_of(outer->flow),
                                 outer->flow.limits.max_depth,
                                 way),
                     "raise it, or write the steps of one into the other");
    }
  }
  nesting.steps += inner.steps.size();
  if (nesting.steps > k_most_steps) {
    return invalid(
        step,
        fmt::format("with those of its flows, the flow has more than {} steps", k_most_steps),
        "`for_each` runs one step for many items");
  }
  return std::nullopt;
}

}  // namespace cli

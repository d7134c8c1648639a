// A flow as a drawing: its steps and which come before which.
#pragma once
#include "agent/spec.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace agent::flow {

struct Graph {
  std::span<const StepSpec> steps;
  std::map<std::size_t, Graph> inner = {};  // of the steps that are flows
};

// For a terminal: steps that can run side by side stand together, with a line between them and what
// comes next.
std::string drawn_as_text(const Graph& graph);
// For what reads Mermaid, such as Markdown on a code host.
std::string drawn_as_mermaid(const Graph& graph);

}  // namespace agent::flow

// Markdown agents: front matter between two lines of `---`, then the instructions.
#pragma once
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/tree.h"

#include <optional>

namespace config {

struct MarkdownParts {
  Span front_matter;          // without its two lines
  std::optional<Value> body;  // the instructions as a text; absent where there are none
};

// nullopt where the front matter is missing or not closed: the reason is then in `problems`.
std::optional<MarkdownParts> split_markdown(const Source& source, Problems& problems);

}  // namespace config

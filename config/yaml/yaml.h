// YAML text into a tree of values: the one place that knows the YAML library. Stricter than YAML:
// no tags, merge keys, directives, second documents or duplicate keys, and everything is bounded.
#pragma once
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/tree.h"

#include <cstddef>
#include <optional>

namespace config {

struct YamlLimits {
  int depth = 64;
  std::size_t values = 20'000;         // after aliases are expanded
  std::size_t text_bytes = 4'194'304;  // of all scalars, after aliases are expanded
};

// The document in `part` of the source; a null where nothing stands there. nullopt
// where it is none, or where a limit is crossed: the reason is then in `problems`. Mistakes that
// leave a tree (duplicate keys, tags) are added to `problems` too.
std::optional<Value> parse_yaml(const Source& source,
                                Span part,
                                const YamlLimits& limits,
                                Problems& problems);

}  // namespace config

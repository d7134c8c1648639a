// Keys that stand in the file itself, where they do not belong.
#pragma once
#include "config/yaml/source.h"
#include "config/yaml/tree.h"

#include <vector>

namespace config {

// What looks like a key of a known kind, anywhere in the text, comments included.
std::vector<Span> find_key_shapes(const Source& source);

// The values of `api_key` and the like, and of headers that carry keys, that are no reference to
// the environment. The tree is that of an agent file before expansion.
std::vector<Span> find_literal_keys(const Value& root);

}  // namespace config

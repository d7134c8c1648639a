// `model.cost` of an agent file and a price of the user's settings.
#pragma once
#include "agent/price.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <optional>
#include <string_view>

namespace config {

// Dollars per million tokens, from the map that stands at `key`; nullopt where there is none.
std::optional<agent::Price> build_price(const Value& map, std::string_view key, Problems& problems);

}  // namespace config

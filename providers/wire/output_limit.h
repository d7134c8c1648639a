// How many tokens of an answer a model allows, as its provider says.
#pragma once
#include <cstdint>
#include <string_view>

namespace providers {

// Of `model` as the server names it; a cautious number for one that is unknown.
std::int64_t output_limit(std::string_view model);

}  // namespace providers

// How many tokens models take, where the table of prices does not say it, or says what is only
// given to those who ask for more than the ordinary.
#pragma once
#include <cstdint>
#include <string_view>

namespace providers {

// The window of `model` as its maker's own server has it, `in_table` where the table of prices has
// one; 0: nobody knows.
std::int64_t window_of_model(std::string_view model, std::int64_t in_table);

}  // namespace providers

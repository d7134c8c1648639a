// What is known of Anthropic's models by their name, whoever serves them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace providers {

// How many tokens the model may put out in one answer; a cautious number for one that is unknown.
std::int64_t claude_max_output(std::string_view model);

// The members of a request that ask for `effort` (as agent::ModelSpec::reasoning) of thinking,
// without a comma around; empty where the provider's default holds.
std::string claude_thinking(std::string_view model,
                            std::string_view effort,
                            std::int64_t max_output);

}  // namespace providers

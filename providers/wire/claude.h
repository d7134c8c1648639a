// What is known of Anthropic's models by their name, whoever serves them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace providers {

// How many tokens the model may put out in one answer; a cautious number for one that is unknown.
std::int64_t claude_max_output(std::string_view model);

// What a request asks of thinking for `effort` (as agent::ModelSpec::reasoning); empty parts are
// left to the provider.
struct ClaudeThinking {
  std::string thinking;  // the value of `thinking`, as JSON
  std::string effort;    // of models that know it: the value of `output_config.effort`
};
ClaudeThinking claude_thinking(std::string_view model,
                               std::string_view effort,
                               std::int64_t max_output);

// Whether the model can be held to a JSON Schema.
bool claude_takes_schema(std::string_view model);

}  // namespace providers

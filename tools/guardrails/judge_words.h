// What is said to a model that judges a text, and what it says: the fence around the text, and the
// one JSON object that an answer has to be.
#pragma once
#include <string>
#include <string_view>

namespace tools {

// A line that is nowhere in the text. The same for the same text: requests are recorded.
std::string judge_fence(std::string_view text);

// What the model wrote, without the fences of Markdown that some put around.
std::string_view bare_answer(std::string_view answer);

}  // namespace tools

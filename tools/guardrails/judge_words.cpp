#include "tools/guardrails/judge_words.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tools {

std::string judge_fence(std::string_view text) {
  std::string fence;
  for (int number = 1; fence.empty() || text.contains(fence); ++number) {
    fence = fmt::format("=== text {} ===", number);
  }
  return fence;
}

std::string_view bare_answer(std::string_view answer) {
  answer = agent::trimmed(answer);
  if (answer.starts_with("```") && answer.ends_with("```") && answer.size() > 6) {
    answer.remove_prefix(std::min(answer.find('\n'), answer.size() - 3));
    answer.remove_suffix(3);
  }
  return agent::trimmed(answer);
}

}  // namespace tools

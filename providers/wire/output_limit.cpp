#include "providers/wire/output_limit.h"

#include "providers/wire/claude.h"

#include <array>

namespace providers {
namespace {

struct ModelLimit {
  std::string_view prefix;
  std::int64_t max_output_tokens;
};
constexpr std::int64_t k_unknown_model_limit = 8'192;
// The longest prefix counts.
constexpr auto k_model_limits = std::to_array<ModelLimit>({
    {"gpt-3.5", 4'096},
    {"gpt-4", 4'096},
    {"gpt-4o", 16'384},
    {"gpt-4o-2024-05-13", 4'096},
    {"gpt-4.1", 32'768},
    {"gpt-5", 128'000},
    {"gpt-5-chat", 16'384},
    {"o1", 100'000},
    {"o1-mini", 65'536},
    {"o1-preview", 32'768},
    {"o3", 100'000},
    {"o4-mini", 100'000},
    {"gemini-1.5", 8'192},
    {"gemini-2.0", 8'192},
    {"gemini-2.5", 65'536},
    {"gemini-3", 65'536},
});

}  // namespace

std::int64_t output_limit(std::string_view model) {
  if (model.contains("claude")) {
    return claude_max_output(model);
  }
  const auto name = model.substr(model.rfind('/') + 1);  // gateways put the vendor before it
  const ModelLimit* best = nullptr;
  for (const auto& limit : k_model_limits) {
    if (name.starts_with(limit.prefix) &&
        (best == nullptr || limit.prefix.size() > best->prefix.size())) {
      best = &limit;
    }
  }
  return best == nullptr ? k_unknown_model_limit : best->max_output_tokens;
}

}  // namespace providers

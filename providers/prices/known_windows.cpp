#include "providers/prices/known_windows.h"

#include <algorithm>
#include <array>

namespace providers {
namespace {

struct KnownWindow {
  std::string_view prefix;
  std::int64_t window;
  bool is_most = false;  // more takes a word that errand does not send
};
// The longest prefix counts.
constexpr auto k_known_windows = std::to_array<KnownWindow>({
    {"claude-3", 200'000},
    {"claude-haiku-4", 200'000},
    {"claude-opus-4", 200'000},
    {"claude-sonnet-4", 200'000},
    {"claude-sonnet-4-0", 200'000, true},
    {"claude-sonnet-4-2", 200'000, true},
    {"claude-sonnet-4-5", 200'000, true},
    {"gemini-1.5", 1'000'000},
    {"gemini-2.0-flash", 1'000'000},
    {"gemini-2.5-flash", 1'000'000},
    {"gemini-2.5-pro", 1'000'000},
    {"gemini-3-flash", 1'000'000},
    {"gemini-3-pro-preview", 1'000'000},
    {"gpt-4.1", 1'000'000},
    {"gpt-4o", 128'000},
    {"gpt-5", 400'000},
    {"gpt-5-chat", 128'000},
    {"o1", 200'000},
    {"o1-mini", 128'000},
    {"o1-preview", 128'000},
    {"o3", 200'000},
    {"o4-mini", 200'000},
});

}  // namespace

std::int64_t window_of_model(std::string_view model, std::int64_t in_table) {
  auto name = model.substr(model.rfind('/') + 1);  // gateways put the vendor before it
  if (const auto at = name.find("claude"); at != std::string_view::npos) {
    name.remove_prefix(at);  // of Amazon: us.anthropic.claude-…
  }
  const KnownWindow* best = nullptr;
  for (const KnownWindow& known : k_known_windows) {
    if (name.starts_with(known.prefix) &&
        (best == nullptr || known.prefix.size() > best->prefix.size())) {
      best = &known;
    }
  }
  if (best == nullptr) {
    return in_table;
  }
  if (in_table == 0) {
    return best->window;
  }
  return best->is_most ? std::min(best->window, in_table) : in_table;
}

}  // namespace providers

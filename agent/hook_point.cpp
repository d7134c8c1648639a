#include "agent/hook_point.h"

#include <algorithm>
#include <array>

namespace agent {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, k_points> k_hook_point_names = {"run_start",
                                                                       "pre_model",
                                                                       "post_model",
                                                                       "pre_tool_use",
                                                                       "post_tool_use",
                                                                       "notification",
                                                                       "pre_compact",
                                                                       "stop",
                                                                       "run_end"};

}  // namespace

std::string_view to_string(HookPoint point) {
  return k_hook_point_names[static_cast<std::size_t>(point)];
}

std::optional<HookPoint> point_from(std::string_view name) {
  const auto found = std::ranges::find(k_hook_point_names, name);
  return found == k_hook_point_names.end()
             ? std::nullopt
             : std::optional(static_cast<HookPoint>(found - k_hook_point_names.begin()));
}

}  // namespace agent

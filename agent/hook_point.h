// The points of a run at which hooks and guardrails have their say.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agent {

enum class HookPoint : std::uint8_t {
  run_start,      // before anything else; text: the prompt
  pre_model,      // before each request
  post_model,     // text: the reply's
  pre_tool_use,   // text: the call's arguments, as JSON
  post_tool_use,  // text: the result's content
  notification,   // a person would want to know; text: what
  pre_compact,    // before the conversation is made shorter; text: how
  stop,           // the model is done; text: the answer
  run_end,        // whatever the ending
};
constexpr std::size_t k_points = 9;

constexpr bool is_about_a_call(HookPoint point) {
  return point == HookPoint::pre_tool_use || point == HookPoint::post_tool_use;
}

std::string_view to_string(HookPoint point);
std::optional<HookPoint> point_from(std::string_view name);

}  // namespace agent

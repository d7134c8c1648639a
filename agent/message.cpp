#include "agent/message.h"

#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace agent {

static_assert(sizeof(Usage) == k_usage_counts.size() * sizeof(std::int64_t));

Usage& Usage::operator+=(const Usage& other) {
  for (const UsageCount& one : k_usage_counts) {
    this->*one.count += other.*one.count;
  }
  return *this;
}

Usage& Usage::operator-=(const Usage& part) {
  for (const UsageCount& one : k_usage_counts) {
    this->*one.count -= part.*one.count;
  }
  return *this;
}

std::string as_recorded(std::string_view arguments) {
  std::optional<std::string> repeated_name;
  const auto json = parse_json(arguments, repeated_name);
  const bool is_plain = json && json->is_object() && !repeated_name;
  return is_plain ? dump(*json) : std::string(arguments);
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::end_turn:
      return "end_turn";
    case StopReason::tool_use:
      return "tool_use";
    case StopReason::max_tokens:
      return "max_tokens";
    case StopReason::stop_sequence:
      return "stop_sequence";
    case StopReason::content_filter:
      return "content_filter";
    case StopReason::refusal:
      return "refusal";
    case StopReason::pause:
      return "pause";
    case StopReason::context_window:
      return "context_window";
    case StopReason::malformed_tool_call:
      return "malformed_tool_call";
    case StopReason::guardrail_intervened:
      return "guardrail_intervened";
    case StopReason::error:
      return "error";
    case StopReason::unknown:
      return "unknown";
  }
  std::unreachable();
}

bool lets_calls_run(StopReason reason) {
  switch (reason) {
    case StopReason::end_turn:
    case StopReason::tool_use:
    case StopReason::stop_sequence:
    case StopReason::pause:
    case StopReason::unknown:  // some servers have no word for it
      return true;
    case StopReason::max_tokens:
    case StopReason::content_filter:
    case StopReason::refusal:
    case StopReason::context_window:
    case StopReason::malformed_tool_call:
    case StopReason::guardrail_intervened:
    case StopReason::error:
      return false;
  }
  std::unreachable();
}

std::int64_t bytes_of(const Reply& reply) {
  std::size_t bytes = reply.text.size() + reply.reasoning.size();
  for (const ToolCall& call : reply.tool_calls) {
    bytes += call.name.size() + call.arguments.size();
  }
  return static_cast<std::int64_t>(bytes);
}

StopReason stop_reason_from(std::string_view name) {
  for (int value = 0; value < static_cast<int>(StopReason::unknown); ++value) {
    const auto reason = static_cast<StopReason>(value);
    if (to_string(reason) == name) {
      return reason;
    }
  }
  return StopReason::unknown;
}

std::string_view to_string(ToolStatus status) {
  switch (status) {
    case ToolStatus::ok:
      return "ok";
    case ToolStatus::failed:
      return "failed";
    case ToolStatus::invalid:
      return "invalid";
    case ToolStatus::denied:
      return "denied";
    case ToolStatus::timed_out:
      return "timed_out";
    case ToolStatus::cancelled:
      return "cancelled";
    case ToolStatus::not_run:
      return "not_run";
  }
  std::unreachable();
}

ToolStatus tool_status_from(std::string_view name) {
  for (int value = 0; value < static_cast<int>(ToolStatus::not_run); ++value) {
    const auto status = static_cast<ToolStatus>(value);
    if (to_string(status) == name) {
      return status;
    }
  }
  return ToolStatus::not_run;
}

}  // namespace agent

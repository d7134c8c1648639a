#include "tools/mcp/trace_context.h"

#include "agent/random_bytes.h"
#include "agent/sha256.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tools::mcp {
namespace {

constexpr std::size_t k_trace_digits = 32;
constexpr std::size_t k_span_digits = 16;
constexpr std::size_t k_length = 55;  // of version 00; a later one may be longer
constexpr std::string_view k_sampled = "01";

bool are_digits(std::string_view text) {
  return std::ranges::all_of(
      text, [](char one) { return agent::is_digit(one) || (one >= 'a' && one <= 'f'); });
}

bool is_id(std::string_view text) {
  return are_digits(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_traceparent(std::string_view text) {
  if (text.size() < k_length || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return false;
  }
  const std::string_view version = text.substr(0, 2);
  const bool is_right_length =
      text.size() == k_length || (version != "00" && text[k_length] == '-');
  return is_right_length && are_digits(version) && version != "ff" &&
         is_id(text.substr(3, k_trace_digits)) && is_id(text.substr(36, k_span_digits)) &&
         are_digits(text.substr(53, 2));
}

}  // namespace

TraceContext trace_context(std::string_view traceparent, std::string_view seed) {
  if (is_traceparent(traceparent)) {
    return {.trace_id = std::string(traceparent.substr(3, k_trace_digits)),
            .flags = std::string(traceparent.substr(53, 2))};
  }
  return {.trace_id = agent::sha256_hex(seed).substr(0, k_trace_digits),
          .flags = std::string(k_sampled)};
}

std::string traceparent_of(const TraceContext& trace) {
  const auto bytes = agent::random_bytes(k_span_digits / 2);
  if (!bytes) {
    return {};
  }
  std::string span;
  for (const char byte : *bytes) {
    span += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return fmt::format("00-{}-{}-{}", trace.trace_id, span, trace.flags);
}

}  // namespace tools::mcp

// Of which trace the requests to servers are a part: W3C Trace Context.
#pragma once
#include <string>
#include <string_view>

namespace tools::mcp {

struct TraceContext {
  std::string trace_id;  // 32 hexadecimal digits; empty: requests are part of none
  std::string flags;     // 2 of them

  bool operator==(const TraceContext&) const = default;
};

// The trace that `traceparent` is of; where that is none, a new one, the same for the same `seed`.
TraceContext trace_context(std::string_view traceparent, std::string_view seed);

// What one request says of it, with a span of its own. Empty where the kernel gives no random
// bytes.
std::string traceparent_of(const TraceContext& trace);

}  // namespace tools::mcp

#include "tools/mcp/trace_context.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using tools::mcp::trace_context;
using tools::mcp::TraceContext;

TEST_CASE("trace_context: a trace that was begun elsewhere is carried on") {
  const std::string trace(32, 'a');
  const std::string span = "00f067aa0ba902b7";
  CHECK(trace_context("00-" + trace + "-" + span + "-00", "x") ==
        TraceContext{.trace_id = trace, .flags = "00"});
  CHECK(trace_context("cc-" + trace + "-" + span + "-01-what-will-be", "x") ==
        TraceContext{.trace_id = trace, .flags = "01"});
}

TEST_CASE("trace_context: what is no trace begins one, the same for the same run") {
  const std::string trace(32, 'a');
  const std::string span = "00f067aa0ba902b7";
  const std::vector<std::string> rows = {"",
                                         "00-" + trace + "-" + span,
                                         "00-" + trace + "-" + span + "-01-more",
                                         "00-" + trace + "-" + span + "-0g",
                                         "ff-" + trace + "-" + span + "-01",
                                         "00-" + std::string(32, '0') + "-" + span + "-01",
                                         "00-" + trace + "-" + std::string(16, '0') + "-01",
                                         "00-" + std::string(32, 'A') + "-" + span + "-01",
                                         "00_" + trace + "-" + span + "-01",
                                         "cc-" + trace + "-" + span + "-01x"};
  const TraceContext begun = trace_context("", "run");
  CHECK(begun.trace_id.size() == 32);
  CHECK(begun.trace_id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(begun.flags == "01");
  CHECK(trace_context("", "another run") != begun);
  for (const std::string& row : rows) {
    CAPTURE(row);
    CHECK(trace_context(row, "run") == begun);
  }
}

TEST_CASE("trace_context: each request is a span of its own") {
  const TraceContext trace{.trace_id = std::string(32, 'b'), .flags = "01"};
  const std::string one = tools::mcp::traceparent_of(trace);
  CHECK(one.size() == 55);
  CHECK(trace_context(one, "") == trace);
  CHECK(tools::mcp::traceparent_of(trace) != one);
}

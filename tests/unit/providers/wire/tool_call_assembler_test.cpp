#include "providers/wire/tool_call_assembler.h"

#include "tests/support/linear.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>

namespace {

double seconds_to_play(const std::string& body) {
  const auto wire =
      providers::make_openai_chat({.provider = "local", .model = "m", .base_url = "http://h"});
  return tests::seconds_of([&] { tests::play(*wire, body, {}, [] { return 16'384; }); });
}

}  // namespace

TEST_CASE("wire: many calls in one reply cost as much as each of them", "[providers]") {
  CHECK(tests::grows_linearly(1'000, [](std::size_t n) {
    std::string body;
    for (std::size_t i = 0; i < n; ++i) {
      body += fmt::format(
          R"(data: {{"choices":[{{"delta":{{"tool_calls":[{{"index":{0},"id":"call_{0}","function":{{"name":"a","arguments":"{{}}"}}}}],"reasoning_details":[{{"index":{0},"type":"t","text":"a"}}]}}}}]}})",
          i);
      body += "\n\n";
    }
    return seconds_to_play(body);
  }));
}

TEST_CASE("wire: a call whose name comes with each piece is read once", "[providers]") {
  CHECK(tests::grows_linearly(1'000, [](std::size_t n) {
    std::string body;
    for (std::size_t i = 0; i < n; ++i) {
      body +=
          R"(data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"[1,2,3,4,5,6,7,8],[{}"}}]}}]})";
      body += "\n\n";
    }
    return seconds_to_play(body);
  }));
}

#include "providers/wire/tool_call_assembler.h"

#include "tests/support/linear.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

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

TEST_CASE("wire: blanks in place of arguments are left out, and counted", "[providers]") {
  providers::ToolCallAssembler assembler;
  assembler.add_call("a", "f", std::string(4'000, ' '));
  assembler.add_call("b", "f", R"( {"x": 1} )");
  assembler.add_call("c", "f", "");
  CHECK(assembler.blanks() == 4'000);
  const auto calls = std::move(assembler).finish("seed", false);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].arguments == "{}");
  CHECK(calls[1].arguments == R"( {"x": 1} )");
}

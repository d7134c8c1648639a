#include "providers/prices/known_windows.h"

#include <catch2/catch.hpp>

TEST_CASE("known windows: the table counts, but for windows that an ordinary request does not get",
          "[providers]") {
  using providers::window_of_model;
  CHECK(window_of_model("claude-haiku-4-5", 0) == 200'000);
  CHECK(window_of_model("claude-haiku-4-5", 100'000) == 100'000);
  CHECK(window_of_model("claude-sonnet-4-5-20250929", 1'000'000) == 200'000);
  CHECK(window_of_model("claude-sonnet-4-6", 1'000'000) == 1'000'000);
  CHECK(window_of_model("us.anthropic.claude-sonnet-4-5-v1:0", 0) == 200'000);
  CHECK(window_of_model("anthropic/claude-3-haiku", 0) == 200'000);
  CHECK(window_of_model("gpt-5-chat-latest", 0) == 128'000);
  CHECK(window_of_model("gpt-5-mini", 0) == 400'000);
  CHECK(window_of_model("a-model", 0) == 0);
  CHECK(window_of_model("a-model", 5'000) == 5'000);
}

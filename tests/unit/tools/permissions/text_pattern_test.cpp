#include "tools/permissions/text_pattern.h"

#include "tests/support/linear.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("text_pattern: a text that nearly fits everywhere costs no more", "[tools]") {
  CHECK(tests::grows_linearly(5'000, [](std::size_t n) {
    const tools::TextPattern pattern("*" + std::string(n, 'a') + "b*");
    const std::string text(4 * n, 'a');
    return tests::seconds_of([&] { CHECK_FALSE(pattern.covers(text)); });
  }));
}

#include "tools/files/find_text.h"

#include "tests/support/linear.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("find_text: finds what find finds", "[tools]") {
  const std::string text = "abcabcabd";
  for (const std::string wanted : {"a", "abc", "abd", "abcabd", "d", "x", "abcabcabda", ""}) {
    for (std::size_t from = 0; from <= text.size() + 1; ++from) {
      CAPTURE(wanted, from);
      CHECK(tools::find_text(text, wanted, from) == text.find(wanted, from));
    }
  }
}

TEST_CASE("find_text: a text that nearly stands there everywhere costs no more", "[tools]") {
  CHECK(tests::grows_linearly(50'000, [](std::size_t n) {
    const std::string text(8 * n, 'a');
    const std::string wanted = std::string(n, 'a') + 'b' + std::string(n, 'a');
    return tests::seconds_of([&] { CHECK(tools::find_text(text, wanted) == std::string::npos); });
  }));
}

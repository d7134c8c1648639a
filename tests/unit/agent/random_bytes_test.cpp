#include "agent/random_bytes.h"

#include <catch2/catch.hpp>

#include <set>

TEST_CASE("random_bytes: as many as were asked for, and others each time", "[agent]") {
  std::set<std::string> seen;
  for (int count = 0; count < 100; ++count) {
    const auto bytes = agent::random_bytes(32);
    REQUIRE(bytes);
    CHECK(bytes->size() == 32);
    CHECK(seen.insert(*bytes).second);
  }
}

#include "agent/secrets/known_values.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

Places places_one_by_one(const std::vector<std::string>& values, std::string_view text) {
  Places places;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t longest = 0;
    for (const std::string& value : values) {
      longest = text.substr(at).starts_with(value) ? std::max(longest, value.size()) : longest;
    }
    if (longest > 0) {
      places.emplace_back(at, longest);
    }
  }
  return places;
}

std::size_t open_end_one_by_one(const std::vector<std::string>& values, std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& value : values) {
    for (std::size_t length = 1; length < value.size() && length <= text.size(); ++length) {
      if (text.ends_with(std::string_view(value).substr(0, length))) {
        longest = std::max(longest, length);
      }
    }
  }
  return longest;
}

}  // namespace

TEST_CASE("known values: found as if each were looked for by itself", "[agent]") {
  std::mt19937 chance(1);
  const auto word = [&](std::size_t size) {
    std::string made(size, 'a');
    std::ranges::generate(made, [&] { return "ab\xC3"[chance() % 3]; });
    return made;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> values;
    agent::KnownValues known;
    CHECK(known.open_end_of("aaaa") == 0);
    for (int number = 0; number < 12; ++number) {
      std::string value = word(8 + chance() % 4);
      values.push_back(value);
      values.push_back(value + word(1 + chance() % 3));  // that begins with another one
      known.add({values.end() - 2, values.end()});
    }
    std::string text = word(40);
    text += values[chance() % values.size()] + values[chance() % values.size()];
    CHECK(known.places_in(text) == places_one_by_one(values, text));
    CHECK(known.open_end_of(text) == open_end_one_by_one(values, text));
    text.resize(text.size() - 3);
    CHECK(known.open_end_of(text) == open_end_one_by_one(values, text));
  }
}

TEST_CASE("known values: those that are too short are left out, and others are there once",
          "[agent]") {
  agent::KnownValues known;
  CHECK(known.is_empty());
  known.add({"short", "long enough", "long enough"});
  known.add({"long enough"});
  CHECK(known.longest() == 11);
  CHECK(known.places_in("short long enough") == Places{{6, 11}});
}

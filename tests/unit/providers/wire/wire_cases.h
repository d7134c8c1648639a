// What the tests of all wire protocols ask.
#pragma once
#include "agent/error.h"
#include "agent/message.h"
#include "providers/wire/wire.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace tests {

inline agent::Reply read(const providers::Wire& wire, const std::string& body) {
  const Played played = play(wire, body);
  INFO((played.reply ? "" : played.reply.error().message));
  REQUIRE(played.reply);
  CHECK(played.text == played.reply->text);
  CHECK(played.reasoning == played.reply->reasoning);
  return *played.reply;
}

// The name of the error that the answer is, or "none".
inline std::string_view failure(const providers::Wire& wire, const std::string& body) {
  const Played played = play(wire, body);
  return played.reply ? "none" : agent::row(played.reply.error().code).name;
}

// However the bytes are cut, the answer is the same.
inline void check_any_cut(const providers::Wire& wire, std::string_view body) {
  const Played whole = play(wire, body);
  INFO((whole.reply ? "" : whole.reply.error().message));
  REQUIRE(whole.reply);
  const auto check = [&](const Played& cut) {
    REQUIRE(cut.reply);
    CHECK(*cut.reply == *whole.reply);
    CHECK(cut.text == whole.text);
    CHECK(cut.reasoning == whole.reasoning);
  };
  for (std::size_t size = 1; size < body.size(); ++size) {
    check(play(wire, body, {}, [&] { return size; }));
  }
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    check(play_in_pieces(wire, body, {}, seed));
  }
}

// Whatever becomes of some bytes: an answer or an error with words, never a crash. How many of the
// 1,000 spoilt forms could still be read.
inline int answers_of_broken_bytes(const providers::Wire& wire, std::string_view body) {
  constexpr std::string_view k_bytes = "{}[]\":,0n\\\n\xFF d.$";
  constexpr std::uint32_t k_forms = 1000;
  int answers = 0;
  for (std::uint32_t seed = 0; seed < k_forms; ++seed) {
    std::mt19937 rng(seed);
    std::string broken(body);
    for (int i = 0; i < 3; ++i) {
      broken[rng() % broken.size()] = k_bytes[rng() % k_bytes.size()];
    }
    const Played played = play_in_pieces(wire, broken, {}, seed);
    answers += played.reply ? 1 : 0;
    if (played.reply) {
      CHECK(played.text == played.reply->text);
      CHECK(played.reasoning == played.reply->reasoning);
    } else {
      CHECK_FALSE(played.reply.error().message.empty());
    }
  }
  CHECK(answers < static_cast<int>(k_forms));
  return answers;
}

// What stands between the brackets.
inline std::string encoded(const providers::Wire& wire, std::span<const agent::Message> messages) {
  std::string body = "[";
  wire.append_messages(body, messages, nullptr);
  return body.substr(1);
}

}  // namespace tests

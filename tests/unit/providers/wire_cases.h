// Plays hand-written answers into a wire protocol.
#pragma once
#include "agent/event.h"
#include "agent/message.h"
#include "providers/wire.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tests {

struct Played {
  agent::Result<agent::Reply> reply;
  std::string text;       // what was streamed
  std::string reasoning;  // what was streamed
};

// `next_size` says how many bytes the next piece has.
template <typename NextSize>
Played play(const providers::Wire& wire,
            std::string_view body,
            const agent::Headers& headers,
            NextSize next_size) {
  Played played{.reply = agent::fail(agent::Code::internal, "not finished")};
  const agent::Emit emit = [&](agent::EventBody event) {
    const auto& delta = std::get<agent::ModelDelta>(event);
    (delta.kind == agent::ModelDelta::Kind::text ? played.text : played.reasoning) += delta.text;
  };
  const auto decoder = wire.decoder();
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, next_size());
    body.remove_prefix(piece.size());
    if (auto fed = decoder->feed(piece, emit); !fed) {
      played.reply = agent::fail(std::move(fed).error());
      return played;
    }
  }
  played.reply = decoder->finish(headers, emit);
  return played;
}

inline Played play(const providers::Wire& wire, std::string_view body) {
  return play(wire, body, {}, [] { return std::string_view::npos; });
}

inline Played play_in_pieces(const providers::Wire& wire,
                             std::string_view body,
                             const agent::Headers& headers,
                             std::uint32_t seed) {
  std::mt19937 rng(seed);
  return play(wire, body, headers, [&]() -> std::size_t {
    constexpr std::size_t k_sizes[] = {1, 2, 3, 7, 40, 200, 1000, 4000};
    return k_sizes[rng() % std::size(k_sizes)];
  });
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
  for (std::size_t size = 1; size < body.size(); size += 1 + size / 16) {
    check(play(wire, body, {}, [&] { return size; }));
  }
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    check(play_in_pieces(wire, body, {}, seed));
  }
}

// Whatever becomes of some bytes: an answer or an error with words, never a crash. Some of the
// spoilt answers can still be read, where the framing has no checksum.
inline void check_broken_bytes(const providers::Wire& wire, std::string_view body) {
  constexpr std::string_view k_bytes = "{}[]\":,0n\\\n\xFF d.$";
  constexpr std::uint32_t k_times = 500;
  std::uint32_t answers = 0;
  for (std::uint32_t seed = 0; seed < k_times; ++seed) {
    std::mt19937 rng(seed);
    std::string broken(body);
    for (int i = 0; i < 3; ++i) {
      broken[rng() % broken.size()] = k_bytes[rng() % k_bytes.size()];
    }
    const Played played = play_in_pieces(wire, broken, {}, seed);
    answers += played.reply ? 1 : 0;
    CHECK((played.reply || !played.reply.error().message.empty()));
  }
  CHECK(answers < k_times);
}

// What stands between the brackets.
inline std::string encoded(const providers::Wire& wire, std::span<const agent::Message> messages) {
  std::string body = "[";
  wire.append_messages(body, messages, nullptr);
  return body.substr(1);
}

}  // namespace tests

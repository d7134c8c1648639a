// Plays the bytes of an answer into a wire protocol.
#pragma once
#include "agent/event.h"
#include "agent/message.h"
#include "providers/wire/wire.h"

#include <cstdint>
#include <iterator>
#include <random>
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

}  // namespace tests

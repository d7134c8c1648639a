// How fast one protocol's decoder reads an answer: prints MB/s and bytes of the body, after at
// least one second of work. The bytes come in pieces of 16 KiB, as from libcurl. Usage:
// bench_decode PROTOCOL FILE SECONDS
#include "providers/wire/wire.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);
constexpr auto k_protocols = std::to_array<std::pair<std::string_view, Make>>({
    {"anthropic_messages", providers::make_anthropic_messages},
    {"bedrock", providers::make_bedrock},
    {"gemini", providers::make_gemini},
    {"ollama", providers::make_ollama},
    {"openai_chat", providers::make_openai_chat},
    {"openai_responses", providers::make_openai_responses},
});
constexpr std::size_t k_piece = 16'384;

bool decode(const providers::Wire& wire, std::string_view body) {
  const agent::Emit emit = [](const agent::EventBody&) {};
  const auto decoder = wire.decoder();
  while (!body.empty()) {
    const auto piece = body.substr(0, k_piece);
    body.remove_prefix(piece.size());
    if (!decoder->feed(piece, emit)) {
      return false;
    }
  }
  return decoder->finish({}, emit).has_value();
}

}  // namespace

int main(int count, char** arguments) {
  const auto* const protocol = count == 4
                                   ? std::ranges::find(k_protocols,
                                                       std::string_view(arguments[1]),
                                                       &std::pair<std::string_view, Make>::first)
                                   : k_protocols.end();
  if (protocol == k_protocols.end()) {
    std::fputs("usage: bench_decode PROTOCOL FILE SECONDS\n", stderr);
    return 2;
  }
  std::ifstream file(arguments[2], std::ios::binary);
  const std::string body((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto wire = protocol->second({.provider = "p", .model = "m", .base_url = "http://h"});
  const double seconds = std::strtod(arguments[3], nullptr);  // once at least
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{0};
  double bytes = 0;
  do {
    if (!decode(*wire, body)) {
      std::fprintf(stderr, "bench_decode: %s is no whole answer\n", arguments[2]);
      return 1;
    }
    bytes += static_cast<double>(body.size());
    passed = std::chrono::steady_clock::now() - start;
  } while (passed.count() < seconds);
  std::printf("%.1f %zu\n", bytes / 1e6 / passed.count(), body.size());
  return 0;
}

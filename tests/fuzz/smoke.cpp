// Plays each seed, and some spoilt forms of it, to its target: the same ones every time.
//
//     fuzz_smoke CORPUS     # CORPUS/TARGET/seed…
#include "tests/fuzz/targets.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace {

constexpr int k_forms = 50;

std::string spoilt(std::string bytes, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto place = [&] { return bytes.empty() ? 0 : rng() % bytes.size(); };
  for (int change = 0; change < 4 && !bytes.empty(); ++change) {
    switch (rng() % 4) {
      case 0:
        bytes[place()] = static_cast<char>(rng());
        break;
      case 1:
        bytes.erase(place(), 1 + rng() % 16);
        break;
      case 2:
        bytes.insert(place(), bytes.substr(place(), rng() % 32));
        break;
      default:
        bytes.resize(1 + place());
    }
  }
  return bytes;
}

int play(const fuzz::Target& target, const std::filesystem::path& folder) {
  int seeds = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    target.run(bytes);
    for (std::uint32_t form = 0; form < k_forms; ++form) {
      target.run(spoilt(bytes, form));
    }
    ++seeds;
  }
  return seeds;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_smoke CORPUS\n");
    return 2;
  }
  int passed = 0;
  int failed = 0;
  for (const fuzz::Target& target : fuzz::targets()) {
    const int seeds = play(target, std::filesystem::path(arguments[1]) / target.name);
    std::printf("%-20s %d seeds, %d forms each\n", target.name.data(), seeds, k_forms + 1);
    (seeds > 0 ? passed : failed) += 1;
  }
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

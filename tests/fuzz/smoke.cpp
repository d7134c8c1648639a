// Plays each seed, and some spoilt forms of it, to its target: the same ones every time.
//
//     fuzz_smoke CORPUS     # CORPUS/TARGET/seed…
#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

// Nothing that comes from outside ends in an exception: the one that does is shown.
void run(const fuzz::Target& target, const std::string& bytes) {
  try {
    target.run(bytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s:\n%s\n", target.name.data(), error.what(), bytes.c_str());
    std::abort();
  }
}

// Where JSON has a text as a value: from its opening quote to behind its closing one.
std::vector<std::pair<std::size_t, std::size_t>> texts_in(const std::string& bytes) {
  std::vector<std::pair<std::size_t, std::size_t>> texts;
  std::size_t at = 0;
  while ((at = bytes.find('"', at)) != std::string::npos) {
    std::size_t end = at + 1;
    while (end < bytes.size() && bytes[end] != '"' && bytes[end] != '\n') {
      end += bytes[end] == '\\' ? 2 : 1;
    }
    if (end >= bytes.size()) {
      break;
    }
    const std::size_t next = bytes.find_first_not_of(" \t", end + 1);
    if (bytes[end] == '"' && (next == std::string::npos || bytes[next] != ':')) {
      texts.emplace_back(at, end + 1);
    }
    at = end + 1;
  }
  return texts;
}

// Where a map or a list is a value: from its bracket to behind the one that closes it.
std::vector<std::pair<std::size_t, std::size_t>> groups_in(const std::string& bytes) {
  std::vector<std::pair<std::size_t, std::size_t>> groups;
  std::vector<std::size_t> open;
  bool is_in_text = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char one = bytes[at];
    if (one == '"' || (is_in_text && one == '\\')) {
      is_in_text = one == '"' ? !is_in_text : is_in_text;
      at += one == '"' ? 0 : 1;
    } else if (!is_in_text && (one == '{' || one == '[')) {
      open.push_back(at);
    } else if (!is_in_text && (one == '}' || one == ']') && !open.empty()) {
      groups.emplace_back(open.back(), at + 1);
      open.pop_back();
    }
  }
  return groups;
}

// Each value in turn is something else: whoever reads it has to look.
int play_other_types(const fuzz::Target& target, const std::string& bytes) {
  constexpr std::size_t k_most = 200;
  int forms = 0;
  auto values = texts_in(bytes);
  std::ranges::move(groups_in(bytes), std::back_inserter(values));
  for (std::size_t at = 0; at < std::min(values.size(), k_most); ++at) {
    for (const char* other : {"7", "1e400", "null", "true", "{\"a\":1}", "[1]", "\"\""}) {
      std::string form = bytes;
      form.replace(values[at].first, values[at].second - values[at].first, other);
      run(target, form);
      ++forms;
    }
  }
  return forms;
}

int play(const fuzz::Target& target, const std::filesystem::path& folder, int& forms) {
  int seeds = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    run(target, bytes);
    for (std::uint32_t form = 0; form < k_forms; ++form) {
      run(target, spoilt(bytes, form));
    }
    forms += k_forms + 1 + (target.has_checksums ? 0 : play_other_types(target, bytes));
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
    int forms = 0;
    const int seeds = play(target, std::filesystem::path(arguments[1]) / target.name, forms);
    std::printf("%-20s %d seeds, %d forms in all\n", target.name.data(), seeds, forms);
    (seeds > 0 ? passed : failed) += 1;
  }
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

#include "agent/secrets/known_values.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace agent {
namespace {

std::uint64_t start_of(const char* text) {
  std::uint64_t start = 0;
  static_assert(sizeof start == KnownValues::k_shortest);
  std::memcpy(&start, text, sizeof start);
  return start;
}

// Of 65,536.
std::size_t bit_of(std::uint64_t start) {
  return static_cast<std::size_t>((start * 0x9E37'79B9'7F4A'7C15u) >> 48);
}

}  // namespace

void KnownValues::add(std::vector<std::string> values) {
  std::erase_if(values, [](const std::string& value) { return value.size() < k_shortest; });
  std::ranges::move(values, std::back_inserter(values_));
  std::ranges::sort(values_, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  const auto repeated = std::ranges::unique(values_);
  values_.erase(repeated.begin(), repeated.end());
  by_start_.clear();
  for (std::size_t index = 0; index < values_.size(); ++index) {
    const std::uint64_t start = start_of(values_[index].data());
    by_start_[start].push_back(index);
    starts_[bit_of(start) / 64] |= std::uint64_t{1} << (bit_of(start) % 64);
  }
}

std::vector<std::pair<std::size_t, std::size_t>> KnownValues::places_in(
    std::string_view text) const {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  if (values_.empty()) {
    return places;
  }
  for (std::size_t at = 0; at + k_shortest <= text.size(); ++at) {
    const std::uint64_t start = start_of(text.data() + at);
    if ((starts_[bit_of(start) / 64] >> (bit_of(start) % 64) & 1u) == 0) {
      continue;
    }
    const auto found = by_start_.find(start);
    if (found == by_start_.end()) {
      continue;
    }
    for (const std::size_t index : found->second) {
      if (text.substr(at).starts_with(values_[index])) {
        places.emplace_back(at, values_[index].size());
        break;  // the longest
      }
    }
  }
  return places;
}

}  // namespace agent

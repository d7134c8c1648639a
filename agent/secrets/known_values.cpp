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
  std::ranges::sort(values);
  const auto known = static_cast<std::ptrdiff_t>(values_.size());
  std::ranges::move(values, std::back_inserter(values_));
  std::ranges::inplace_merge(values_, values_.begin() + known);
  const auto repeated = std::ranges::unique(values_);
  values_.erase(repeated.begin(), repeated.end());
  find_shorter();
  find_starts();
}

// Those that a value begins with come before it, and between them nothing that does not begin so.
void KnownValues::find_shorter() {
  shorter_.assign(values_.size(), k_none);
  for (std::size_t index = 1; index < values_.size(); ++index) {
    std::size_t before = index - 1;
    while (before != k_none && !values_[index].starts_with(values_[before])) {
      before = shorter_[before];
    }
    shorter_[index] = before;
  }
}

void KnownValues::find_starts() {
  by_start_.clear();
  for (std::size_t index = 0; index < values_.size(); ++index) {
    const std::string& value = values_[index];
    const std::uint64_t start = start_of(value.data());
    const auto place = by_start_.try_emplace(start, Range{.begin = index}).first;
    place->second.end = index + 1;
    starts_[bit_of(start) / 64] |= std::uint64_t{1} << (bit_of(start) % 64);
    begins_with_[static_cast<unsigned char>(value.front())] = true;
    longest_ = std::max(longest_, value.size());
  }
}

// Of the longest value that the text begins with; 0: none of them. It is the last one that is not
// behind the text in order, or one that this begins with.
std::size_t KnownValues::longest_at_begin(std::string_view text, Range among) const {
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(among.begin);
  const auto end = values_.begin() + static_cast<std::ptrdiff_t>(among.end);
  const auto behind = std::upper_bound(begin, end, text);
  std::size_t index =
      behind == begin ? k_none : static_cast<std::size_t>(behind - values_.begin()) - 1;
  while (index != k_none && !text.starts_with(values_[index])) {
    index = shorter_[index];
  }
  return index == k_none ? 0 : values_[index].size();
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
    if (const std::size_t length = longest_at_begin(text.substr(at), found->second); length > 0) {
      places.emplace_back(at, length);
    }
  }
  return places;
}

std::size_t KnownValues::open_end_of(std::string_view text) const {
  const std::size_t most = longest_ == 0 ? 0 : longest_ - 1;
  for (std::size_t length = std::min(most, text.size()); length > 0; --length) {
    const std::string_view end = text.substr(text.size() - length);
    if (!begins_with_[static_cast<unsigned char>(end.front())]) {
      continue;
    }
    const auto behind = std::upper_bound(values_.begin(), values_.end(), end);
    if (behind != values_.end() && behind->starts_with(end)) {
      return length;
    }
  }
  return 0;
}

}  // namespace agent

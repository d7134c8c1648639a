// The texts that must never appear, and where they stand in another one: in a single pass, however
// many they are.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agent {

class KnownValues {
 public:
  static constexpr std::size_t k_shortest = 8;  // bytes; a shorter one is left out

  void add(std::vector<std::string> values);

  const std::vector<std::string>& all() const { return values_; }  // each once, longest first
  // The beginning and the length of each place, overlapping ones too, in the text's order.
  std::vector<std::pair<std::size_t, std::size_t>> places_in(std::string_view text) const;

 private:
  std::vector<std::string> values_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_start_;  // their first bytes
  std::array<std::uint64_t, 1024>
      starts_{};  // a bit for each of these, so that most bytes cost no more
};

}  // namespace agent

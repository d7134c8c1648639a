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

  // Takes time by all that it then has: many are added at once.
  void add(std::vector<std::string> values);

  bool is_empty() const { return values_.empty(); }
  std::size_t longest() const { return longest_; }  // bytes; 0: there is none
  // The beginning and the length of each place, overlapping ones too, in the text's order.
  std::vector<std::pair<std::size_t, std::size_t>> places_in(std::string_view text) const;
  // Bytes of the longest end of the text that is the beginning of a value, but not all of it.
  std::size_t open_end_of(std::string_view text) const;

 private:
  static constexpr std::size_t k_none = SIZE_MAX;

  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void find_shorter();
  void find_starts();
  std::size_t longest_at_begin(std::string_view text, Range among) const;

  std::vector<std::string> values_;  // each once, in the order of their bytes
  // Of each the longest other one that it begins with.
  std::vector<std::size_t> shorter_;
  std::size_t longest_ = 0;
  std::unordered_map<std::uint64_t, Range> by_start_;  // their first bytes
  std::array<std::uint64_t, 1024>
      starts_{};                         // a bit for each of these, so that most bytes cost no more
  std::array<bool, 256> begins_with_{};  // the first byte of one
};

}  // namespace agent

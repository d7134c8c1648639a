// What is fuzzed: code that reads bytes from outside. Each takes any bytes and returns; what must
// not happen aborts.
#pragma once
#include <span>
#include <string_view>

namespace fuzz {

struct Target {
  std::string_view name;  // of its folder of seeds
  void (*run)(std::string_view bytes);
  // A part that is changed needs new ones: seeds.py makes such forms.
  bool has_checksums = false;
};
std::span<const Target> targets();

const Target* find(std::string_view name);  // nullptr: there is none

}  // namespace fuzz

// FNV-1a with 64 bits: to tell texts apart, the same on every machine, unlike std::hash. No secret
// hangs on it.
#pragma once
#include <cstdint>
#include <string_view>

namespace agent {

constexpr std::uint64_t k_fnv1a_of_nothing = 0xcbf29ce484222325;

// `value` is that of what came before.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t value = k_fnv1a_of_nothing) {
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return value;
}

}  // namespace agent

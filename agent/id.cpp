#include "agent/id.h"

#include "agent/random_bytes.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <unistd.h>

namespace agent {
namespace {

// Where the kernel gives no random bytes (an old one, a strict sandbox): clock, process and a
// counter keep ids apart. Run ids need to be unique, not secret.
std::uint64_t weak_random() {
  static std::atomic<std::uint64_t> counter{0};
  std::uint64_t value =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
      (static_cast<std::uint64_t>(getpid()) << 40) ^ (counter++ << 20);
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

std::array<std::uint8_t, 10> random_part() {
  std::array<std::uint8_t, 10> part{};
  if (const auto bytes = random_bytes(part.size())) {
    std::ranges::copy(*bytes, part.begin());
  } else {
    std::ranges::generate(part, [] { return static_cast<std::uint8_t>(weak_random()); });
  }
  return part;
}

}  // namespace

std::string uuid_v7(std::chrono::system_clock::time_point time,
                    const std::array<std::uint8_t, 10>& random) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto milliseconds = static_cast<std::uint64_t>(since_epoch.count());
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t at = 0; at < 6; ++at) {
    bytes[at] = static_cast<std::uint8_t>(milliseconds >> (40 - 8 * at));
  }
  for (std::size_t at = 0; at < random.size(); ++at) {
    bytes[at + 6] = random[at];
  }
  bytes[6] = static_cast<std::uint8_t>(0x70 | (bytes[6] & 0x0F));  // version 7
  bytes[8] = static_cast<std::uint8_t>(0x80 | (bytes[8] & 0x3F));  // the RFC's variant

  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) {
      out += '-';
    }
    out += k_digits[bytes[at] >> 4];
    out += k_digits[bytes[at] & 0x0F];
  }
  return out;
}

std::string new_run_id() {
  return uuid_v7(std::chrono::system_clock::now(), random_part());
}

bool is_run_id(std::string_view text) {
  constexpr std::string_view k_form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, k_form, [](char c, char form) {
    return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

}  // namespace agent

// Run ids: time-ordered, unique without coordination.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace agent {

// A UUIDv7 (RFC 9562) of that time and those random bytes, in lower-case hex with dashes.
std::string uuid_v7(std::chrono::system_clock::time_point time,
                    const std::array<std::uint8_t, 10>& random);
// The machine's clock and getrandom(2).
std::string new_run_id();
// Whether a text has the form of one: it becomes part of paths and of command lines.
bool is_run_id(std::string_view text);

}  // namespace agent

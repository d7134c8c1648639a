// SHA-256, to name a text without keeping it.
#pragma once
#include <string>
#include <string_view>

namespace agent {

// 64 digits in lower-case hex.
std::string sha256_hex(std::string_view bytes);

}  // namespace agent

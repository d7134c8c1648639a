// SHA-256, to name a text without keeping it, and to know one that was made here.
#pragma once
#include <string>
#include <string_view>

namespace agent {

// 64 digits in lower-case hex.
std::string sha256_hex(std::string_view bytes);

// HMAC (RFC 2104) with it, in the same form.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace agent

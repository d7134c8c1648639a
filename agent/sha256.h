// SHA-256, to name a text without keeping it, and to know one that was made here.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace agent {

// 64 digits in lower-case hex.
std::string sha256_hex(std::string_view bytes);

// The 32 bytes themselves.
std::string sha256(std::string_view bytes);

// HMAC (RFC 2104) with it, in the same form.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

// Each part with its length, so that no two lists of parts are one text.
std::string length_prefixed(std::initializer_list<std::string_view> parts);

}  // namespace agent

#include "agent/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <openssl/sha.h>

namespace agent {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// What OpenSSL 3 offers instead looks for a provider first: with all the algorithms that it then
// lists, that costs a run more than to read its agent file.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
Digest digest_of(std::initializer_list<std::string_view> parts) {
  SHA256_CTX state;
  Digest digest{};
  ::SHA256_Init(&state);
  for (const std::string_view part : parts) {
    ::SHA256_Update(&state, part.data(), part.size());
  }
  ::SHA256_Final(digest.data(), &state);
  return digest;
}
#pragma GCC diagnostic pop

std::string hex(const Digest& digest) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += k_digits[byte >> 4];
    text += k_digits[byte & 0xF];
  }
  return text;
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string sha256(std::string_view bytes) {
  return std::string(bytes_of(digest_of({bytes})));
}

std::string sha256_hex(std::string_view bytes) {
  return hex(digest_of({bytes}));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  std::string block(key.size() > SHA256_CBLOCK ? sha256(key) : std::string(key));
  block.resize(SHA256_CBLOCK);
  const auto padded = [&](char pad) {
    std::string bytes = block;
    std::ranges::for_each(bytes, [&](char& byte) { byte = static_cast<char>(byte ^ pad); });
    return bytes;
  };
  const Digest inner = digest_of({padded('\x36'), text});
  return hex(digest_of({padded('\x5c'), bytes_of(inner)}));
}

std::string length_prefixed(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += fmt::format("{}:{}", part.size(), part);
  }
  return text;
}

}  // namespace agent

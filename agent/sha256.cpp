#include "agent/sha256.h"

#include <fmt/format.h>

#include <array>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <span>
#include <stdexcept>

namespace agent {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr) !=
      1) {
    throw std::runtime_error("libcrypto has no SHA-256");
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::HMAC(::EVP_sha256(),
             key.data(),
             static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()),
             text.size(),
             digest.data(),
             &size) == nullptr) {
    throw std::runtime_error("libcrypto has no HMAC");
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

std::string length_prefixed(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += fmt::format("{}:{}", part.size(), part);
  }
  return text;
}

}  // namespace agent

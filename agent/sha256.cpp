#include "agent/sha256.h"

#include <fmt/format.h>

#include <array>
#include <openssl/evp.h>
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

}  // namespace agent

#include "agent/signed_token.h"

#include "agent/base64.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <openssl/bio.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <utility>

namespace agent {
namespace {

constexpr int k_least_rsa_bits = 2'048;
constexpr int k_half = 32;  // bytes of r, and of s, of a signature of P-256

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

// One that is asked for would be asked for on the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*data*/) {
  return 0;
}

Key key_of(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

bool is_p256(const EVP_PKEY& key) {
  std::string group(64, '\0');
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(&key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(&key, group.data(), group.size(), &size) == 1 &&
         group.substr(0, size) == SN_X9_62_prime256v1;
}

// Both numbers at their full length, one after the other, as tokens have them.
std::string plain_signature(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())));
  std::string plain(2 * k_half, '\0');
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  if (!signature || BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, k_half) != k_half ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + k_half, k_half) != k_half) {
    return {};
  }
  return plain;
}

std::string signature_of(EVP_PKEY& key, std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, &key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return {};
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(),
                     reinterpret_cast<unsigned char*>(signature.data()),
                     &size,
                     bytes,
                     text.size()) != 1) {
    return {};
  }
  signature.resize(size);
  return signature;
}

}  // namespace

Result<SigningKey> SigningKey::read(const std::string& pem) {
  const Key key = key_of(pem);
  if (!key) {
    return fail(Code::config_invalid,
                "the private key cannot be read",
                "it is PEM without a password: `-----BEGIN PRIVATE KEY-----` …");
  }
  if (is_p256(*key)) {
    return SigningKey(pem, true);
  }
  if (EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_RSA &&
      EVP_PKEY_get_bits(key.get()) >= k_least_rsa_bits) {
    return SigningKey(pem, false);
  }
  return fail(Code::config_invalid,
              "the private key is of a kind that tokens are not signed with here",
              "an elliptic one of P-256, or RSA of 2048 bits and more");
}

Result<std::string> SigningKey::sign(const Json& claims) const {
  const Json header = {{"alg", is_elliptic_ ? "ES256" : "RS256"}, {"typ", "JWT"}};
  const std::string text = to_base64url(dump(header)) + "." + to_base64url(dump(claims));
  const Key key = key_of(pem_);
  std::string signature = key ? signature_of(*key, text) : std::string();
  if (is_elliptic_ && !signature.empty()) {
    signature = plain_signature(signature);
  }
  if (signature.empty()) {
    return fail(Code::internal, "libcrypto does not sign with a key that it has read");
  }
  return text + "." + to_base64url(signature);
}

}  // namespace agent

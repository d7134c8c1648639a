// JSON Web Tokens that this program signs: with them it says who it is, without sending its key.
#pragma once
#include "agent/json.h"
#include "agent/result.h"

#include <string>

namespace agent {

// A private key, read and checked once.
class SigningKey {
 public:
  // PEM, without a password: an elliptic key of P-256 (ES256), or RSA of 2048 bits and more
  // (RS256). config.invalid.
  static Result<SigningKey> read(const std::string& pem);

  // The token with these claims (JWS compact serialisation, RFC 7515). internal.
  Result<std::string> sign(const Json& claims) const;

 private:
  SigningKey(std::string pem, bool is_elliptic) : pem_(std::move(pem)), is_elliptic_(is_elliptic) {}

  std::string pem_;
  bool is_elliptic_;
};

}  // namespace agent

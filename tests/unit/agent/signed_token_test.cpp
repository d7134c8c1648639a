#include "agent/signed_token.h"

#include "agent/base64.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <openssl/bio.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace {

// Made for this test alone.
constexpr const char* k_elliptic = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwRQ+wOpANSJj7SLc
D++uB5iAGGyynsEh0F4RnMmS9VehRANCAAQ6BvD3jvYkRYEWePeElyUIETni0+Dw
BOZwBYG4CqW89XdeJUsrwozJxJm4Zu+PQlKTDCfR16mDtJrMfbQWKwZK
-----END PRIVATE KEY-----
)";
constexpr const char* k_rsa = R"(-----BEGIN PRIVATE KEY-----
MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDxbcNn8iSEEA83
neQ4oGnWCrBuexNVTiBM7RqHpxcoUF+VukHO8OAM20VA5sVUoz5lCd9Cz3Aoz0su
IChG5yaGnjb4iEfX1WX3N0ZotHo+WrK2iISVbr7cQ2ikSVgQnPyrTBoIf6rtbiVx
GKBD0DBcB2dNcc1BSjTQGa4TnbSB7Z68evN69wuS2K+QBRM3sYm3vrj8Lyh3v2Gz
tojOaD5iFZBZ3p47+V6ofvuZD871q2w57Mzs1G3KtdZQfdqSB1dFyv/TOhotzf2P
7ZGVSzn8vn/2FMCMq1pjcdL+593cyCIRm+oXElIbfnawaS6vCM0+bCSg+RiA3NsT
r6aNBlHZAgMBAAECggEARa6UFTbW4kUOV1ObkNp/4ZbhOGoOePMdMIbIvvlznh+g
jwMcxmFQkXViJirVLqoVMq1oQozDxwuZm90NMvW5cWZN4GrZLYr6rKFIEaVxmPit
lzCM7+JwdPuBwtUmdVkSNlC3PNe4WmINrXhZnWkD5DQA1WHwx5Tm7F9VFnVQqaT/
xL5XVHTCJvskusLvVyog7W3sIgwtliWDTF8HU8Csv6WjRQTb2AJEIvHTfysWefJ3
UX50nb209u/IM0ClxXl63fAeKpWWfP8MOnYbHZhCNw060n0onkEGSDyIfmrK+gSe
tsqDiF5WUNNS2W49rIWeX1f8ACty5RQpfjxJFL+QdwKBgQD7NXQmoKbyS+gkAxe9
S2OwsGLCeDngrXvjkQPBSi8qrZlWUpGcKj/rBaoo0sY5JiIcYgjyUJiy3hqLkyLc
Sqe+QtwDx7dXtEMnUnTDTnTwK+1fKGriXzD14qgFfihTvuxNZ/iEVCiTnBy5x7Z3
h9QZdcYXyDZerN5476soVPiSfwKBgQD2CI7LWm/XShpA8IVJLD0QhFAQ2lBGC+28
bvwAb6iAWAX7esbgLqUTEarh9asbvBNQLqUvENY5LEzqWdfJ71UJYmNeIQT5kDKS
mr4qdAWH6WNuV74/mjiJSNyvp5YnhKWttON7l9YlA7UVfBgkxiMP8zG9/wx1IvTQ
XmRjyW6/pwKBgG3MdmEv1OiQvv2GkIi/e+pNnk0LyZhnm3/i8XY5m5YW3K+7VUOh
v+BU0IQZZGS0QzKOswRer+92Xrnk7NbGlrz1cj8AuyVNeBCm3LxE/Z3ARXdTLiyV
mMvQbso/0xaPm69Vo20Lb9Tc5j1ZimqCZvVd4eChNQp6mp7XesMdKKy3AoGBAIiI
jT26bVBrFhCtqTnHLAgLdSc1D9Efc4nbiUtwq3C16HP7WXw1RnRDnLISlCcrAwi/
KfnpfQhzVifDPeYZQ/aWPBCTgGBCLl5/M0L56cvXr88fMDu5iOBep+FuvfwmN48j
UA5ZX4Rg/0/x8rANqI2EZzlJ3Y7vnC46A7oAoc4HAoGBAMOdqm08Rq2edSXuJa2i
t2mE2wmVrhyUtsUlKqXEJPrWmDbBSjRLwxO2B8ipNto7KooxyQk53fTuKkf6709R
319FyDJqN3d2lLl90dAC6qx4p+cq35HQ6NngTWGNyE4Hl1w8VwifH3gs6b9dQwMh
UZOp8emjH07/Zhi1MJX14DcJ
-----END PRIVATE KEY-----
)";
constexpr const char* k_other_curve = R"(-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCyi9eDHKVkGsXWVbaW
HN90KngD0IRyA9tR4vA97k/etHMrFufjmNF/9uaDB3ktsWKhZANiAASxjjc7fGpj
VtBH35jl5uKBwY9BKNN4W7Oku4Z++W86Fb/ui/jnLU5plWUunmtBmE7PaBsZmSf2
5wxFmV4TCN684v9D77FDyViGkP+EvZocjEzmsjD4O9beYpqUeWQiW9o=
-----END PRIVATE KEY-----
)";
constexpr const char* k_short_rsa = R"(-----BEGIN PRIVATE KEY-----
MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAK5N96M/25pRx11V
pj59D5l4/ZYybODIGGepPM1nRLBjP7xhuyaSbOgEZDEwx+dmTiZsdwIafl1Qa/4h
GToiLujS9V5at8w1u9JjoH8gqTKna01L0+RF/5Yrc/vVBgKjKorkuULCAgvQ9vZH
i08uTH93hgCFq3PffPMvjKQ3Tcu7AgMBAAECgYAJS6EkNJiafzf5k0K9XGADmD81
zlSeHC2pAY57icFRAsn4WuHnKbHjIbDSKr7OaVdLl0c1doI8qbhIoi09O2ty6prH
0oa+ZMfln5tSPgJIidaDXpxACSoEZaMEZGHATXj/E6eqWAZTNuOzwc711DeUrMc0
rsDma67ANOdxGJ00+QJBANmhU+IPHx5Cjjnj0u9O9ttgdGJFWx/WdhiIZrFs7Omo
JoAY1thozyHcTvxoQWvqIYxTXN+RXQXBCQIAAv2jI80CQQDNCSaTbQ78NE+NgQ9r
QLQPf+GxZ1/OoEIDScbYSgAsaarh+NTTWwhL3CBCzrL+H8r1Pc/3b+wthEE4oq1h
WDWnAkAcFjAHOsBfXWORoQ92BxDg2x/qFt1dzIXNQL1QJKimtybQ3WPM5inlStN+
y821qa/OtmuEBvSka3dIJMw+A7H5AkEAiL7qoHajAOfuisShwPllXdT/dG8qgcd2
X3UMDmLEXNqYop9vagsTrGyCg6wRytTvasKv+ioGTZEgYqJ0mjDXjwJAPBaIb9oM
QoH8PuIF97d1j86M+MJ3wXTsFrV2ERpmxDhIEMa+rgB2Daww7FSdWPFcGZsLWE8f
q+EssqOl+lkeGA==
-----END PRIVATE KEY-----
)";

std::string from_base64url(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return agent::from_base64(text).value_or("");
}

// As libcrypto has it: of P-256 a sequence of two numbers.
std::string der_of(const std::string& plain) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(plain.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(ECDSA_SIG_new(),
                                                                        ECDSA_SIG_free);
  ECDSA_SIG_set0(
      signature.get(), BN_bin2bn(bytes, 32, nullptr), BN_bin2bn(bytes + 32, 32, nullptr));
  std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(signature.get(), nullptr)), '\0');
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  i2d_ECDSA_SIG(signature.get(), &out);
  return der;
}

bool is_signed_by(const char* pem, const std::string& text, const std::string& signature) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem, -1), BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(),
                          reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(),
                          reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace

TEST_CASE("signed_token: it is signed by the key, and says what it is to say", "[agent]") {
  const bool is_elliptic = GENERATE(true, false);
  const char* pem = is_elliptic ? k_elliptic : k_rsa;
  const auto key = agent::SigningKey::read(pem);
  REQUIRE(key);
  for (int count = 0; count < 20; ++count) {  // numbers that begin with a zero byte, too
    const auto token = key->sign({{"iss", "me"}, {"n", count}});
    REQUIRE(token);
    const auto last = token->rfind('.');
    const std::string text = token->substr(0, last);
    const std::string plain = from_base64url(token->substr(last + 1));
    CHECK(plain.size() == (is_elliptic ? 64 : 256));
    const std::string signature = is_elliptic ? der_of(plain) : plain;
    CHECK(is_signed_by(pem, text, signature));
    CHECK_FALSE(is_signed_by(pem, text + "x", signature));
    const auto dot = text.find('.');
    CHECK(from_base64url(text.substr(0, dot)) ==
          (is_elliptic ? R"({"alg":"ES256","typ":"JWT"})" : R"({"alg":"RS256","typ":"JWT"})"));
    CHECK(from_base64url(text.substr(dot + 1)) ==
          agent::dump(agent::Json{{"iss", "me"}, {"n", count}}));
  }
}

TEST_CASE("signed_token: keys that are none, and those of another kind, are refused", "[agent]") {
  const std::string whole(k_elliptic);
  for (const std::string& pem : {std::string(),
                                 std::string("secret"),
                                 whole.substr(0, whole.size() / 2),
                                 std::string(k_other_curve),
                                 std::string(k_short_rsa)}) {
    const auto key = agent::SigningKey::read(pem);
    REQUIRE_FALSE(key);
    CHECK(key.error().code == agent::Code::config_invalid);
  }
}

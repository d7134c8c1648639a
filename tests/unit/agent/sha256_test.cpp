#include "agent/sha256.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("sha256: with a key, as RFC 4231 has it", "[agent]") {
  CHECK(agent::hmac_sha256_hex("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(agent::hmac_sha256_hex(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

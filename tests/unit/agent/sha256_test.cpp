#include "agent/sha256.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("sha256: of texts, as FIPS 180-4 has it", "[agent]") {
  CHECK(agent::sha256_hex("") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(agent::sha256_hex("abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(agent::sha256("abc").substr(0, 4) == "\xba\x78\x16\xbf");
}

TEST_CASE("sha256: with a key, as RFC 4231 has it", "[agent]") {
  CHECK(agent::hmac_sha256_hex("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(agent::hmac_sha256_hex(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(agent::hmac_sha256_hex(std::string(131, '\xaa'),  // longer than a block
                               "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

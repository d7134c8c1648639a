#include "agent/base64.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("base64: for URLs there is neither padding nor a byte that they mean something by",
          "[agent]") {
  CHECK(agent::to_base64url("") == "");
  CHECK(agent::to_base64url("f") == "Zg");
  CHECK(agent::to_base64url("fo") == "Zm8");
  CHECK(agent::to_base64url("foo") == "Zm9v");
  CHECK(agent::to_base64url("\xfb\xff\xfe") == "-__-");
}

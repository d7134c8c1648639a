#include "tools/oauth/challenge.h"

#include <catch2/catch.hpp>

using tools::oauth::Challenge;
using tools::oauth::parse_challenge;

TEST_CASE("challenge: what a Bearer challenge says", "[tools]") {
  struct Row {
    const char* header;
    Challenge challenge;
  };
  const auto row = GENERATE(values<Row>({
      {"", {}},
      {"Bearer", {}},
      {"Bearer scope=\"a b\"", {{}, {"a", "b"}, {}}},
      {"bearer error=invalid_token, scope=a", {{}, {"a"}, "invalid_token"}},
      {"Bearer realm=\"x, Bearer scope=y\", resource_metadata=\"https://s/.well-known/r\"",
       {"https://s/.well-known/r", {}, {}}},
      {"Basic realm=\"x\", Bearer scope=\"b\"", {{}, {"b"}, {}}},
      {"Negotiate abc/+==, Bearer scope=\"b\"", {{}, {"b"}, {}}},
      {"Negotiate, Bearer scope=\"b\"", {{}, {"b"}, {}}},
      {"Bearer scope=\"a\", DPoP algs=\"ES256\", scope=\"z\"", {{}, {"a"}, {}}},
      {"Bearer scope=\"a\\\" b\"", {{}, {"b"}, {}}},
      {"Bearer scope=\"a a  b a\"", {{}, {"a", "b"}, {}}},
      {"Bearer scope=\"not closed", {}},
      {"Bearer scope = \"a\" , error = \"insufficient_scope\"", {{}, {"a"}, "insufficient_scope"}},
      {"\"Bearer\" scope=a", {}},
      {"=, ==", {}},
      {"DPoP algs=\"ES256\"", {}},
  }));

  INFO(row.header);
  CHECK(parse_challenge(row.header) == row.challenge);
}

TEST_CASE("challenge: however long it is, it is read once", "[tools]") {
  std::string many;
  for (int count = 0; count < 100'000; ++count) {
    many += "x ";
  }
  CHECK(parse_challenge("Bearer scope=\"" + many + "\"").scopes == std::vector<std::string>{"x"});
  CHECK(parse_challenge(many) == Challenge{});
  CHECK(parse_challenge(std::string(200'000, '"')) == Challenge{});
}

TEST_CASE("challenge: scopes are those that RFC 6749 allows", "[tools]") {
  CHECK(tools::oauth::is_scope("mcp:read/write.all"));
  CHECK_FALSE(tools::oauth::is_scope("a b"));
  CHECK_FALSE(tools::oauth::is_scope("a\"b"));
  CHECK_FALSE(tools::oauth::is_scope("\xc3\xa4"));
  CHECK_FALSE(tools::oauth::is_scope(""));
  CHECK(tools::oauth::united({"b", "a"}, {"c", "a"}) == std::vector<std::string>{"b", "a", "c"});
}

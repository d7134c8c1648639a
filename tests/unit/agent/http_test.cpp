#include "agent/http.h"

#include <catch2/catch.hpp>

#include <string>

using agent::is_token;

TEST_CASE("http: the first header of a name counts, however that is written") {
  const agent::Headers headers = {{"Accept", "a"}, {"accept", "b"}};
  CHECK(agent::header(headers, "ACCEPT") == "a");
  CHECK(agent::header(headers, "accep").empty());
}

TEST_CASE("http: what a token is") {
  for (const std::string text : {"GET", "x-Api_Key.2", "!#$%&'*+-.^_`|~"}) {
    CHECK(is_token(text));
  }
  for (const std::string text :
       {"", "a b", "a:", "a\n", "\"a\"", "(a)", "a/b", "a,b", "\xc3\xbc", "{a}", "a@b"}) {
    CHECK_FALSE(is_token(text));
  }
  CHECK_FALSE(is_token(std::string_view("a\0", 2)));
}

#include "tools/oauth/form.h"

#include <catch2/catch.hpp>

using namespace tools::oauth;

TEST_CASE("form: values are escaped, and read again as they were", "[tools]") {
  CHECK(to_text({{"a", "1 2"}, {"b&c", "\xc3\xa4=%"}}) == "a=1%202&b%26c=%C3%A4%3D%25");
  CHECK(with_query("https://as/authorize", {{"a", "1"}}) == "https://as/authorize?a=1");
  CHECK(with_query("https://as/authorize?x=y", {{"a", "1"}}) == "https://as/authorize?x=y&a=1");
  CHECK(parse_form(to_text({{"a", "1 2"}, {"b&c", "\xc3\xa4=%"}})) ==
        std::map<std::string, std::string, std::less<>>{{"a", "1 2"}, {"b&c", "\xc3\xa4=%"}});
  CHECK(parse_form("code=a+b&state=") ==
        std::map<std::string, std::string, std::less<>>{{"code", "a b"}, {"state", ""}});
  CHECK(parse_form("a=%4") == std::nullopt);
  CHECK(parse_form("a=%zz") == std::nullopt);
  CHECK(parse_form("state=x&state=y") == std::nullopt);
}

TEST_CASE("form: the challenge is that of RFC 7636, appendix B", "[tools]") {
  const std::string random = {116,
                              24,
                              static_cast<char>(223),
                              static_cast<char>(180),
                              static_cast<char>(151),
                              static_cast<char>(153),
                              static_cast<char>(224),
                              37,
                              79,
                              static_cast<char>(250),
                              96,
                              125,
                              static_cast<char>(216),
                              static_cast<char>(173),
                              static_cast<char>(187),
                              static_cast<char>(186),
                              22,
                              static_cast<char>(212),
                              37,
                              77,
                              105,
                              static_cast<char>(214),
                              static_cast<char>(191),
                              static_cast<char>(240),
                              91,
                              88,
                              5,
                              88,
                              83,
                              static_cast<char>(132),
                              static_cast<char>(141),
                              121};
  const Pkce pkce = pkce_of(random);
  CHECK(pkce.verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
  CHECK(pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

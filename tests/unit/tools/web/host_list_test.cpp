#include "tools/web/host_list.h"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

using tools::HostList;
using Access = tools::HostList::Access;

namespace {

HostList list_of(const std::vector<std::string>& texts) {
  auto list = HostList::create(texts);
  REQUIRE(list);
  return *std::move(list);
}

}  // namespace

TEST_CASE("host list: exact names, ports and patterns", "[tools]") {
  const HostList list = list_of({"pypi.org",
                                 "git.example:22",
                                 "*.example.com",
                                 "*.deep.example:8443",
                                 "[::1]:80",
                                 "10.0.0.1"});
  CHECK(list.access("pypi.org", 443) == Access::any);
  CHECK(list.access("pypi.org", 80) == Access::any);
  CHECK(list.access("pypi.org", 22) == Access::none);
  CHECK(list.access("www.pypi.org", 443) == Access::none);
  CHECK(list.access("evilpypi.org", 443) == Access::none);
  CHECK(list.access("pypi.org.evil.net", 443) == Access::none);
  CHECK(list.access("git.example", 22) == Access::any);
  CHECK(list.access("git.example", 443) == Access::none);
  CHECK(list.access("a.example.com", 443) == Access::public_only);
  CHECK(list.access("a.b.example.com", 443) == Access::public_only);
  CHECK(list.access("example.com", 443) == Access::none);
  CHECK(list.access(".example.com", 443) == Access::none);
  CHECK(list.access("badexample.com", 443) == Access::none);
  CHECK(list.access("x.deep.example", 8443) == Access::public_only);
  CHECK(list.access("x.deep.example", 443) == Access::none);
  CHECK(list.access("[::1]", 80) == Access::any);
  CHECK(list.access("10.0.0.1", 443) == Access::any);
  CHECK(list.access("", 443) == Access::none);
}

TEST_CASE("host list: who is named in full and by a pattern counts as named in full", "[tools]") {
  CHECK(list_of({"*.a.b", "x.a.b"}).access("x.a.b", 443) == Access::any);
  CHECK(list_of({"x.a.b", "*.a.b"}).access("x.a.b", 443) == Access::any);
}

TEST_CASE("host list: names are compared without case; what is no host is said", "[tools]") {
  CHECK(list_of({"PyPI.org"}).access("pypi.org", 443) == Access::any);
  CHECK(list_of({"0x7f.1"}).access("127.0.0.1", 443) == Access::any);
  for (const std::string text : {"", "*", "*.", "*.*.org", "a b", "1.2.3.4.5", "a:0", "http://a"}) {
    INFO(text);
    CHECK_FALSE(HostList::create(std::array{text}));
  }
}

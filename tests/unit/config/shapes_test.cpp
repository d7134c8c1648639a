#include "config/shapes.h"

#include <catch2/catch.hpp>

#include <string_view>

using config::fits;
using config::Shape;

TEST_CASE("shapes: an address has a host, and a port that there is", "[config]") {
  for (const std::string_view one : {"http://localhost",
                                     "http://localhost:8080/v1",
                                     "https://[::1]:65535/mcp",
                                     "http://[fe80::1%25eth0]/",
                                     "https://höst.example/a@b:c",
                                     "http://host:/path",
                                     "https://user:word@host/"}) {
    CAPTURE(one);
    CHECK(fits(Shape::url, one));
  }
  for (const std::string_view one : {"localhost:8080",
                                     "http://",
                                     "http:///path",
                                     "http://:80",
                                     "http://[::1/v1",
                                     "http://[::1]x",
                                     "http://host:65536",
                                     "http://host:80:90",
                                     "http://host:8o",
                                     "http://a host/"}) {
    CAPTURE(one);
    CHECK_FALSE(fits(Shape::url, one));
  }
}

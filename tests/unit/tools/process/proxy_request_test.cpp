#include "tools/process/proxy_request.h"

#include <catch2/catch.hpp>

#include <string>

using tools::head_size;
using tools::read_proxy_request;

TEST_CASE("proxy request: a tunnel", "[tools]") {
  const auto request =
      read_proxy_request("CONNECT Example.com:443 HTTP/1.1\r\nHost: other\r\nX: y\r\n\r\n");
  REQUIRE(request);
  CHECK(request->is_tunnel());
  CHECK(request->host == "example.com");
  CHECK(request->port == 443);
  CHECK(read_proxy_request("CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n")->host == "127.0.0.1");
  CHECK(read_proxy_request("CONNECT [::1]:8080 HTTP/1.0\r\n\r\n")->host == "[::1]");
}

TEST_CASE("proxy request: a plain one is sent on in the server's form", "[tools]") {
  const auto request = read_proxy_request(
      "POST http://Example.com:8080/a/../b?q=%41 HTTP/1.1\r\nhost: elsewhere\r\nProxy-Connection: "
      "keep-alive\r\nProxy-Authorization: Basic eA==\r\nConnection: keep-alive, X-Own\r\n"
      "Content-Length: 2\r\nX-Own: 1\r\n\r\n");
  REQUIRE(request);
  CHECK_FALSE(request->is_tunnel());
  CHECK(request->host == "example.com");
  CHECK(request->port == 8080);
  CHECK(request->head ==
        "POST /a/../b?q=%41 HTTP/1.1\r\nHost: Example.com:8080\r\nContent-Length: 2\r\nX-Own: "
        "1\r\nConnection: close\r\n\r\n");

  CHECK(read_proxy_request("GET HTTP://a HTTP/1.1\r\n\r\n")->head ==
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  CHECK(read_proxy_request("GET http://a?x HTTP/1.1\r\n\r\n")->head.starts_with("GET /?x HTTP"));
  CHECK(read_proxy_request("GET http://a/ HTTP/1.1\r\n\r\n")->port == 80);
}

TEST_CASE("proxy request: what cannot be served says why", "[tools]") {
  for (const std::string head : {"\r\n",
                                 "GET\r\n\r\n",
                                 "GET / HTTP/1.1\r\n\r\n",
                                 "GET https://a/ HTTP/1.1\r\n\r\n",
                                 "GET ftp://a/ HTTP/1.1\r\n\r\n",
                                 "GET http:///x HTTP/1.1\r\n\r\n",
                                 "GET http://a/ SMTP\r\n\r\n",
                                 "GET http://a/\n HTTP/1.1\r\n\r\n",
                                 "GET http://a@b/ HTTP/1.1\r\n\r\n",
                                 "GET http://a:80@b/ HTTP/1.1\r\n\r\n",
                                 "GET http://a#b/ HTTP/1.1\r\n\r\n",
                                 "GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
                                 "GET http://a/ HTTP/1.1\r\n: v\r\n\r\n",
                                 "GET http://a/ HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
                                 "GET http://a/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
                                 "CONNECT a HTTP/1.1\r\n\r\n",
                                 "CONNECT a:443/x HTTP/1.1\r\n\r\n",
                                 "CONNECT a:99999 HTTP/1.1\r\n\r\n",
                                 "CONNECT http://a:443 HTTP/1.1\r\n\r\n",
                                 "\x16\x03\x01\r\n\r\n"}) {
    INFO(head);
    const auto request = read_proxy_request(head);
    REQUIRE_FALSE(request);
    CHECK_FALSE(request.error().message.empty());
  }
}

TEST_CASE("proxy request: where the head ends", "[tools]") {
  CHECK(head_size("") == 0);
  CHECK(head_size("GET http://a/ HTTP/1.1\r\n") == 0);
  CHECK(head_size("A\r\n\r\nbody\r\n\r\n") == 5);
}

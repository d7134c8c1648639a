#include "providers/http/url.h"

#include <catch2/catch.hpp>

#include <string>

namespace {

using providers::origin_of;

std::string origin(const std::string& url) {
  const auto found = origin_of(url, agent::Code::config_invalid);
  return found ? found->text : "refused";
}

bool is_loopback(const std::string& url) {
  const auto found = origin_of(url, agent::Code::config_invalid);
  return found && found->is_loopback;
}

}  // namespace

TEST_CASE("url: an origin has one form", "[providers]") {
  CHECK(origin("https://API.OpenAI.com/v1?x#y") == "https://api.openai.com");
  CHECK(origin("https://api.openai.com:443") == "https://api.openai.com");
  CHECK(origin("http://api.openai.com:80/") == "http://api.openai.com");
  CHECK(origin("https://api.openai.com:80") == "https://api.openai.com:80");
  CHECK(origin("http://api.openai.com") == "http://api.openai.com");
  CHECK(origin("https://[2001:DB8:0:0::1]:8443/x") == "https://[2001:db8::1]:8443");
  CHECK(origin("http://0x7f.1") == "http://127.0.0.1");
  CHECK(origin("http://2130706433:8000") == "http://127.0.0.1:8000");
  CHECK(origin("https://%61pi.openai.com") == "https://api.openai.com");
  CHECK(origin("https://api.openai.com%2eevil.example") == "https://api.openai.com.evil.example");
  CHECK(origin("https://a_b-c.example") == "https://a_b-c.example");
}

TEST_CASE("url: what readers of URLs disagree about has no origin", "[providers]") {
  for (const char* url : {
           "https://api.openai.com@evil.example",
           "https://api.openai.com:443@evil.example",
           "https://user:word@api.openai.com",
           "https://api.openai.com\\@evil.example",
           "https://evil.example\\.api.openai.com",
           "https://api.openai.com.",
           "https://api.openai.com%2f.evil.example",
           "https://api\xE3\x80\x82openai\xE3\x80\x82"
           "com",  // U+3002
           "https://api\xEF\xBC\x8Eopenai\xEF\xBC\x8E"
           "com",                                          // U+FF0E
           "https://api\xEF\xBD\xA1openai.com",            // U+FF61
           "https://\xD0\xB0pi.openai.com",                // a Cyrillic a
           "https://api.openai.com\xC2\xAD.evil.example",  // a soft hyphen
           "https://api.openai.com .evil.example",
           "https://api.openai.com\n.evil.example",
           "https://[fe80::1%25eth0]",
           "https://[::1%25lo]",
           "https://api.openai.com:99999",
           "https://api.openai.com:-1",
           "https://",
           "https:///api.openai.com.evil.example@",
           "ftp://api.openai.com",
           "api.openai.com",
           "//api.openai.com",
           "",
       }) {
    INFO(url);
    CHECK(origin(url) == "refused");
  }
}

TEST_CASE("url: loopback is this machine and nothing that looks like it", "[providers]") {
  for (const char* url : {"http://127.0.0.1",
                          "http://127.8.9.10:99",
                          "http://LOCALHOST:11434",
                          "http://[::1]:8000",
                          "http://[0:0::1]",
                          "http://0x7f000001",
                          "http://127.1"}) {
    INFO(url);
    CHECK(is_loopback(url));
  }
  for (const char* url : {"http://127.evil.example",
                          "http://127.0.0.1.evil.example",
                          "http://evil.localhost",
                          "http://localhost.evil.example",
                          "http://128.0.0.1",
                          "http://0.0.0.0",
                          "http://[::]",
                          "http://[::ffff:127.0.0.1]",
                          "http://[::2]",
                          "http://localhost@evil.example",
                          "http://localhost."}) {
    INFO(url);
    CHECK_FALSE(is_loopback(url));
  }
}

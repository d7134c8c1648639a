#include "tools/oauth/metadata.h"

#include <catch2/catch.hpp>

using namespace tools::oauth;
using tools::Url;

namespace {

Url url(std::string_view text) {
  auto parsed = tools::parse_url(text);
  REQUIRE(parsed);
  return *parsed;
}

}  // namespace

TEST_CASE("metadata: the places where it may be, the nearest first", "[tools]") {
  using Places = std::vector<std::string>;
  CHECK(resource_metadata_places(url("https://s.example/team/mcp?x=1")) ==
        Places{"https://s.example/.well-known/oauth-protected-resource/team/mcp",
               "https://s.example/.well-known/oauth-protected-resource"});
  CHECK(resource_metadata_places(url("https://s.example:8443/")) ==
        Places{"https://s.example:8443/.well-known/oauth-protected-resource"});
  CHECK(server_metadata_places(url("https://as.example")) ==
        Places{"https://as.example/.well-known/oauth-authorization-server",
               "https://as.example/.well-known/openid-configuration"});
  CHECK(server_metadata_places(url("https://as.example/tenant1/")) ==
        Places{"https://as.example/.well-known/oauth-authorization-server/tenant1",
               "https://as.example/.well-known/openid-configuration/tenant1",
               "https://as.example/tenant1/.well-known/openid-configuration"});
}

TEST_CASE("metadata: which addresses may be asked", "[tools]") {
  struct Row {
    const char* address;
    const char* server;
    bool is_allowed;
  };
  const auto row = GENERATE(values<Row>({
      {"https://as.example/token", "https://s.example/mcp", true},
      {"https://10.0.0.1/token", "https://s.example/mcp", true},
      {"http://as.example/token", "https://s.example/mcp", false},
      {"http://as.example/token", "http://127.0.0.1/mcp", false},
      {"https://127.0.0.1/token", "https://s.example/mcp", false},
      {"https://localhost/token", "https://s.example/mcp", false},
      {"https://[::1]/token", "https://s.example/mcp", false},
      {"http://localhost:1/token", "http://127.0.0.1:2/mcp", true},
      {"http://127.8.9.1:1/token", "http://localhost:2/mcp", true},
      {"http://[::1]:1/token", "http://localhost:2/mcp", true},
      {"http://localhost.example/token", "http://localhost:2/mcp", false},
      {"https://user:password@as.example/", "https://s.example/mcp", false},
      {"https://as.example/#x", "https://s.example/mcp", false},
      {"file:///etc/passwd", "https://s.example/mcp", false},
      {"/token", "https://s.example/mcp", false},
      {"", "https://s.example/mcp", false},
  }));

  INFO(row.address << " of " << row.server);
  CHECK(check_address(row.address, "it", url(row.server)).has_value() == row.is_allowed);
}

TEST_CASE("metadata: a server's own, and of nobody else", "[tools]") {
  struct Row {
    const char* text;
    const char* wrong;  // what the error says; empty: none
  };
  const auto row = GENERATE(values<Row>({
      {R"({"resource": "https://s.example/mcp", "authorization_servers": ["https://a"]})", ""},
      {R"({"resource": "https://s.example", "authorization_servers": ["https://a"]})", ""},
      {R"({"resource": "https://s.example/", "authorization_servers": ["https://a"]})", ""},
      {R"({"resource": "https://s.example/mc", "authorization_servers": ["https://a"]})",
       "about another one"},
      {R"({"resource": "https://s.example/mcp/x", "authorization_servers": ["https://a"]})",
       "about another one"},
      {R"({"resource": "http://s.example/mcp", "authorization_servers": ["https://a"]})",
       "about another one"},
      {R"({"resource": "https://evil.example/mcp", "authorization_servers": ["https://a"]})",
       "about another one"},
      {R"({"authorization_servers": ["https://a"]})", "about another one"},
      {R"({"resource": 3, "authorization_servers": ["https://a"]})", "`resource`"},
      {R"({"resource": "https://s.example/mcp"})", "names no authorization server"},
      {R"({"resource": "https://s.example/mcp", "authorization_servers": []})", "names no"},
      {R"({"resource": "https://s.example/mcp", "authorization_servers": "https://a"})",
       "not a list"},
      {R"({"resource": "https://s.example/mcp", "authorization_servers": [1]})", "not a list"},
      {"[]", "not a JSON object"},
      {"<html>", "not a JSON object"},
  }));

  INFO(row.text);
  const auto metadata = read_resource_metadata(row.text, url("https://s.example/mcp"));
  REQUIRE(metadata.has_value() == std::string_view(row.wrong).empty());
  if (!metadata) {
    CHECK(metadata.error().code == agent::Code::mcp_auth);
    CHECK_THAT(metadata.error().message, Catch::Contains(row.wrong));
  }
}

TEST_CASE("metadata: an authorization server's own, whole and with every type checked", "[tools]") {
  struct Row {
    const char* text;
    const char* wrong;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"issuer": "https://as.example", "token_endpoint": "https://as.example/token"})", ""},
      {R"({"issuer": "https://as.example/", "token_endpoint": "https://as.example/token"})",
       "another issuer"},
      {R"({"issuer": "https://evil.example", "token_endpoint": "https://as.example/token"})",
       "another issuer"},
      {R"({"token_endpoint": "https://as.example/token"})", "another issuer"},
      {R"({"issuer": "https://as.example"})", "names no `token_endpoint`"},
      {R"({"issuer": "https://as.example", "token_endpoint": "http://as.example/token"})",
       "is not https"},
      {R"({"issuer": "https://as.example", "token_endpoint": "https://127.0.0.1/token"})",
       "on this machine"},
      {R"({"issuer": "https://as.example", "token_endpoint": ["https://as.example/token"]})",
       "not a text"},
      {R"({"issuer": "https://as.example", "token_endpoint": "https://as.example/token",
           "authorization_endpoint": "javascript:alert"})",
       "`authorization_endpoint`"},
      {R"({"issuer": "https://as.example", "token_endpoint": "https://as.example/token",
           "registration_endpoint": "http://as.example/r"})",
       "`registration_endpoint`"},
      {R"({"issuer": "https://as.example", "token_endpoint": "https://as.example/token",
           "code_challenge_methods_supported": "S256"})",
       "not a list"},
  }));

  INFO(row.text);
  const auto metadata =
      read_server_metadata(row.text, "https://as.example", url("https://s.example/mcp"));
  REQUIRE(metadata.has_value() == std::string_view(row.wrong).empty());
  if (!metadata) {
    CHECK(metadata.error().code == agent::Code::mcp_auth);
    CHECK_THAT(metadata.error().message, Catch::Contains(row.wrong));
  }
}

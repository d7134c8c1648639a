#include "tools/oauth/oauth_client.h"

#include "tests/unit/tools/oauth/fake_authorization_support.h"

#include <catch2/catch.hpp>

using namespace tools::oauth;
using tests::FakeAuthorization;

TEST_CASE("oauth_client: an answer of a token endpoint, with every type checked", "[tools]") {
  struct Row {
    const char* body;
    bool is_usable;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"access_token": "a", "token_type": "Bearer"})", true},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": 1.5})", true},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": 1e300})", false},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": "3600"})", true},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": "an hour"})", false},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": "-1"})", false},
      {R"({"access_token": "a", "token_type": "bearer", "expires_in": -1})", false},
      {R"({"access_token": "a", "token_type": "bearer", "scope": ["x"]})", false},
      {R"({"access_token": "a", "token_type": "bearer", "refresh_token": 1})", false},
      {R"({"access_token": "a", "token_type": "DPoP"})", false},
      {R"({"access_token": "a"})", false},
      {R"({"access_token": "", "token_type": "Bearer"})", false},
      {R"({"access_token": "a\r\nX: y", "token_type": "Bearer"})", false},
      {R"({"access_token": "a b", "token_type": "Bearer"})", false},
      {R"({"token_type": "Bearer"})", false},
      {"[]", false},
      {"", false},
  }));
  INFO(row.body);
  const auto answer = read_token_answer(row.body, true);
  REQUIRE(answer.has_value() == row.is_usable);
  if (!answer) {
    CHECK(answer.error().code == agent::Code::mcp_auth);
  }
}

TEST_CASE("oauth_client: a refusal is told as what it is, whatever its status", "[tools]") {
  struct Row {
    const char* body;
    bool is_success;
    const char* error;  // and its description; empty: it is none
    const char* message;
  };
  const std::string no_error =
      "the authorization server refuses, and its answer is no error of OAuth";
  const auto row = GENERATE(values<Row>({
      {R"({"error": "invalid_client"})", false, "invalid_client ", ""},
      {R"({"error": "invalid_client", "error_description": "who?"})",
       true,
       "invalid_client who?",
       ""},
      {R"({"error": {"message": "no"}})", true, "", R"(: {"message":"no"})"},
      {R"({"error": {"message": "no"}})", false, "", R"(: {"message":"no"})"},
      {R"({"message": "no"})", false, "", ""},
      {"<html>", false, "", ""},
      {"", false, "", ""},
  }));
  INFO(row.body);
  const auto answer = read_token_answer(row.body, row.is_success);
  if (answer) {
    CHECK(answer->error + " " + answer->description == row.error);
  } else {
    CHECK(answer.error().code == agent::Code::mcp_auth);
    CHECK(answer.error().message == no_error + row.message);
    CHECK(std::string_view(row.error).empty());
  }
  CHECK(read_token_answer(R"({"access_token": "a", "token_type": "Bearer", "error": "no"})", true));
}

TEST_CASE("oauth_client: who refuses in words that are none of OAuth is named, with the status",
          "[tools]") {
  FakeAuthorization http;
  tests::FakeClock clock;
  const OAuthClient client(http, clock, *tools::parse_url("https://s.example/mcp"));
  http.answers["https://as.example/token"].push_back({.status = 401, .body = "who are you?"});
  const auto answer = client.ask_for_tokens("https://as.example/token",
                                            "https://as.example",
                                            {{"grant_type", "client_credentials"}},
                                            {.id = "i", .auth = "none"},
                                            {});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == agent::Code::mcp_auth);
  CHECK(answer.error().message ==
        "the authorization server refuses, and its answer is no error of OAuth "
        "(https://as.example/token answers 401)");
}

TEST_CASE("oauth_client: how a client says who it is", "[tools]") {
  struct Row {
    const char* why;
    Client client;
    const char* registered;
    std::vector<std::string> methods;
    const char* way;  // empty: none
  };
  const Client secret{.id = "i", .secret = "s"};
  const Client open{.id = "i"};
  const Client key{.id = "i", .private_key = "k"};
  const auto row = GENERATE_COPY(values<Row>({
      {"a secret, nothing said", secret, "", {}, "client_secret_basic"},
      {"a secret, both",
       secret,
       "",
       {"client_secret_post", "client_secret_basic"},
       "client_secret_basic"},
      {"a secret, in the body", secret, "", {"client_secret_post"}, "client_secret_post"},
      {"a secret, registered for the body",
       secret,
       "client_secret_post",
       {"none"},
       "client_secret_post"},
      {"a secret that nobody wants", secret, "", {"none"}, "none"},
      {"a secret, and only keys are taken", secret, "", {"private_key_jwt"}, ""},
      {"no secret", open, "", {}, "none"},
      {"no secret, and none is not in the list", open, "", {"client_secret_basic"}, "none"},
      {"no secret, registered with one", open, "client_secret_basic", {}, ""},
      {"a key", key, "", {}, "private_key_jwt"},
      {"a key", key, "", {"private_key_jwt"}, "private_key_jwt"},
      {"a key that is not taken", key, "", {"client_secret_basic"}, ""},
  }));
  INFO(row.why);
  ServerMetadata server{.issuer = "https://as.example"};
  server.client_auth_methods = row.methods;
  CHECK(client_auth_of(row.client, row.registered, server).value_or("") == row.way);
}

TEST_CASE("oauth_client: no answer is followed anywhere else", "[tools]") {
  FakeAuthorization http;
  tests::FakeClock clock;
  const OAuthClient client(http, clock, *tools::parse_url("https://s.example/mcp"));
  http.answers["https://as.example/token"].push_back(
      {.status = 307, .headers = {{"Location", "https://evil.example/token"}}});
  const auto answer =
      client.ask_for_tokens("https://as.example/token",
                            "https://as.example",
                            {{"grant_type", "client_credentials"}},
                            {.id = "i", .secret = "s", .auth = "client_secret_post"},
                            {});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == agent::Code::mcp_auth);
  CHECK(http.urls() == std::vector<std::string>{"https://as.example/token"});
}

TEST_CASE("oauth_client: an issuer that the agent file names is the only one", "[tools]") {
  FakeAuthorization http;
  tests::FakeClock clock;
  const OAuthClient client(http, clock, *tools::parse_url("https://s.example/mcp"));
  CHECK(client.discover({}, "https://as.example", {}));
  const auto other = client.discover({}, "https://other.example", {});
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message, Catch::Contains("is not an authorization server of"));
  http.pages.erase("https://s.example/.well-known/oauth-protected-resource/mcp");
  const auto alone = client.discover({}, "https://as.example", {});
  REQUIRE(alone);
  CHECK(alone->resource.resource == "https://s.example/mcp");
}

#include "tools/oauth/oauth_authorizer.h"

#include "tests/unit/tools/file_support.h"
#include "tests/unit/tools/oauth/fake_authorization_support.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace tools::oauth;
using namespace std::chrono_literals;
using agent::Code;
using tests::FakeAuthorization;

namespace {

constexpr const char* k_token_url = "https://as.example/token";

struct World {
  FakeAuthorization http;
  tests::FakeClock clock;
  tests::FileFolder folder;

  OAuthOptions options() { return tests::options_of(http, clock, folder.at("mcp")); }
  std::int64_t seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch())
        .count();
  }
  Login login(std::int64_t lifetime = 3'600) {
    return {.server = "https://s.example/mcp",
            .issuer = "https://as.example",
            .resource = "https://s.example/mcp",
            .token_endpoint = k_token_url,
            .client_id = "made",
            .client_secret = {},
            .client_auth = "none",
            .access_token = "old",
            .refresh_token = "again",
            .got = seconds(),
            .expires = seconds() + lifetime,
            .scopes = {"read"},
            .wanted = {}};
  }
  void keep(const Login& login) { REQUIRE(login_store_of(options()).save(login)); }
  Login kept() {
    auto login = login_store_of(options()).load();
    REQUIRE(login);
    return login->value_or(Login{});
  }
  OAuthOptions for_ci() {
    OAuthOptions all = options();
    all.spec = {.grant = agent::McpOAuthSpec::Grant::client_credentials,
                .client_id = "ci",
                .client_secret = "ci:secret"};
    return all;
  }
};

}  // namespace

TEST_CASE("oauth_authorizer: without a login there is no header, and a 401 says how to make one",
          "[tools]") {
  World world;
  OAuthAuthorizer authorizer(world.options());

  CHECK(authorizer.authorization({}) == "");
  const auto tried = authorizer.challenged(401, "Bearer scope=\"read write\"", "", {});

  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == Code::mcp_auth);
  CHECK(tried.error().message == "wants a login");
  CHECK(tried.error().help.starts_with("`errand mcp login agent.yaml crm` makes one; "));
  CHECK(world.http.asked.empty());
  CHECK(world.kept().wanted == std::vector<std::string>{"read", "write"});
  CHECK(world.kept().access_token.empty());
}

TEST_CASE("oauth_authorizer: a token that has run out is renewed before it is sent", "[tools]") {
  World world;
  world.keep(world.login(100));
  OAuthAuthorizer authorizer(world.options());

  CHECK(authorizer.authorization({}) == "Bearer old");
  CHECK(world.http.asked.empty());
  world.clock.sleep_for(80s, {});  // a quarter of its life before the end
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("new", "next"));
  CHECK(authorizer.authorization({}) == "Bearer new");

  REQUIRE(world.http.urls() == std::vector<std::string>{k_token_url});
  CHECK(world.http.asked[0].body ==
        "grant_type=refresh_token&refresh_token=again&resource=https%3A%2F%2Fs.example%2Fmcp&"
        "client_id=made");
  CHECK(world.kept().access_token == "new");
  CHECK(world.kept().refresh_token == "next");
  CHECK(world.kept().scopes == std::vector<std::string>{"read"});
  CHECK(world.kept().expires == world.seconds() + 3'600);
}

TEST_CASE("oauth_authorizer: what another process has renewed is taken as it is", "[tools]") {
  World world;
  world.keep(world.login());
  OAuthAuthorizer one(world.options());
  OAuthAuthorizer other(world.options());
  REQUIRE(one.authorization({}) == "Bearer old");
  REQUIRE(other.authorization({}) == "Bearer old");
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("new"));

  CHECK(one.challenged(401, "", "Bearer old", {}) == true);
  CHECK(other.challenged(401, "", "Bearer old", {}) == true);

  CHECK(one.authorization({}) == "Bearer new");
  CHECK(other.authorization({}) == "Bearer new");
  CHECK(world.http.asked.size() == 1);
  CHECK(world.kept().refresh_token == "again");  // the answer had no other one
}

TEST_CASE("oauth_authorizer: of many threads one renews", "[tools]") {
  World world;
  world.keep(world.login());
  OAuthAuthorizer authorizer(world.options());
  REQUIRE(authorizer.authorization({}));
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("new"));
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int count = 0; count < 8; ++count) {
      threads.emplace_back([&] {
        const auto again = authorizer.challenged(401, "", "Bearer old", {});
        const auto header = authorizer.authorization({});
        good += again == true && header == "Bearer new" ? 1 : 0;
      });
    }
  }
  CHECK(good == 8);
  CHECK(world.http.asked.size() == 1);
}

TEST_CASE(
    "oauth_authorizer: a login that is over says so, and one that cannot be asked for does not",
    "[tools]") {
  World world;
  world.keep(world.login());
  OAuthAuthorizer authorizer(world.options());
  REQUIRE(authorizer.authorization({}));
  Login left = world.login();

  SECTION("the server of logins has taken it back") {
    left.refresh_token.clear();
    world.http.will_answer(k_token_url, 400, {{"error", "invalid_grant"}});
    const auto tried = authorizer.challenged(401, "", "Bearer old", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_auth);
    CHECK_THAT(tried.error().message, Catch::Contains("this one is over"));
  }
  SECTION("it has another no") {
    left.refresh_token.clear();
    world.http.will_answer(
        k_token_url, 401, {{"error", "invalid_client"}, {"error_description", "unknown"}});
    const auto tried = authorizer.challenged(401, "", "Bearer old", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_auth);
    CHECK_THAT(tried.error().message, Catch::Contains("invalid_client unknown"));
  }
  SECTION("it is not there") {
    const auto tried = authorizer.challenged(401, "", "Bearer old", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_connection);
  }
  SECTION("it is in trouble") {
    world.http.will_answer(k_token_url, 503, agent::Json::object());
    const auto tried = authorizer.challenged(401, "", "Bearer old", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_connection);
  }
  SECTION("it answers nonsense") {
    world.http.will_answer(k_token_url, 200, {{"access_token", 3}, {"token_type", "Bearer"}});
    const auto tried = authorizer.challenged(401, "", "Bearer old", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_auth);
  }
  CHECK(world.kept() == left);
}

TEST_CASE("oauth_authorizer: a refresh token that was refused is not sent again", "[tools]") {
  World world;
  world.keep(world.login(0));
  OAuthOptions options = world.options();
  const auto is_sent_once = [&] {
    OAuthAuthorizer authorizer(options);
    CHECK(authorizer.authorization({}) == "Bearer old");  // it may still be taken
    CHECK_THAT(authorizer.end_of_login(),
               Catch::StartsWith("has a login that is over (") &&
                   Catch::EndsWith("`errand mcp login agent.yaml crm` makes a new one"));
    CHECK(authorizer.authorization({}) == "Bearer old");
    CHECK_FALSE(authorizer.challenged(401, "", "Bearer old", {}));
    CHECK(world.http.asked.size() == 1);
  };

  SECTION("nor by another process") {
    world.http.will_answer(
        k_token_url, 400, {{"error", "invalid_grant"}, {"error_description", "not again"}});
    is_sent_once();
    OAuthAuthorizer next(world.options());
    CHECK(next.authorization({}) == "Bearer old");
    CHECK(next.end_of_login().empty());
    CHECK(world.http.asked.size() == 1);
  }
  SECTION("which may do so where the secret of the agent file was wrong") {
    options.spec.client_id = "ours";
    REQUIRE(login_store_of(options).save(world.login(0)));
    world.http.will_answer(k_token_url, 401, {{"error", "invalid_client"}});
    is_sent_once();
    CHECK(login_store_of(options).load() == world.login(0));
  }
  SECTION("nor where the answer is none") {
    world.http.will_answer(k_token_url, 200, agent::Json::object());
    is_sent_once();
  }
  SECTION("but one that the server had no time for is") {
    world.http.will_answer(k_token_url, 400, {{"error", "temporarily_unavailable"}});
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("new"));
    OAuthAuthorizer authorizer(options);
    CHECK(authorizer.authorization({}) == "Bearer old");
    CHECK(authorizer.end_of_login().empty());
    CHECK(authorizer.authorization({}) == "Bearer new");
  }
  SECTION("and a new login goes on") {
    world.http.will_answer(k_token_url, 400, {{"error", "invalid_grant"}});
    OAuthAuthorizer authorizer(options);
    CHECK(authorizer.authorization({}) == "Bearer old");
    Login other = world.login();
    other.access_token = "other";
    world.keep(other);
    CHECK(authorizer.authorization({}) == "Bearer other");
    CHECK(authorizer.end_of_login().empty());
  }
}

TEST_CASE("oauth_authorizer: a server that refuses every token is not asked for ever", "[tools]") {
  World world;
  world.keep(world.login());
  OAuthAuthorizer authorizer(world.options());
  std::string header = authorizer.authorization({}).value_or("");
  for (int count = 0; count < 5; ++count) {
    world.http.will_answer(
        k_token_url, 200, FakeAuthorization::tokens("new" + std::to_string(count)));
  }
  for (int count = 0; count < 3; ++count) {
    REQUIRE(authorizer.challenged(401, "", header, {}) == true);
    header = authorizer.authorization({}).value_or("");
  }
  for (int count = 0; count < 2; ++count) {
    const auto tried = authorizer.challenged(401, "", header, {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_auth);
    CHECK(tried.error().message == "has refused 3 new tokens within a minute");
  }
  CHECK(world.http.asked.size() == 3);

  world.clock.sleep_for(61s, {});
  CHECK(authorizer.challenged(401, "", header, {}) == true);
}

TEST_CASE("oauth_authorizer: only new tokens that are refused as such are counted, each once",
          "[tools]") {
  World world;
  OAuthAuthorizer authorizer(world.for_ci());
  const auto is_given = [&](const std::string& token, std::string_view used) {
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens(token));
    CHECK(authorizer.challenged(401, "", used, {}) == true);
    CHECK(authorizer.authorization({}) == "Bearer " + token);
  };
  is_given("one", "");
  const std::string admin = "Bearer error=\"insufficient_scope\", scope=\"admin\"";

  SECTION("not one that is taken, and is not for all that is asked for") {
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("two"));
    CHECK(authorizer.challenged(403, admin, "Bearer one", {}) == true);
    for (int count = 0; count < 4; ++count) {
      const auto tried = authorizer.challenged(403, admin, "Bearer two", {});
      REQUIRE_FALSE(tried);
      CHECK(tried.error().message ==
            "refuses, though the login is for all that it asks for: admin");
    }
    is_given("three", "Bearer two");
  }
  SECTION("not one in whose place nobody gives another one") {
    for (int count = 0; count < 4; ++count) {
      const auto tried = authorizer.challenged(401, "", "Bearer one", {});
      REQUIRE_FALSE(tried);
      CHECK(tried.error().code == Code::mcp_connection);
    }
    is_given("two", "Bearer one");
  }
  SECTION("not one that was good for a while") {
    std::string used = "one";
    for (const char* const next : {"two", "three", "four", "five"}) {
      world.clock.sleep_for(61s, {});
      is_given(next, "Bearer " + std::exchange(used, next));
    }
  }
}

TEST_CASE("oauth_authorizer: a server that wants more of every token is not followed for ever",
          "[tools]") {
  World world;
  OAuthAuthorizer authorizer(world.for_ci());
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("0"));
  REQUIRE(authorizer.challenged(401, "", "", {}) == true);
  const auto wants_more = [&](int count) {
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens(std::to_string(count + 1)));
    return authorizer.challenged(
        403,
        "Bearer error=\"insufficient_scope\", scope=\"s" + std::to_string(count) + "\"",
        "Bearer " + std::to_string(count),
        {});
  };
  for (int count = 0; count < 10; ++count) {
    REQUIRE(wants_more(count) == true);
  }
  const auto tried = wants_more(10);
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == Code::mcp_auth);
  CHECK(tried.error().message == "has wanted a token for more 10 times within a minute, now: s10");
  CHECK(authorizer.challenged(401, "", "Bearer 10", {}) == true);  // it has run out
  CHECK(authorizer.authorization({}) == "Bearer 11");
}

TEST_CASE("oauth_authorizer: more rights need a person, who is asked for all of them at once",
          "[tools]") {
  World world;
  world.keep(world.login());
  OAuthAuthorizer authorizer(world.options());
  REQUIRE(authorizer.authorization({}));

  CHECK(authorizer.challenged(403, "", "Bearer old", {}) == false);
  CHECK(authorizer.challenged(500, "", "Bearer old", {}) == false);
  const auto tried = authorizer.challenged(
      403, "Bearer error=\"insufficient_scope\", scope=\"write\"", "Bearer old", {});
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == Code::mcp_auth);
  CHECK_THAT(tried.error().message, Catch::Contains("a login for more: write"));
  CHECK(world.kept().wanted == std::vector<std::string>{"read", "write"});
  CHECK(world.kept().access_token == "old");

  SECTION("and once that is done it goes on") {
    Login more = world.login();
    more.access_token = "more";
    more.scopes = {"read", "write"};
    world.keep(more);
    CHECK(authorizer.challenged(
              403, "Bearer error=\"insufficient_scope\", scope=\"write\"", "Bearer old", {}) ==
          true);
    CHECK(authorizer.authorization({}) == "Bearer more");
    const auto again = authorizer.challenged(
        403, "Bearer error=\"insufficient_scope\", scope=\"write\"", "Bearer more", {});
    REQUIRE_FALSE(again);
    CHECK_THAT(again.error().message,
               Catch::Contains("though the login is for all that it asks for: write"));
    CHECK_THAT(again.error().help, Catch::Contains("ask who runs the server"));
  }
  CHECK(world.http.asked.empty());
}

TEST_CASE("oauth_authorizer: a client of its own gets tokens by itself, and keeps none",
          "[tools]") {
  World world;
  OAuthAuthorizer authorizer(world.for_ci());
  REQUIRE(authorizer.authorization({}) == "");
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("one"));

  CHECK(authorizer.challenged(401, "Bearer", "", {}) == true);
  CHECK(authorizer.authorization({}) == "Bearer one");
  REQUIRE(world.http.asked.size() == 3);
  CHECK(world.http.asked[2].body ==
        "grant_type=client_credentials&resource=https%3A%2F%2Fs.example%2Fmcp&scope=read");
  CHECK(world.http.asked[2].authorization == "Basic Y2k6Y2klM0FzZWNyZXQ=");  // ci:ci%3Asecret
  CHECK_FALSE(std::filesystem::exists(world.folder.at("mcp")));

  SECTION("before one runs out there is another") {
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("two"));
    world.clock.sleep_for(3'590s, {});
    CHECK(authorizer.authorization({}) == "Bearer two");
  }
  SECTION("more scopes are asked for where the server wants them") {
    world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("two"));
    CHECK(authorizer.challenged(
              403, "Bearer error=\"insufficient_scope\", scope=\"write\"", "Bearer one", {}) ==
          true);
    CHECK_THAT(world.http.asked.back().body, Catch::Contains("scope=read%20write"));
  }
  SECTION("a no is the end") {
    world.http.will_answer(k_token_url, 401, {{"error", "invalid_client"}});
    const auto tried = authorizer.challenged(401, "", "Bearer one", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::mcp_auth);
    CHECK_THAT(tried.error().message, Catch::Contains("invalid_client"));
    CHECK_THAT(tried.error().message, !Catch::Contains("secret"));
  }
}

TEST_CASE("oauth_authorizer: a secret goes nowhere that the user has not allowed", "[tools]") {
  World world;
  OAuthOptions options = world.for_ci();
  std::string seen;
  options.may_have_secret = [&](const std::string& address) -> agent::Result<void> {
    seen = address;
    return agent::fail(Code::config_invalid, "no");
  };
  OAuthAuthorizer authorizer(options);
  const auto tried = authorizer.challenged(401, "", "", {});
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == Code::config_invalid);
  CHECK(seen == k_token_url);
  for (const auto& asked : world.http.asked) {
    CHECK(asked.method == "GET");
  }
}

TEST_CASE("oauth_authorizer: what the environment put into the address is not told anybody else",
          "[tools]") {
  World world;
  std::string seen;
  const auto no = [&](const std::string& address) -> agent::Result<void> {
    seen = address;
    return agent::fail(Code::config_invalid, "no");
  };
  SECTION("for a token of its own") {
    OAuthOptions options = world.for_ci();
    options.may_be_told = no;
    const auto tried = OAuthAuthorizer(options).challenged(401, "", "", {});
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::config_invalid);
    CHECK(seen == k_token_url);
  }
  SECTION("when a login is renewed") {
    world.keep(world.login(-1));
    OAuthOptions options = world.options();
    options.may_be_told = no;
    CHECK_FALSE(OAuthAuthorizer(options).authorization({}));
    CHECK(seen == k_token_url);
  }
  SECTION("nor the issuer that is named, before it is asked anything") {
    OAuthOptions options = world.for_ci();
    options.spec.issuer = "https://as.example";
    options.may_be_told = no;
    CHECK_FALSE(OAuthAuthorizer(options).challenged(401, "", "", {}));
    CHECK(seen == "https://as.example");
    CHECK(world.http.asked.empty());
  }
  for (const auto& asked : world.http.asked) {
    CHECK(asked.method == "GET");
  }
}

TEST_CASE(
    "oauth_authorizer: metadata that is not the server's own ends it before a token is asked for",
    "[tools]") {
  World world;
  OAuthAuthorizer authorizer(world.for_ci());
  std::string header;
  SECTION("another resource") {
    auto& page = world.http.pages["https://s.example/.well-known/oauth-protected-resource/mcp"];
    page["resource"] = "https://evil.example/mcp";
  }
  SECTION("another issuer") {
    auto& page = world.http.pages["https://as.example/.well-known/oauth-authorization-server"];
    page["issuer"] = "https://evil.example";
  }
  SECTION("metadata on another server") {
    header = "Bearer resource_metadata=\"https://evil.example/x\"";
    world.http.pages["https://evil.example/x"] = FakeAuthorization::resource();
  }
  SECTION("no metadata at all") {
    world.http.pages.clear();
  }
  SECTION("none of the authorization server") {
    world.http.pages.erase("https://as.example/.well-known/oauth-authorization-server");
  }
  const auto tried = authorizer.challenged(401, header, "", {});
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == Code::mcp_auth);
  for (const auto& asked : world.http.asked) {
    CHECK(asked.method == "GET");
    CHECK_THAT(asked.url, !Catch::Contains("evil"));
  }
}

TEST_CASE("oauth_authorizer: what a server says of the tokens comes to nobody", "[tools]") {
  World world;
  Login login = world.login();
  login.access_token = "an-older-token";
  login.refresh_token = "again-and-again";
  world.keep(login);
  OAuthAuthorizer authorizer(world.options());
  const auto said = [&](std::string text) {
    agent::Json value = {{"deep", {text}}};
    authorizer.redact(value);
    authorizer.redact(text);
    CHECK(value["deep"][0] == text);
    return text;
  };
  REQUIRE(authorizer.authorization({}));
  CHECK(said("an-older-token again-and-again") == "[redacted] [redacted]");
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("a-newer-token", "and-again"));
  REQUIRE(authorizer.challenged(401, "", "Bearer an-older-token", {}) == true);
  CHECK(said("a-newer-token, an-older-token, and-again") == "[redacted], [redacted], [redacted]");
  CHECK(said("a token") == "a token");
}

TEST_CASE("oauth_authorizer: a login that is being renewed is kept, whoever wants to stop",
          "[tools]") {
  World world;
  world.keep(world.login());
  std::optional<OAuthAuthorizer> owner(world.options());
  OAuthAuthorizer& authorizer = *owner;
  REQUIRE(authorizer.authorization({}));
  world.http.will_answer(k_token_url, 200, FakeAuthorization::tokens("new", "next"));
  std::stop_source stop;
  SECTION("before it is asked for, nothing is sent") {
    stop.request_stop();
    const auto tried = authorizer.challenged(401, "", "Bearer old", stop.get_token());
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Code::run_cancelled);
    CHECK(world.http.asked.empty());
    CHECK(world.kept().refresh_token == "again");
  }
  SECTION("while it is asked for, the answer is for those that come later") {
    world.http.while_answering = [&] { stop.request_stop(); };
    std::ignore = authorizer.challenged(401, "", "Bearer old", stop.get_token());
    CHECK(authorizer.authorization({}) == "Bearer new");
    CHECK(world.kept().refresh_token == "next");
    CHECK(world.http.asked.size() == 1);
  }
  SECTION("and at the end it is waited for") {
    world.http.while_answering = [&] { stop.request_stop(); };
    std::ignore = authorizer.challenged(401, "", "Bearer old", stop.get_token());
    owner.reset();
    CHECK(world.kept().refresh_token == "next");
  }
}

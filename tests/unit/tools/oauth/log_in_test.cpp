#include "tools/oauth/log_in.h"

#include "agent/base64.h"
#include "agent/sha256.h"
#include "tests/unit/tools/file_support.h"
#include "tests/unit/tools/oauth/fake_authorization_support.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace tools::oauth;
using namespace std::chrono_literals;
using agent::Code;
using tests::FakeAuthorization;

namespace {

using Query = std::map<std::string, std::string, std::less<>>;

// A browser whose user says yes at once: goes to the redirect of the address, with these besides.
class Browser {
 public:
  explicit Browser(Form more) : more_(std::move(more)) {}

  void open(const std::string& address) {
    address_ = address.substr(0, address.find('?'));
    query_ = parse_form(std::string_view(address).substr(address_.size() + 1)).value_or(Query{});
    const std::string redirect = query_["redirect_uri"];
    Form form = more_;
    form.emplace_back("state", query_["state"]);
    request_ = "GET " + with_query("/callback", form) + " HTTP/1.1\r\n\r\n";
    const int port = std::stoi(redirect.substr(redirect.rfind(':') + 1));
    socket_ = agent::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    REQUIRE(agent::write_all(socket_.get(), request_) == 0);
  }

  std::string address_;
  Query query_;

 private:
  Form more_;
  std::string request_;
  agent::Descriptor socket_;
};

struct Desk {
  FakeAuthorization http;
  tests::FakeClock clock;
  tests::FileFolder folder;
  OAuthOptions options = tests::options_of(http, clock, folder.at("mcp"));

  Desk() {
    http.answers["https://s.example/mcp"].push_back(
        {.status = 401, .headers = {{"WWW-Authenticate", "Bearer scope=\"read\""}}});
  }
  agent::Result<Login> log_in(Browser& browser) {
    auto listener = CallbackListener::open(0);
    REQUIRE(listener);
    return tools::oauth::log_in(
        options,
        {.listener = *listener,
         .patience = 10s,
         .show = [&](const std::string& address) { browser.open(address); }},
        {});
  }
};

}  // namespace

TEST_CASE("log_in: a client is registered, the code is changed for tokens, and they are kept",
          "[tools]") {
  Desk desk;
  desk.http.will_answer("https://as.example/register", 201, {{"client_id", "made"}});
  desk.http.will_answer(
      "https://as.example/token", 200, FakeAuthorization::tokens("access", "refresh"));
  Browser browser(Form{{"code", "abc"}});
  const auto login = desk.log_in(browser);
  REQUIRE(login);

  CHECK(browser.address_ == "https://as.example/authorize");
  CHECK(browser.query_["client_id"] == "made");
  CHECK(browser.query_["scope"] == "read");
  CHECK(browser.query_["resource"] == "https://s.example/mcp");
  CHECK(browser.query_["code_challenge_method"] == "S256");
  CHECK(browser.query_["state"].size() == 43);
  const auto registered = agent::parse_json(desk.http.asked[3].body);
  REQUIRE(registered);
  CHECK((*registered)["redirect_uris"] == agent::Json{browser.query_["redirect_uri"]});
  CHECK((*registered)["application_type"] == "native");
  auto form = parse_form(desk.http.asked.back().body);
  REQUIRE(form);
  CHECK((*form)["code"] == "abc");
  CHECK((*form)["resource"] == "https://s.example/mcp");
  CHECK((*form)["redirect_uri"] == browser.query_["redirect_uri"]);
  CHECK(agent::to_base64url(agent::sha256((*form)["code_verifier"])) ==
        browser.query_["code_challenge"]);
  CHECK(login_store_of(desk.options).load().value() == *login);
  CHECK(login->access_token == "access");
  CHECK(login->refresh_token == "refresh");
  CHECK(login->scopes == std::vector<std::string>{"read"});
}

TEST_CASE("log_in: a named client, all scopes that were ever wanted, and one that renews",
          "[tools]") {
  Desk desk;
  desk.options.spec = {.client_id = "mine", .client_secret = "hush", .scopes = {"base"}};
  desk.http.pages["https://as.example/.well-known/oauth-authorization-server"]["scopes_supported"] =
      {"read", "offline_access"};
  REQUIRE(login_store_of(desk.options).save({.wanted = {"write"}}));
  desk.http.will_answer("https://as.example/token", 200, FakeAuthorization::tokens("access"));
  Browser browser(Form{{"code", "abc"}});
  const auto login = desk.log_in(browser);
  REQUIRE(login);
  CHECK(browser.query_["scope"] == "base read write offline_access");
  CHECK(desk.http.asked.back().authorization == "Basic bWluZTpodXNo");
  CHECK(login->client_secret == "");  // the agent file has it
  CHECK(login->wanted.empty());
}

TEST_CASE("log_in: an answer that is not the asked server's is refused before a code is sent",
          "[tools]") {
  struct Row {
    const char* why;
    bool is_advertised;
    Form answer;
    const char* wrong;
  };
  const auto row = GENERATE(values<Row>({
      {"the right issuer", true, {{"code", "c"}, {"iss", "https://as.example"}}, ""},
      {"no issuer, none said", false, {{"code", "c"}}, ""},
      {"no issuer", true, {{"code", "c"}}, "of nobody"},
      {"another issuer", true, {{"code", "c"}, {"iss", "https://evil"}}, "of https://evil"},
      {"another one, none said",
       false,
       {{"code", "c"}, {"iss", "https://evil"}},
       "of https://evil"},
      {"a slash more", true, {{"code", "c"}, {"iss", "https://as.example/"}}, "and not of"},
      {"a no", false, {{"error", "access_denied"}}, "the login was refused: access_denied"},
      {"no code", false, {{"x", "y"}}, "has no code"},
  }));
  INFO(row.why);
  Desk desk;
  desk.http.pages["https://as.example/.well-known/oauth-authorization-server"]
                 ["authorization_response_iss_parameter_supported"] = row.is_advertised;
  desk.http.will_answer("https://as.example/register", 201, {{"client_id", "made"}});
  desk.http.will_answer("https://as.example/token", 200, FakeAuthorization::tokens("access"));
  Browser browser(row.answer);
  const auto login = desk.log_in(browser);
  REQUIRE(login.has_value() == std::string_view(row.wrong).empty());
  if (!login) {
    CHECK(login.error().code == Code::mcp_auth);
    CHECK_THAT(login.error().message, Catch::Contains(row.wrong));
    CHECK(desk.http.asked.back().url == "https://as.example/register");
    CHECK(login_store_of(desk.options).load().value() == std::nullopt);
  }
}

TEST_CASE("log_in: a server where nobody can log in safely is refused before anybody is asked",
          "[tools]") {
  Desk desk;
  auto& page = desk.http.pages["https://as.example/.well-known/oauth-authorization-server"];
  SECTION("no PKCE") {
    page.erase("code_challenge_methods_supported");
  }
  SECTION("no authorization endpoint") {
    page.erase("authorization_endpoint");
  }
  SECTION("no registration, and no client") {
    page.erase("registration_endpoint");
  }
  SECTION("an address as client, which it does not take") {
    desk.options.spec.client_id = "https://me.example/client.json";
  }
  SECTION("registration refused") {
    desk.http.will_answer("https://as.example/register", 400, {{"error", "invalid_redirect_uri"}});
  }
  Browser browser(Form{});
  const auto login = desk.log_in(browser);
  REQUIRE_FALSE(login);
  CHECK(login.error().code == Code::mcp_auth);
  CHECK(browser.address_.empty());
}

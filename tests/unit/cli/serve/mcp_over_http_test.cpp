#include "cli/serve/mcp_over_http.h"

#include <catch2/catch.hpp>

#include <optional>
#include <string>

namespace {

using agent::Headers;
using agent::Json;
using cli::HttpAccess;
using cli::ReceivedRequest;

ReceivedRequest request(const Headers& more) {
  ReceivedRequest made{.method = "POST", .path = "/mcp"};
  for (const auto& [name, value] : Headers{{"host", "localhost:8123"},
                                           {"content-type", "application/json; charset=utf-8"},
                                           {"accept", "application/json, text/event-stream"}}) {
    if (agent::header(more, name).empty()) {
      made.headers.emplace_back(name, value);
    }
  }
  made.headers.insert(made.headers.end(), more.begin(), more.end());
  return made;
}

int status(const Headers& more, const HttpAccess& access) {
  const auto refusal = cli::refusal_of(request(more), access);
  return refusal ? refusal->status : 200;
}

tools::mcp::Message message(const std::string& text) {
  return tools::mcp::read_messages(text, tools::mcp::Reading::strict).value().front();
}

}  // namespace

TEST_CASE("mcp over http: a server on loopback is asked for by its own names", "[cli]") {
  const HttpAccess access{.hosts = cli::hosts_of("127.0.0.1")};
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1:8123", "[::1]:8123", "[::1]"}) {
    INFO(host);
    CHECK(status({{"host", host}}, access) == 200);
  }
  for (const char* host : {"evil.example",
                           "localhost.evil.example",
                           "127.0.0.2",
                           "[::1",
                           "[",
                           ":",
                           "localhost@evil.example",
                           "127.0.0.1:8123@evil.example",
                           "localhost:evil.example",
                           "[::1]:8123:9",
                           "[::1]:8123@evil.example",
                           "0.0.0.0"}) {
    INFO(host);
    CHECK(status({{"host", host}}, access) == 403);
  }
}

TEST_CASE("mcp over http: pages of others are not served", "[cli]") {
  const HttpAccess access{.hosts = cli::hosts_of("127.0.0.1")};
  CHECK(status({{"origin", "http://localhost:8123"}}, access) == 200);
  CHECK(status({{"origin", "https://LOCALHOST:8123"}}, access) == 200);
  CHECK(status({{"host", "[::1]"}, {"origin", "https://[::1]"}}, access) == 200);
  for (const char* origin : {"null",
                             "http://localhost",
                             "http://localhost:3000",
                             "http://127.0.0.1:8123",
                             "http://evil.example",
                             "http://localhost.evil.example",
                             "file://localhost",
                             "localhost",
                             "http://"}) {
    INFO(origin);
    CHECK(status({{"origin", origin}}, access) == 403);
  }
  const HttpAccess any{.token = "0123456789abcdef", .hosts = cli::hosts_of("0.0.0.0")};
  const std::string bearer = "Bearer 0123456789abcdef";
  CHECK(status({{"host", "agents.corp"}, {"authorization", bearer}}, any) == 200);
  CHECK(status({{"host", "agents.corp"}, {"authorization", bearer}, {"origin", "https://x"}},
               any) == 403);
  CHECK(status(
            {{"host", "agents.corp"}, {"authorization", bearer}, {"origin", "https://agents.corp"}},
            any) == 200);
}

TEST_CASE("mcp over http: a token is asked of everybody", "[cli]") {
  const HttpAccess access{.token = "0123456789abcdef", .hosts = cli::hosts_of("127.0.0.1")};
  CHECK(status({{"authorization", "bearer  0123456789abcdef"}}, access) == 200);
  for (const char* value : {"",
                            "Bearer",
                            "Bearer 0123456789abcdeF",
                            "Basic 0123456789abcdef",
                            "0123456789abcdef",
                            "Bearer 0123456789abcdef0"}) {
    INFO(value);
    CHECK(status({{"authorization", value}}, access) == 401);
  }
  auto elsewhere = request({});
  elsewhere.path = "/";
  CHECK(cli::refusal_of(elsewhere, access)->status == 401);  // says nothing of what is where
}

TEST_CASE("mcp over http: which addresses others cannot reach", "[cli]") {
  CHECK(cli::is_loopback("127.0.0.1"));
  CHECK(cli::is_loopback("127.8.9.1"));
  CHECK(cli::is_loopback("::1"));
  for (const char* address :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost", "", "::ffff:127.0.0.1"}) {
    CHECK_FALSE(cli::is_loopback(address));
  }
  CHECK(cli::hosts_of("10.0.0.1") == std::set<std::string>{"10.0.0.1"});
  CHECK(cli::hosts_of("FE80::1") == std::set<std::string>{"[fe80::1]"});
  CHECK(cli::hosts_of("::").empty());
}

TEST_CASE("mcp over http: headers say what the message says", "[cli]") {
  const auto call = message(
      R"({"id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  const Headers right{
      {"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/call"}, {"mcp-name", "a"}};
  CHECK(cli::header_mismatch(right, call) == std::nullopt);
  Headers encoded = right;
  encoded[2].second = "=?base64?YQ==?=";
  CHECK(cli::header_mismatch(encoded, call) == std::nullopt);
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (const char* value : {"", "other", "=?base64?!?=", "=?base64?="}) {
      Headers wrong = right;
      wrong[at].second = value;
      INFO(wrong[at].first << ": " << value);
      CHECK(cli::header_mismatch(wrong, call));
    }
  }
}

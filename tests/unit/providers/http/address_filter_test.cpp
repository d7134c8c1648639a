#include "providers/http/http_client.h"
#include "tests/unit/providers/http/loopback_server.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace {

using agent::AddressFilter;
using agent::HttpRequest;
using providers::HttpClient;

std::string loopback_of(int port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

HttpRequest get(const std::string& url, const AddressFilter& filter) {
  return {.method = "GET", .url = url, .body = {}, .may_connect = &filter};
}

// Answers each request of a kept connection.
void serve(tests::Peer& peer) {
  while (!peer.read_request().empty() && peer.send(tests::answer("fine"))) {
  }
}

}  // namespace

TEST_CASE("http: no socket is opened to an address that the request does not allow",
          "[providers]") {
  tests::LoopbackServer server(serve);
  const std::string host = GENERATE("127.0.0.1", "localhost", "2130706433", "127.1");
  std::vector<int> families;
  const AddressFilter none = [&](const sockaddr& address) {
    families.push_back(address.sa_family);
    return false;
  };
  HttpClient client(agent::Environment{});
  const std::string url = "http://" + host + ":" + std::to_string(server.port()) + "/";
  INFO(url);
  const auto response = client.send(get(url, none), nullptr, {});

  REQUIRE_FALSE(response);
  CHECK(response.error().code == agent::Code::provider_network);
  CHECK_FALSE(families.empty());
  CHECK(server.connections() == 0);
}

TEST_CASE("http: a kept connection is none that an address was allowed for", "[providers]") {
  tests::LoopbackServer server(serve);
  HttpClient client(agent::Environment{});
  int asked = 0;
  const AddressFilter all = [&](const sockaddr&) { return ++asked > 0; };
  const AddressFilter none = [](const sockaddr&) { return false; };

  CHECK(client.send({.method = "GET", .url = server.url("/"), .body = {}}, nullptr, {}));
  CHECK_FALSE(client.send(get(server.url("/"), none), nullptr, {}));
  CHECK(client.send(get(server.url("/"), all), nullptr, {}));
  CHECK(client.send(get(server.url("/"), all), nullptr, {}));
  CHECK(asked == 2);
  CHECK(server.connections() == 3);
  // Nor is one of them kept for others.
  CHECK(client.send({.method = "GET", .url = server.url("/"), .body = {}}, nullptr, {}));
  CHECK(server.connections() == 3);
}

TEST_CASE("http: with addresses to look at no proxy is asked", "[providers]") {
  tests::LoopbackServer proxy(serve);
  tests::LoopbackServer server(serve);
  HttpClient client(agent::Environment{{"http_proxy", loopback_of(proxy.port())}});
  const AddressFilter all = [](const sockaddr&) { return true; };

  CHECK(client.send(get(server.url("/"), all), nullptr, {}));
  CHECK(proxy.connections() == 0);
  CHECK(server.connections() == 1);
  // Nor is one for this machine.
  CHECK(client.send({.method = "GET", .url = server.url("/"), .body = {}}, nullptr, {}));
  CHECK(proxy.connections() == 0);
  CHECK(client.send({.method = "GET", .url = "http://server.example/", .body = {}}, nullptr, {}));
  CHECK(proxy.connections() == 1);
}

// Real sockets on the loopback, and a proxy that answers by a script.
#include "providers/http/curl_dialer.h"

#include <catch2/catch.hpp>

#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using agent::Code;
using agent::Descriptor;
using providers::CurlDialer;

namespace {

struct Listener {
  Listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket.get(), 16) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  Descriptor accept() const {
    pollfd event{.fd = socket.get(), .events = POLLIN, .revents = 0};
    ::poll(&event, 1, 20'000);
    return Descriptor(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  Descriptor socket;
  int port = 0;
};

bool pass(const Descriptor& from, const Descriptor& to) {
  char byte = 0;
  pollfd event{.fd = to.get(), .events = POLLIN, .revents = 0};
  return ::send(from.get(), "x", 1, MSG_NOSIGNAL) == 1 && ::poll(&event, 1, 20'000) == 1 &&
         ::recv(to.get(), &byte, 1, 0) == 1 && byte == 'x';
}

std::string proxy_at(const Listener& proxy) {
  return "http://127.0.0.1:" + std::to_string(proxy.port);
}

}  // namespace

TEST_CASE("dialer: a connection that carries bytes both ways and does not block", "[providers]") {
  const Listener server;
  const auto connection = CurlDialer({}).dial("127.0.0.1", server.port, {}, {});
  REQUIRE(connection);
  const Descriptor peer = server.accept();
  CHECK(pass(*connection, peer));
  CHECK(pass(peer, *connection));
  char byte = 0;
  CHECK(::recv(connection->get(), &byte, 1, 0) == -1);  // at once
}

TEST_CASE("dialer: an address that is refused is not connected to", "[providers]") {
  const Listener server;
  int asked = 0;
  const agent::AddressFilter none = [&](const sockaddr& address) {
    asked += address.sa_family == AF_INET ? 1 : 0;
    return false;
  };
  const auto refused = CurlDialer({}).dial("127.0.0.1", server.port, none, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::provider_network);
  CHECK(asked == 1);
  pollfd event{.fd = server.socket.get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&event, 1, 0) == 0);
}

TEST_CASE("dialer: nobody listens", "[providers]") {
  Listener gone;
  gone.socket.reset();
  const auto refused = CurlDialer({}).dial("127.0.0.1", gone.port, {}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::provider_network);
  CHECK(refused.error().message.starts_with("cannot connect to 127.0.0.1:"));
}

TEST_CASE("dialer: through the environment's proxy, whatever is public", "[providers]") {
  const Listener proxy;
  std::string asked;
  std::jthread served([&] {
    const Descriptor client = proxy.accept();
    std::array<char, 4096> buffer;
    while (!asked.ends_with("\r\n\r\n")) {
      const ssize_t got = ::recv(client.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        return;
      }
      asked.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const std::string_view answer = "HTTP/1.1 200 Connection established\r\n\r\nfirst";
    ::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  });
  const agent::AddressFilter none = [](const sockaddr&) { return false; };
  const auto connection =
      CurlDialer({{"https_proxy", proxy_at(proxy)}}).dial("name.test", 22, none, {});
  REQUIRE(connection);
  served.join();
  CHECK(asked.starts_with("CONNECT name.test:22 HTTP/1.1\r\n"));
  pollfd event{.fd = connection->get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&event, 1, 20'000) == 1);
  std::array<char, 16> buffer;
  const ssize_t got = ::recv(connection->get(), buffer.data(), buffer.size(), 0);
  CHECK(std::string_view(buffer.data(), static_cast<std::size_t>(got)) == "first");
}

TEST_CASE("dialer: past the proxy where no_proxy says so", "[providers]") {
  const Listener proxy;
  const Listener server;
  CurlDialer dialer({{"https_proxy", proxy_at(proxy)}, {"no_proxy", "127.0.0.1"}});
  const auto connection = dialer.dial("127.0.0.1", server.port, {}, {});
  REQUIRE(connection);
  CHECK(pass(*connection, server.accept()));
}

TEST_CASE("dialer: a proxy that says nothing is not waited for after a stop", "[providers]") {
  const Listener proxy;
  std::stop_source stop;
  const std::jthread stopper([&] {
    const Descriptor client = proxy.accept();
    stop.request_stop();
    char byte = 0;
    while (::recv(client.get(), &byte, 1, 0) > 0) {
    }
  });
  const auto stopped =
      CurlDialer({{"https_proxy", proxy_at(proxy)}}).dial("name.test", 443, {}, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Code::run_cancelled);
}

// Real sockets on the loopback: a client, the egress proxy, a server, and a dialer of the kernel's
// own.
#include "tools/process/egress_proxy.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using agent::Descriptor;
using tools::EgressProxy;
using tools::HostList;
using Lines = std::vector<std::string>;

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Listener {
  Listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket.get(), 128) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  Descriptor accept() const {
    pollfd event{.fd = socket.get(), .events = POLLIN, .revents = 0};
    ::poll(&event, 1, 20'000);
    return Descriptor(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  bool has_visitor() const {
    pollfd event{.fd = socket.get(), .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) > 0;
  }

  Descriptor socket;
  int port = 0;
};

Descriptor connect_to(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

// For any thread; Catch's own words are for the test's alone.
bool send_all(const Descriptor& socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void say(const Descriptor& socket, std::string_view text) {
  REQUIRE(send_all(socket, text));
}

// Until the other side ends or `enough` has come.
std::string hear(const Descriptor& socket, std::size_t enough = std::string::npos) {
  std::string heard;
  std::array<char, 65536> buffer;
  while (heard.size() < enough) {
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      break;
    }
    heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

// Every name is this machine, at the port that is asked for.
class LoopbackDialer final : public agent::Dialer {
 public:
  agent::Result<Descriptor> dial(const std::string& host,
                                 int port,
                                 const agent::AddressFilter& may_connect,
                                 std::stop_token) override {
    const sockaddr_in address = loopback(port);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if ((may_connect && !may_connect(*generic)) || host == "down.test" ||
        ::connect(socket.get(), generic, sizeof address) != 0) {
      return agent::fail(agent::Code::provider_network, "cannot connect to " + host);
    }
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    return socket;
  }
};

struct World {
  explicit World(const std::vector<std::string>& allowed)
      : hosts(*HostList::create(allowed)),
        egress_proxy(*EgressProxy::open(entry.socket.get(), hosts, dialer)) {}
  Descriptor client() const { return connect_to(entry.port); }

  Listener entry;
  HostList hosts;
  LoopbackDialer dialer;
  std::unique_ptr<EgressProxy> egress_proxy;
};

std::string port_of(const Listener& server) {
  return std::to_string(server.port);
}

constexpr std::string_view k_established = "HTTP/1.1 200 Connection established\r\n\r\n";

struct Tunnel {
  Tunnel(const World& world, const Listener& server) : client(world.client()) {
    say(client, "CONNECT allowed.test:" + port_of(server) + " HTTP/1.1\r\n\r\n");
    peer = server.accept();
    CHECK(hear(client, k_established.size()) == k_established);
  }

  Descriptor client;
  Descriptor peer;
};

}  // namespace

TEST_CASE("egress proxy: a tunnel to an allowed host, both ways, half-closed", "[tools]") {
  const Listener server;
  const World world({"allowed.test:" + port_of(server)});
  const Descriptor client = world.client();
  say(client, "CONNECT allowed.test:" + port_of(server) + " HTTP/1.1\r\n\r\nearly ");
  const Descriptor peer = server.accept();
  CHECK(hear(client, k_established.size()) == k_established);
  say(client, "bytes");
  ::shutdown(client.get(), SHUT_WR);
  CHECK(hear(peer) == "early bytes");
  say(peer, "an answer after the end");
  ::shutdown(peer.get(), SHUT_RDWR);
  CHECK(hear(client) == "an answer after the end");
  CHECK(world.egress_proxy->refused().empty());
}

TEST_CASE("egress proxy: a plain request reaches the server in its own form", "[tools]") {
  const Listener server;
  const World world({"allowed.test:" + port_of(server)});
  const Descriptor client = world.client();
  const std::string host = "allowed.test:" + port_of(server);
  say(client, "POST http://" + host + "/a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbo");
  const Descriptor peer = server.accept();
  say(client, "dy");
  const std::string expected = "POST /a HTTP/1.1\r\nHost: " + host +
                               "\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
  CHECK(hear(peer, expected.size()) == expected);
  say(peer, "HTTP/1.1 204 No Content\r\n\r\n");
  ::shutdown(peer.get(), SHUT_RDWR);
  CHECK(hear(client) == "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_CASE("egress proxy: other hosts, ports and forms are refused, and told", "[tools]") {
  const Listener server;
  const World world({"allowed.test:" + port_of(server), "*.pattern.test:" + port_of(server)});
  const auto asked = [&](const std::string& head) {
    const Descriptor client = world.client();
    say(client, head + "\r\n\r\n");
    return hear(client);
  };
  const std::string port = ":" + port_of(server);
  const std::string refused = asked("CONNECT other.test" + port + " HTTP/1.1");
  CHECK(refused.starts_with("HTTP/1.1 403 Forbidden\r\n"));
  CHECK(refused.ends_with("errand: other.test" + port +
                          " is not in `sandbox.allow_hosts` of the agent file\n"));
  CHECK(asked("CONNECT allowed.test:1 HTTP/1.1").starts_with("HTTP/1.1 403"));
  CHECK(asked("GET http://127.0.0.1" + port + "/ HTTP/1.1\r\nHost: allowed.test" + port)
            .starts_with("HTTP/1.1 403"));
  // A name that a pattern covers may not lead to this machine.
  CHECK(asked("CONNECT x.pattern.test" + port + " HTTP/1.1").contains("(loopback)"));
  CHECK(asked("GET / HTTP/1.1").starts_with("HTTP/1.1 400"));
  CHECK(asked("CONNECT allowed.test" + port + "@other.test" + port + " HTTP/1.1")
            .starts_with("HTTP/1.1 400"));
  CHECK(world.egress_proxy->refused() ==
        Lines{"127.0.0.1" + port, "allowed.test:1", "other.test" + port, "x.pattern.test" + port});
  CHECK_FALSE(server.has_visitor());
}

TEST_CASE("egress proxy: a host that does not answer is a 502", "[tools]") {
  const World world({"down.test"});
  const Descriptor client = world.client();
  say(client, "CONNECT down.test:443 HTTP/1.1\r\n\r\n");
  CHECK(hear(client).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
  CHECK(world.egress_proxy->refused().empty());
}

TEST_CASE("egress proxy: a head that is too long, or is cut, ends the connection", "[tools]") {
  const World world({"allowed.test"});
  const Descriptor cut = world.client();
  say(cut, "CONNECT allo");
  ::shutdown(cut.get(), SHUT_WR);
  CHECK(hear(cut).empty());
  const Descriptor endless = world.client();
  const std::string line(4096, 'x');
  ssize_t sent = 1;
  for (int i = 0; i < 1000 && sent > 0; ++i) {
    sent = ::send(endless.get(), line.data(), line.size(), MSG_NOSIGNAL);
  }
  CHECK(sent <= 0);
}

TEST_CASE("egress proxy: megabytes both ways at once, past full buffers", "[tools]") {
  const Listener server;
  const World world({"allowed.test:" + port_of(server)});
  const Tunnel tunnel(world, server);
  const Descriptor& client = tunnel.client;
  const Descriptor& peer = tunnel.peer;
  constexpr std::size_t k_size = 8u << 20;
  std::string up;
  {
    const std::jthread echo([&] {
      std::array<char, 65536> buffer;
      for (ssize_t got; (got = ::recv(peer.get(), buffer.data(), buffer.size(), 0)) > 0;) {
        if (!send_all(peer, std::string_view(buffer.data(), static_cast<std::size_t>(got)))) {
          return;
        }
      }
      ::shutdown(peer.get(), SHUT_WR);
    });
    const std::jthread writer([&] {
      send_all(client, std::string(k_size, 'z'));
      ::shutdown(client.get(), SHUT_WR);
    });
    up = hear(client);
  }
  CHECK(up == std::string(k_size, 'z'));
}

TEST_CASE("egress proxy: more connections than it serves at once wait for their turn", "[tools]") {
  const World world({"allowed.test"});
  std::vector<Descriptor> silent;
  for (int i = 0; i < 70; ++i) {
    silent.push_back(world.client());
  }
  const Descriptor last = world.client();
  say(last, "CONNECT other.test:443 HTTP/1.1\r\n\r\n");
  silent.erase(silent.begin(), silent.begin() + 10);
  CHECK(hear(last).starts_with("HTTP/1.1 403"));
}

TEST_CASE("egress proxy: its end cuts what is connected, and empties the queue", "[tools]") {
  const Listener server;
  World world({"allowed.test:" + port_of(server)});
  const Tunnel tunnel(world, server);
  const Descriptor idle = world.client();
  world.egress_proxy.reset();
  CHECK(hear(tunnel.client).empty());
  CHECK(hear(tunnel.peer).empty());
  CHECK(hear(idle).empty());
  CHECK_FALSE(world.entry.has_visitor());
}

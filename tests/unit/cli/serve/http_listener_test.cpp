#include "cli/serve/http_listener.h"

#include "agent/descriptor.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds k_patience{30};
constexpr int k_small_buffer = 4 << 10;
const std::string k_request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// Answers all with a few hundred bytes.
class Answers final : public cli::HttpHandler {
 public:
  std::optional<cli::HttpReply> refusal(const cli::ReceivedRequest& /*head*/) override {
    return std::nullopt;
  }
  cli::HttpReply answer(cli::ReceivedRequest /*request*/, std::uint64_t /*connection*/) override {
    return {.body = std::string(400, 'x')};
  }
  void gone(std::uint64_t /*connection*/) override {}
};

agent::Descriptor connected_to(std::uint16_t port) {
  agent::Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  REQUIRE(::setsockopt(
              client.get(), SOL_SOCKET, SO_RCVBUF, &k_small_buffer, sizeof k_small_buffer) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE((::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ||
           errno == EINPROGRESS));
  return client;
}

bool is_closed(const agent::Descriptor& client) {
  pollfd one{.fd = client.get(), .events = POLLOUT, .revents = 0};
  ::poll(&one, 1, 10);
  return (one.revents & (POLLERR | POLLHUP)) != 0;
}

// Asks as often as it can be told.
struct Asker {
  const agent::Descriptor& client;
  std::string many = {};
  std::size_t told = 0;  // of the next request

  void ask() {
    while (many.size() < 1'000 * k_request.size()) {
      many += k_request;
    }
    for (;;) {
      const auto count = ::send(client.get(), many.data() + told, many.size() - told, MSG_NOSIGNAL);
      if (count <= 0) {
        return;
      }
      told = (told + static_cast<std::size_t>(count)) % k_request.size();
    }
  }
};

}  // namespace

TEST_CASE("http listener: who asks and does not read is sent away, and who reads slowly is not") {
  Answers handler;
  auto listener = cli::HttpListener::open("127.0.0.1", 0, {.unread = std::chrono::seconds{2}});
  REQUIRE(listener);
  std::jthread serving([&](const std::stop_token& stop) { (*listener)->serve(handler, stop); });
  const auto client = connected_to((*listener)->port());
  Asker asker{.client = client};
  const auto ends = Steady::now() + k_patience;
  SECTION("it reads nothing") {
    bool is_away = false;
    while (!is_away && Steady::now() < ends) {
      asker.ask();
      is_away = is_closed(client);
    }
    CHECK(is_away);
  }
  SECTION("it reads a little at a time") {
    std::size_t read = 0;
    std::array<char, 2'048> piece{};
    for (int times = 0; times < 70; ++times) {
      asker.ask();
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      const auto count = ::recv(client.get(), piece.data(), piece.size(), 0);
      read += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    CHECK(read > 4 * piece.size());
    CHECK_FALSE(is_closed(client));
  }
}

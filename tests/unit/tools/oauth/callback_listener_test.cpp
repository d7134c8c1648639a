#include "tools/oauth/callback_listener.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace tools::oauth;
using namespace std::chrono_literals;
using agent::Descriptor;

namespace {

Descriptor connected(const CallbackListener& listener) {
  const std::string address = listener.redirect();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return socket;
}

std::string said_to(const CallbackListener& listener, std::string_view request) {
  const Descriptor socket = connected(listener);
  REQUIRE(agent::write_all(socket.get(), request) == 0);
  std::string answer(4'000, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  while ((got = ::recv(socket.get(), answer.data() + size, answer.size() - size, 0)) > 0) {
    size += static_cast<std::size_t>(got);
  }
  answer.resize(size);
  return answer.substr(0, answer.find('\r'));
}

}  // namespace

TEST_CASE("callback_listener: which requests are an answer", "[tools]") {
  using Parameters = std::optional<CallbackParameters>;
  CHECK(read_callback("GET /callback?code=a&state=b HTTP/1.1\r\nHost: x\r\n\r\n") ==
        Parameters{{{"code", "a"}, {"state", "b"}}});
  CHECK(read_callback("GET /callback?code=%41 HTTP/1.0\r\n\r\n") == Parameters{{{"code", "A"}}});
  for (const char* request : {"POST /callback?code=a HTTP/1.1\r\n\r\n",
                              "GET /callback HTTP/1.1\r\n\r\n",
                              "GET /callback/?code=a HTTP/1.1\r\n\r\n",
                              "GET /other?code=a HTTP/1.1\r\n\r\n",
                              "GET http://127.0.0.1/callback?code=a HTTP/1.1\r\n\r\n",
                              "GET /callback?code=a&code=b HTTP/1.1\r\n\r\n",
                              "GET /callback?code=%zz HTTP/1.1\r\n\r\n",
                              "GET /callback?code=a\r\n\r\n",
                              "GET \r\n\r\n",
                              "\r\n\r\n",
                              ""}) {
    INFO(request);
    CHECK(read_callback(request) == std::nullopt);
  }
}

TEST_CASE("callback_listener: strangers change nothing, and the right one is heard", "[tools]") {
  auto listener = CallbackListener::open(0);
  REQUIRE(listener);
  auto answer = std::async(std::launch::async, [&] { return listener->wait("right", 20s, {}); });

  std::vector<Descriptor> silent;
  for (int count = 0; count < 50; ++count) {
    silent.push_back(connected(*listener));
  }
  CHECK(said_to(*listener, "GET /callback?code=a&state=wrong HTTP/1.1\r\n\r\n") ==
        "HTTP/1.1 400 Bad Request");
  CHECK(said_to(*listener, "GET /callback?code=a HTTP/1.1\r\n\r\n") == "HTTP/1.1 400 Bad Request");
  CHECK(said_to(*listener, "GET /favicon.ico HTTP/1.1\r\n\r\n") == "HTTP/1.1 404 Not Found");
  CHECK(said_to(*listener, "\x16\x03\x01\r\n\r\n") == "HTTP/1.1 404 Not Found");
  {
    const Descriptor endless = connected(*listener);  // is cut off
    const std::string many(64u << 10, 'x');
    ::send(endless.get(), many.data(), many.size(), MSG_NOSIGNAL);
  }
  CHECK(said_to(*listener, "GET /callback?code=a&state=right HTTP/1.1\r\nHost: x\r\n\r\n") ==
        "HTTP/1.1 200 OK");
  const auto parameters = answer.get();
  REQUIRE(parameters);
  CHECK(*parameters == CallbackParameters{{"code", "a"}, {"state", "right"}});
}

TEST_CASE("callback_listener: the wait ends, by time or by a stop", "[tools]") {
  auto listener = CallbackListener::open(0);
  REQUIRE(listener);
  const auto late = listener->wait("x", 1ms, {});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == agent::Code::mcp_auth);

  std::stop_source stop;
  stop.request_stop();
  const auto stopped = listener->wait("x", 20s, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == agent::Code::run_cancelled);
}

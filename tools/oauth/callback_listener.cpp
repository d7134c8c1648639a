#include "tools/oauth/callback_listener.h"

#include "tools/oauth/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>
#include <vector>

namespace tools::oauth {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::Result;
using Clock = std::chrono::steady_clock;

constexpr std::string_view k_path = "/callback";
constexpr std::size_t k_most_request = 16u << 10;
constexpr std::size_t k_most_visitors = 32;
constexpr std::chrono::seconds k_visit{10};
constexpr std::chrono::milliseconds k_look{100};  // how often a stop is looked for

struct Visitor {
  Descriptor socket;
  std::string request;
  Clock::time_point until;
};

std::unexpected<agent::Error> cannot(std::string_view doing) {
  return agent::fail(Code::os_failed,
                     fmt::format("cannot {} for the answer of the login: {}",
                                 doing,
                                 std::generic_category().message(errno)));
}

std::unexpected<agent::Error> port_in_use(int port) {
  return agent::fail(
      Code::os_failed,
      fmt::format("the port {} for the answer of the login is in use by another program", port),
      "Choose another with `--port`, one that the authorization server knows; without `--port` any "
      "that is free is taken.");
}

// Short enough for the buffer of a new connection; who does not take it goes without.
void answer(const Visitor& visitor, std::string_view status, std::string_view words) {
  const std::string page = fmt::format(
      "<!doctype html><html><head><meta charset=\"utf-8\"><title>errand</title></head>"
      "<body><p>{}</p></body></html>\n",
      words);
  const std::string text = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: "
      "nosniff\r\n"
      "Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{}",
      status,
      page.size(),
      page);
  [[maybe_unused]] const auto sent =
      ::send(visitor.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(visitor.socket.get(), SHUT_WR);
}

void admit(const Descriptor& socket, std::list<Visitor>& visitors) {
  Descriptor one(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!one) {
    return;
  }
  if (visitors.size() == k_most_visitors) {
    visitors.pop_front();  // who has had the longest time
  }
  visitors.push_back({.socket = std::move(one), .request = {}, .until = Clock::now() + k_visit});
}

enum class Heard : std::uint8_t { more, whole, nothing };

Heard hear(Visitor& visitor) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::recv(visitor.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return Heard::more;
  }
  if (got <= 0) {
    return Heard::nothing;
  }
  // The end of the head may have begun in what came before.
  const std::size_t from = visitor.request.size() < 3 ? 0 : visitor.request.size() - 3;
  visitor.request.append(buffer.data(), static_cast<std::size_t>(got));
  if (visitor.request.find("\r\n\r\n", from) != std::string::npos) {
    return Heard::whole;
  }
  return visitor.request.size() > k_most_request ? Heard::nothing : Heard::more;
}

// What came of one who has said all; nullopt: somebody else.
std::optional<CallbackParameters> judge(const Visitor& visitor, std::string_view state) {
  auto parameters = read_callback(visitor.request);
  if (!parameters) {
    answer(visitor, "404 Not Found", "There is nothing here.");
    return std::nullopt;
  }
  const auto given = parameters->find("state");
  if (given == parameters->end() || given->second != state) {
    answer(visitor, "400 Bad Request", "This is not the login that errand waits for.");
    return std::nullopt;
  }
  answer(visitor, "200 OK", "errand has its answer. This page can be closed.");
  return parameters;
}

}  // namespace

std::optional<CallbackParameters> read_callback(std::string_view request) {
  std::string_view line = request.substr(0, request.find("\r\n"));
  constexpr std::string_view k_method = "GET ";
  const auto version = line.rfind(' ');
  if (!line.starts_with(k_method) || version < k_method.size() ||
      !line.substr(version).starts_with(" HTTP/1.")) {
    return std::nullopt;
  }
  const std::string_view target = line.substr(k_method.size(), version - k_method.size());
  const auto query = target.find('?');
  if (target.substr(0, query) != k_path || query == std::string_view::npos) {
    return std::nullopt;
  }
  return parse_form(target.substr(query + 1));
}

Result<CallbackListener> CallbackListener::open(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), plain, size) != 0 || ::listen(socket.get(), 16) != 0 ||
      ::getsockname(socket.get(), plain, &size) != 0) {
    return errno == EADDRINUSE && port != 0 ? port_in_use(port) : cannot("listen");
  }
  return CallbackListener(std::move(socket), ntohs(address.sin_port));
}

std::string CallbackListener::redirect() const {
  return fmt::format("http://127.0.0.1:{}{}", port_, k_path);
}

Result<CallbackParameters> CallbackListener::wait(std::string_view state,
                                                  std::chrono::milliseconds most,
                                                  const std::stop_token& stop) {
  const auto until = Clock::now() + most;
  std::list<Visitor> visitors;
  while (Clock::now() < until) {
    if (stop.stop_requested()) {
      return agent::fail(Code::run_cancelled, "stopped while waiting for the login");
    }
    std::vector<pollfd> polled = {{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    for (const Visitor& visitor : visitors) {
      polled.push_back({.fd = visitor.socket.get(), .events = POLLIN, .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), static_cast<int>(k_look.count())) < 0 &&
        errno != EINTR) {
      return cannot("wait");
    }
    std::size_t at = 1;
    for (auto visitor = visitors.begin(); visitor != visitors.end(); ++at) {
      const Heard heard = polled[at].revents != 0 ? hear(*visitor) : Heard::more;
      if (heard == Heard::whole) {
        if (auto parameters = judge(*visitor, state)) {
          return *std::move(parameters);
        }
      }
      const bool goes = heard != Heard::more || Clock::now() >= visitor->until;
      visitor = goes ? visitors.erase(visitor) : std::next(visitor);
    }
    if (polled.front().revents != 0) {
      admit(socket_, visitors);
    }
  }
  return agent::fail(Code::mcp_auth,
                     "nobody has logged in in time",
                     "the same command again waits for another login");
}

}  // namespace tools::oauth

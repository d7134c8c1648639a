#include "tools/process/egress_proxy.h"

#include "tools/process/proxy_request.h"
#include "tools/web/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::fail;
using agent::Result;
using Steady = std::chrono::steady_clock;

constexpr std::size_t k_most_connections = 64;  // more wait in the listener's queue
constexpr std::size_t k_chunk = 64u << 10;
constexpr int k_pause_ms = 20;
constexpr std::chrono::seconds k_head_patience{30};

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

// False where the end came first.
bool wait_for(int descriptor, short events, int wake, Steady::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now()).count();
  std::array<pollfd, 2> polled{{{.fd = descriptor, .events = events, .revents = 0},
                                {.fd = wake, .events = POLLIN, .revents = 0}}};
  const int ready = ::poll(
      polled.data(), polled.size(), static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
  return ready >= 0 && polled[1].revents == 0 && Steady::now() < deadline;
}

// The head of the request, and what came behind it; empty where none came.
std::pair<std::string, std::string> read_head(int client, int wake) {
  const auto deadline = Steady::now() + k_head_patience;
  std::string bytes;
  while (bytes.size() <= k_longest_head) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
    if (got == 0 || (got < 0 && !would_block())) {
      break;
    }
    bytes.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    if (const std::size_t size = head_size(bytes); size > 0) {
      return {bytes.substr(0, size), bytes.substr(size)};
    }
    if (got < 0 && !wait_for(client, POLLIN, wake, deadline)) {
      break;
    }
  }
  return {};
}

std::string answer(std::string_view status, const std::string& why) {
  const std::string body = "errand: " + why + "\n";
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status,
      body.size(),
      body);
}

void send_all(int client, std::string_view text, int wake) {
  const auto deadline = Steady::now() + k_head_patience;
  while (!text.empty()) {
    const ssize_t sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && (!would_block() || !wait_for(client, POLLOUT, wake, deadline))) {
      return;
    }
    text.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
}

// Bytes on their way from one socket to the other.
struct Flow {
  int from;
  int to;
  std::string pending;
  bool is_open = true;  // `from` may still send

  bool is_done() const { return !is_open && pending.empty(); }
  bool reads() const { return is_open && pending.empty(); }

  void read() {
    std::array<char, k_chunk> buffer;
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      pending.assign(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || !would_block()) {
      is_open = false;
      ::shutdown(to, SHUT_WR);
    }
  }

  void write() {
    const ssize_t sent = ::send(to, pending.data(), pending.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      pending.erase(0, static_cast<std::size_t>(sent));
    } else if (sent < 0 && !would_block()) {  // what comes the other way may still be of use
      pending.clear();
      is_open = false;
    }
  }
};

// Until both sides have said all, or the end has come.
void relay(Flow up, Flow down, int wake) {
  while (!up.is_done() || !down.is_done()) {
    const auto events = [](const Flow& reading, const Flow& writing) {
      return static_cast<short>((reading.reads() ? POLLIN : 0) |
                                (writing.pending.empty() ? 0 : POLLOUT));
    };
    std::array<pollfd, 3> polled{{{.fd = up.from, .events = events(up, down), .revents = 0},
                                  {.fd = up.to, .events = events(down, up), .revents = 0},
                                  {.fd = wake, .events = POLLIN, .revents = 0}}};
    for (pollfd& side : polled) {
      side.fd = side.events != 0 ? side.fd : -1;  // or its hanging up would be told for ever
    }
    if ((::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) ||
        polled[2].revents != 0) {
      return;
    }
    for (Flow* flow : {&up, &down}) {
      const pollfd& source = polled[flow == &up ? 0 : 1];
      const pollfd& target = polled[flow == &up ? 1 : 0];
      if (flow->reads() && source.revents != 0) {
        flow->read();
      }
      if (!flow->pending.empty() && (target.revents != 0 || source.revents != 0)) {
        flow->write();
      }
    }
  }
}

}  // namespace

struct EgressProxy::Connection {
  std::atomic<bool> is_over = false;
  std::jthread thread;
};

Result<std::unique_ptr<EgressProxy>> EgressProxy::open(int listener,
                                                       const HostList& hosts,
                                                       agent::Dialer& dialer) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return fail(Code::os_failed,
                fmt::format("cannot serve a program's network: {}", std::strerror(errno)));
  }
  try {
    return std::unique_ptr<EgressProxy>(new EgressProxy(listener, hosts, dialer, std::move(wake)));
  } catch (const std::system_error& error) {
    return fail(Code::os_failed, fmt::format("cannot serve a program's network: {}", error.what()));
  }
}

EgressProxy::EgressProxy(int listener,
                         const HostList& hosts,
                         agent::Dialer& dialer,
                         Descriptor wake)
    : listener_(listener),
      hosts_(hosts),
      dialer_(dialer),
      wake_(std::move(wake)),
      acceptor_([this](const std::stop_token& stop) { accept_connections(stop); }) {}

EgressProxy::~EgressProxy() {
  acceptor_.request_stop();
  ::eventfd_write(wake_.get(), 1);
  acceptor_.join();
}

std::vector<std::string> EgressProxy::refused() const {
  const std::scoped_lock lock(mutex_);
  return {refused_.begin(), refused_.end()};
}

void EgressProxy::accept_connections(const std::stop_token& stop) {
  bool has_failed = false;  // no descriptor is left: whoever waits is still there the next time
  while (!stop.stop_requested()) {
    connections_.remove_if([](const Connection& one) { return one.is_over.load(); });
    const bool pauses = has_failed || connections_.size() >= k_most_connections;
    std::array<pollfd, 2> polled{{{.fd = pauses ? -1 : listener_, .events = POLLIN, .revents = 0},
                                  {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    has_failed = false;
    if (::poll(polled.data(), polled.size(), pauses ? k_pause_ms : -1) <= 0) {
      continue;
    }
    Descriptor client(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    has_failed = !client;
    if (client && !stop.stop_requested()) {
      begin(std::move(client), stop);
    }
  }
  connections_.clear();
  while (Descriptor(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))) {
  }
}

void EgressProxy::begin(Descriptor client, const std::stop_token& stop) {
  Connection& connection = connections_.emplace_back();
  try {
    connection.thread = std::jthread([this, &connection, stop, socket = std::move(client)] {
      try {
        serve(socket.get(), stop);
      } catch (const std::bad_alloc&) {  // the client sees its connection end
      }
      connection.is_over = true;
    });
  } catch (const std::system_error&) {  // no thread is left: the client sees its connection end
    connections_.pop_back();
  }
}

void EgressProxy::serve(int client, const std::stop_token& stop) {
  auto [head, rest] = read_head(client, wake_.get());
  if (head.empty()) {
    return;
  }
  const auto request = read_proxy_request(head);
  if (!request) {
    send_all(client, answer("400 Bad Request", request.error().message), wake_.get());
    return;
  }
  const auto server = connect(request->host, request->port, stop);
  if (!server) {
    const bool is_refused = server.error().code == Code::sandbox_violation;
    send_all(client,
             answer(is_refused ? "403 Forbidden" : "502 Bad Gateway", server.error().message),
             wake_.get());
    return;
  }
  Flow up{.from = client, .to = server->get(), .pending = request->head + rest};
  Flow down{.from = server->get(), .to = client, .pending = {}};
  if (request->is_tunnel()) {
    down.pending = "HTTP/1.1 200 Connection established\r\n\r\n";
  }
  relay(std::move(up), std::move(down), wake_.get());
}

Result<Descriptor> EgressProxy::connect(const std::string& host,
                                        int port,
                                        const std::stop_token& stop) {
  const HostList::Access access = hosts_.access(host, port);
  const std::string name = fmt::format("{}:{}", host, port);
  std::string reserved;  // written before dial() is done
  const agent::AddressFilter is_public = [&](const sockaddr& address) {
    const std::string_view why = reserved_for(address);
    if (!why.empty()) {
      reserved = fmt::format("{} ({})", to_text(address), why);
    }
    return why.empty();
  };
  if (access == HostList::Access::none) {
    note_refused(name);
    return fail(Code::sandbox_violation,
                fmt::format("{} is not in `sandbox.allow_hosts` of the agent file", name));
  }
  const bool may_be_anywhere = access == HostList::Access::any;
  auto server =
      dialer_.dial(host, port, may_be_anywhere ? agent::AddressFilter() : is_public, stop);
  if (!server && !reserved.empty()) {
    note_refused(name);
    return fail(Code::sandbox_violation,
                fmt::format("{} is {}: not a public address, and only a pattern of "
                            "`sandbox.allow_hosts` covers it",
                            name,
                            reserved));
  }
  return server;
}

void EgressProxy::note_refused(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  refused_.insert(name);
}

}  // namespace tools

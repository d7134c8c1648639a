#include "cli/serve/http_listener.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::Result;

constexpr std::chrono::milliseconds k_tick{50};  // how soon a stop and a deadline are seen
constexpr std::size_t k_idle_bytes = 64u << 10;
constexpr std::size_t k_piece = 64u << 10;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

std::optional<Address> address_of(const std::string& text, std::uint16_t port) {
  Address address;
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
    const sockaddr_in made{
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = four, .sin_zero = {}};
    std::memcpy(&address.storage, &made, sizeof made);
    address.length = sizeof made;
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    sockaddr_in6 made{};
    made.sin6_family = AF_INET6;
    made.sin6_port = htons(port);
    made.sin6_addr = six;
    std::memcpy(&address.storage, &made, sizeof made);
    address.length = sizeof made;
    return address;
  }
  return std::nullopt;
}

const sockaddr* as_sockaddr(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

std::uint16_t port_of(int descriptor) {
  Address address;
  address.length = sizeof address.storage;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  std::uint16_t port = 0;  // in the same place in both kinds
  std::memcpy(
      &port, reinterpret_cast<const char*>(&address.storage) + sizeof(sa_family_t), sizeof port);
  return ntohs(port);
}

std::string_view words_of(int status) {
  constexpr auto k_words =
      std::to_array<std::pair<int, std::string_view>>({{200, "OK"},
                                                       {202, "Accepted"},
                                                       {204, "No Content"},
                                                       {400, "Bad Request"},
                                                       {401, "Unauthorized"},
                                                       {403, "Forbidden"},
                                                       {404, "Not Found"},
                                                       {405, "Method Not Allowed"},
                                                       {406, "Not Acceptable"},
                                                       {411, "Length Required"},
                                                       {413, "Content Too Large"},
                                                       {415, "Unsupported Media Type"},
                                                       {431, "Request Header Fields Too Large"},
                                                       {503, "Service Unavailable"}});
  const auto found = std::ranges::find(k_words, status, &std::pair<int, std::string_view>::first);
  return found == k_words.end() ? "Error" : found->second;
}

std::string chunk(std::string_view bytes) {
  return bytes.empty() ? "" : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

agent::Error not_to_be_had(const std::string& address, std::uint16_t port) {
  return {.code = Code::os_failed,
          .message =
              fmt::format("cannot listen on {} port {}: {}", address, port, std::strerror(errno)),
          .help = "name another port, or 0 for any"};
}

}  // namespace

Result<std::unique_ptr<HttpListener>> HttpListener::open(const std::string& address,
                                                         std::uint16_t port,
                                                         HttpLimits limits) {
  const auto place = address_of(address, port);
  if (!place) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`{}` is no IP address", agent::one_line(address, 60)),
                       "for example 127.0.0.1:8123, or [::1]:8123");
  }
  Descriptor listening(
      ::socket(place->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!listening ||
      ::setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listening.get(), as_sockaddr(*place), place->length) != 0 ||
      ::listen(listening.get(), SOMAXCONN) != 0) {
    return agent::fail(not_to_be_had(address, port));
  }
  Descriptor wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup) {
    return agent::fail(not_to_be_had(address, port));
  }
  std::unique_ptr<HttpListener> listener(
      new HttpListener(limits, std::move(listening), std::move(wakeup)));
  listener->port_ = port_of(listener->listening_.get());
  return listener;
}

HttpListener::~HttpListener() = default;

void HttpListener::serve(HttpHandler& handler, const std::stop_token& stop) {
  handler_ = &handler;
  while (!stop.stop_requested()) {
    wait(true);
  }
  listening_.reset();
}

void HttpListener::flush(std::chrono::milliseconds most) {
  const auto until = Steady::now() + most;
  const auto has_some = [&] {
    deliver();
    return std::ranges::any_of(connections_,
                               [](const auto& one) { return !one.second.out.empty(); });
  };
  while (has_some() && Steady::now() < until) {
    wait(false);
  }
  connections_.clear();
}

void HttpListener::write(std::uint64_t connection, std::string bytes, bool ends) {
  post({.connection = connection, .bytes = std::move(bytes), .ends = ends});
}

void HttpListener::write_if_idle(std::uint64_t connection, std::string bytes) {
  post({.connection = connection, .bytes = std::move(bytes), .is_optional = true});
}

void HttpListener::post(Letter letter) {
  const std::lock_guard lock(mutex_);
  letters_.push_back(std::move(letter));
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wakeup_.get(), &one, sizeof one);
}

// One round: whatever is ready, and whatever is late.
void HttpListener::wait(bool takes_requests) {
  std::vector<pollfd> polled{{.fd = wakeup_.get(), .events = POLLIN, .revents = 0}};
  const bool takes_more = takes_requests && has_room();
  polled.push_back({.fd = takes_more ? listening_.get() : -1, .events = POLLIN, .revents = 0});
  std::vector<std::uint64_t> numbers;
  for (auto& [number, connection] : connections_) {
    const bool reads = takes_requests && connection.out.empty() && !connection.is_stream;
    const int events = (reads ? POLLIN : POLLRDHUP) | (connection.out.empty() ? 0 : POLLOUT);
    polled.push_back(
        {.fd = connection.descriptor.get(), .events = static_cast<short>(events), .revents = 0});
    numbers.push_back(number);
  }
  if (::poll(polled.data(), polled.size(), static_cast<int>(k_tick.count())) < 0) {
    return;
  }
  // Of what comes from now on, nobody can have taken anything in this round.
  const auto now = Steady::now();
  for (auto& [number, connection] : connections_) {
    look_what_is_taken(connection, now);
  }
  deliver();
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    Connection& connection = connections_.at(numbers[at]);
    const short ready = polled[at + 2].revents;
    const bool is_gone = (ready & (POLLERR | POLLHUP | POLLNVAL | POLLRDHUP)) != 0;
    const bool stays = ((ready & POLLIN) != 0 ? hear(numbers[at], connection) : !is_gone) &&
                       send(connection) && advance(numbers[at], connection) &&
                       !is_late(connection, now);
    if (stays) {
      beat(connection);
    } else {
      drop(numbers[at]);
    }
  }
  if (polled[1].revents != 0) {
    accept_all();
  }
}

// The one that has said nothing for longest, while no answer is for it, and that others may take
// the place of; the end: there is none. Of whom nobody knows yet whether it is let in, bytes that
// are no whole head say nothing.
std::map<std::uint64_t, HttpListener::Connection>::iterator HttpListener::silent() {
  const auto has_spoken = [](const Connection& one) {  // or had its last answer
    return one.reader.state() == RequestReader::State::head ? one.since
                                                            : std::max(one.heard, one.since);
  };
  const auto is_silent = [&](const Connection& one) {
    return one.out.empty() && !one.is_stream && Steady::now() - has_spoken(one) > limits_.to_speak;
  };
  auto longest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    const bool is_longer =
        longest == connections_.end() || has_spoken(at->second) < has_spoken(longest->second);
    longest = is_longer && is_silent(at->second) ? at : longest;
  }
  return longest;
}

bool HttpListener::has_room() {
  return connections_.size() < limits_.connections || silent() != connections_.end();
}

void HttpListener::accept_all() {
  while (has_room()) {
    Descriptor accepted(
        ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted) {
      return;
    }
    if (connections_.size() >= limits_.connections) {
      connections_.erase(silent());
    }
    connections_.emplace(++last_number_,
                         Connection{.descriptor = std::move(accepted),
                                    .reader = RequestReader(limits_.body),
                                    .since = Steady::now(),
                                    .heard = Steady::now(),
                                    .wrote = Steady::now(),
                                    .took = Steady::now()});
  }
}

std::string HttpListener::piece_of(const Connection& connection, std::string_view bytes) {
  return connection.is_chunked ? chunk(bytes) : std::string(bytes);
}

void HttpListener::deliver() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(wakeup_.get(), &count, sizeof count);
  std::vector<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(letters_);
  }
  for (const Letter& letter : letters) {
    const auto found = connections_.find(letter.connection);
    if (found == connections_.end() || !found->second.is_stream ||
        (letter.is_optional && found->second.out.size() - found->second.sent > k_idle_bytes)) {
      continue;
    }
    Connection& connection = found->second;
    connection.out += piece_of(connection, letter.bytes);
    if (letter.ends) {
      connection.out += connection.is_chunked ? "0\r\n\r\n" : "";
      connection.is_stream = false;
      connection.since = Steady::now();
    }
  }
}

// False: it is over.
bool HttpListener::hear(std::uint64_t number, Connection& connection) {
  std::array<char, k_piece> bytes;
  const ssize_t count = ::recv(connection.descriptor.get(), bytes.data(), bytes.size(), 0);
  if (count < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (count == 0) {
    return false;
  }
  connection.heard = Steady::now();
  if (!connection.reader.has_begun()) {
    connection.since = connection.heard;
  }
  connection.reader.feed(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
  if (is_full()) {
    reply(connection, {.status = 503, .body = "too much is being received\n"}, true);
    return true;
  }
  return advance(number, connection);
}

// With what is there of its requests, as far as no answer is outstanding.
bool HttpListener::advance(std::uint64_t number, Connection& connection) {
  RequestReader& reader = connection.reader;
  while (connection.out.empty() && !connection.is_stream && !connection.ends) {
    switch (reader.state()) {
      case RequestReader::State::refused:
        reply(connection, {.status = reader.status(), .body = reader.why() + "\n"}, true);
        return true;
      case RequestReader::State::judging: {
        if (const auto refusal = handler_->refusal(reader.head())) {
          reply(connection, *refusal, true);
          return true;
        }
        const bool is_to_be_told = reader.wants_to_be_told_to_continue();
        if (reader.accept() == RequestReader::State::body && is_to_be_told) {
          connection.out = "HTTP/1.1 100 Continue\r\n\r\n";
        }
        break;
      }
      case RequestReader::State::done: {
        ReceivedRequest request = reader.take();
        const bool is_last = request.is_last;
        const bool knows_chunks = request.knows_chunks;
        reply(connection, handler_->answer(std::move(request), number), is_last, knows_chunks);
        connection.since = Steady::now();
        reader.feed({});
        break;
      }
      case RequestReader::State::head:
      case RequestReader::State::body:
        return true;
    }
  }
  return true;
}

void HttpListener::reply(Connection& connection,
                         const HttpReply& reply,
                         bool is_last,
                         bool knows_chunks) {
  connection.is_chunked = knows_chunks;
  connection.out += fmt::format("HTTP/1.1 {} {}\r\n", reply.status, words_of(reply.status));
  for (const auto& [name, value] : reply.headers) {
    connection.out += fmt::format("{}: {}\r\n", name, value);
  }
  connection.out += is_last ? "Connection: close\r\n" : "";
  connection.out += reply.status == 503 ? "Retry-After: 1\r\n" : "";  // who reads it asks again
  if (reply.is_stream) {
    connection.out += knows_chunks ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
    connection.out += piece_of(connection, reply.body);
  } else if (reply.status == 204) {
    connection.out += "\r\n";
  } else {
    connection.out += fmt::format("Content-Length: {}\r\n\r\n{}", reply.body.size(), reply.body);
  }
  connection.is_stream = reply.is_stream;
  connection.ends = is_last;
  connection.wrote = Steady::now();
}

// False: it is over.
bool HttpListener::send(Connection& connection) {
  if (connection.out.empty()) {
    return true;
  }
  const ssize_t count = ::send(connection.descriptor.get(),
                               connection.out.data() + connection.sent,
                               connection.out.size() - connection.sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (count > 0) {
    connection.wrote = Steady::now();
  }
  connection.sent += static_cast<std::size_t>(count);
  connection.handed += static_cast<std::uint64_t>(count);
  if (connection.sent == connection.out.size()) {
    connection.out.clear();
    connection.sent = 0;
  }
  return !(connection.out.empty() && connection.ends && !connection.is_stream);
}

// What the kernel has room for is not read yet: for a client that asks and asks it finds some for
// minutes.
void HttpListener::look_what_is_taken(Connection& connection, Steady::time_point now) {
  int queued = 0;
  if (::ioctl(connection.descriptor.get(), TIOCOUTQ, &queued) != 0) {
    queued = 0;
  }
  const std::uint64_t taken = connection.handed - static_cast<std::uint64_t>(queued);
  if (taken > connection.taken || (queued == 0 && connection.out.empty())) {
    connection.took = now;
  }
  connection.taken = taken;
}

bool HttpListener::is_late(const Connection& connection, Steady::time_point now) const {
  if (now - connection.took > limits_.unread) {
    return true;
  }
  if (!connection.out.empty() || connection.is_stream) {
    return false;
  }
  return now - connection.since > (connection.reader.has_begun() ? limits_.request : limits_.idle);
}

// A comment, for those who would take silence for death.
void HttpListener::beat(Connection& connection) const {
  if (connection.is_stream && connection.out.empty() &&
      Steady::now() - connection.wrote > limits_.heartbeat) {
    connection.out = piece_of(connection, ":\n\n");
    connection.wrote = Steady::now();
  }
}

bool HttpListener::is_full() const {
  std::size_t received = 0;
  for (const auto& [number, connection] : connections_) {
    received += connection.reader.buffered();
  }
  return received > limits_.received;
}

void HttpListener::drop(std::uint64_t number) {
  const auto found = connections_.find(number);
  const bool was_stream = found->second.is_stream;
  connections_.erase(found);
  if (was_stream && handler_ != nullptr) {
    handler_->gone(number);
  }
}

}  // namespace cli

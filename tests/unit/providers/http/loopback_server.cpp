#include "tests/unit/providers/http/loopback_server.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace tests {
namespace {

constexpr int k_patience_ms = 20'000;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int bound_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

bool wait_readable(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, k_patience_ms) > 0;
}

std::size_t content_length(const std::string& head) {
  constexpr std::string_view k_name = "content-length: ";
  const auto found =
      std::search(head.begin(), head.end(), k_name.begin(), k_name.end(), [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
      });
  std::size_t length = 0;
  if (found != head.end()) {
    const auto start = static_cast<std::size_t>(found - head.begin()) + k_name.size();
    std::from_chars(head.data() + start, head.data() + head.size(), length);
  }
  return length;
}

}  // namespace

std::string Peer::read_request() {
  std::array<char, 65536> buffer;
  for (;;) {
    const auto end = pending_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const auto size = end + 4 + content_length(pending_.substr(0, end));
      if (pending_.size() >= size) {
        auto request = pending_.substr(0, size);
        pending_.erase(0, size);
        return request;
      }
    }
    const auto count = wait_readable(fd_) ? ::recv(fd_, buffer.data(), buffer.size(), 0) : 0;
    if (count <= 0) {
      return {};
    }
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

bool Peer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Peer::drip(std::string_view bytes) const {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::ranges::all_of(bytes, [&](const char& byte) { return send({&byte, 1}); });
}

void Peer::wait_for_bytes() const {
  wait_readable(fd_);
}

bool Peer::wait_for_end() const {
  std::array<char, 65536> buffer;
  while (wait_readable(fd_)) {
    if (::recv(fd_, buffer.data(), buffer.size(), 0) <= 0) {
      return true;
    }
  }
  return false;
}

void Peer::reset() const {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void Peer::close_writing() const {
  ::shutdown(fd_, SHUT_WR);
}

LoopbackServer::LoopbackServer(std::function<void(Peer&)> play)
    : play_(std::move(play)), listener_(bound_socket()), port_(port_of(listener_)) {
  REQUIRE(::listen(listener_, 64) == 0);
  acceptor_ = std::jthread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) {
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  players_.clear();
}

std::string LoopbackServer::url(std::string_view path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
}

void LoopbackServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    ++connections_;
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
    }
    players_.emplace_back([this, fd] {
      Peer peer(fd);
      play_(peer);
      const std::lock_guard lock(mutex_);
      std::erase(open_, fd);
      ::close(fd);
    });
  }
}

int closed_port() {
  const int fd = bound_socket();
  const int port = port_of(fd);
  ::close(fd);
  return port;
}

FullPort::FullPort() : listener_(bound_socket()), port_(port_of(listener_)) {
  REQUIRE(::listen(listener_, 0) == 0);
  auto address = loopback(port_);
  for (int i = 0; i < 8; ++i) {
    waiting_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(waiting_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
}

FullPort::~FullPort() {
  for (const int fd : waiting_) {
    ::close(fd);
  }
  ::close(listener_);
}

std::string answer(std::string_view body, std::string_view more_headers) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more_headers) + "\r\n" + std::string(body);
}

}  // namespace tests

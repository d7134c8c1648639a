// A real server on the loopback, for tests: each connection is played by the test's own function,
// in a thread of its own, byte by byte.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace tests {

// The server's end of one connection. Reads wait 20 s at most.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}

  // The next request, head and body; empty where the client hung up.
  std::string read_request();
  // False where the client is gone.
  bool send(std::string_view bytes) const;
  // One byte a packet.
  bool drip(std::string_view bytes) const;
  // Until some bytes have come, without taking them.
  void wait_for_bytes() const;
  // Until the client hangs up; bytes that come are dropped. False: it did not.
  bool wait_for_end() const;
  // Breaks the connection with an RST.
  void reset() const;
  void close_writing() const;

 private:
  int fd_;
  std::string pending_;
};

class LoopbackServer {
 public:
  // The connection is closed when `play` returns.
  explicit LoopbackServer(std::function<void(Peer&)> play);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const { return port_; }
  std::string url(std::string_view path = "/v1") const;
  int connections() const { return connections_; }

 private:
  void accept_all();

  std::function<void(Peer&)> play_;
  int listener_;
  int port_;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;  // under mutex_
  std::vector<std::jthread> players_;
  std::jthread acceptor_;
};

// A port on which nothing listens.
int closed_port();

// A port whose connections stay in the handshake: its queue is full and never emptied.
class FullPort {
 public:
  FullPort();
  ~FullPort();
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;
  int port() const { return port_; }

 private:
  int listener_;
  int port_;
  std::vector<int> waiting_;
};

// A whole answer with Content-Length.
std::string answer(std::string_view body, std::string_view more_headers = {});

}  // namespace tests

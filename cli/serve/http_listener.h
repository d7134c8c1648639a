// A small HTTP/1.1 server: one thread and poll. What a request comes to is its handler's; what is
// here is that nobody who is slow, silent or too loud is in anybody's way.
#pragma once
#include "agent/descriptor.h"
#include "agent/http.h"
#include "agent/result.h"
#include "cli/serve/request_reader.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct HttpReply {
  int status = 200;
  agent::Headers headers = {};
  std::string body = {};
  bool is_stream = false;  // more follows by HttpListener::write(), until it says that it ends
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // All on the listener's thread. `connection` is never used again for another one.
  //
  // Asked as soon as the head is there: a reply refuses the request, and its body is not read.
  virtual std::optional<HttpReply> refusal(const ReceivedRequest& head) = 0;
  virtual HttpReply answer(ReceivedRequest request, std::uint64_t connection) = 0;
  // Its client has gone, or was sent away, before its stream had ended.
  virtual void gone(std::uint64_t connection) = 0;
};

struct HttpLimits {
  std::size_t connections = 128;
  std::size_t body = 16u << 20;                 // bytes
  std::size_t received = 64u << 20;             // of all requests that are not whole yet
  std::chrono::milliseconds request{30'000};    // from its first byte to its last one
  std::chrono::milliseconds idle{60'000};       // without a request
  std::chrono::milliseconds to_speak{1'000};    // or others may have its place
  std::chrono::milliseconds unread{30'000};     // nothing of what is there for it was taken
  std::chrono::milliseconds heartbeat{15'000};  // of a stream that says nothing
};

class HttpListener {
 public:
  // Opens the port. `address`: an IPv4 or IPv6 address. cli.usage where it is none; os.failed where
  // it cannot be had.
  static agent::Result<std::unique_ptr<HttpListener>> open(const std::string& address,
                                                           std::uint16_t port,
                                                           HttpLimits limits);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  std::uint16_t port() const { return port_; }

  // Until `stop`; then no new request is taken.
  void serve(HttpHandler& handler, const std::stop_token& stop);
  // What is there for clients goes out to those who take it, for so long at most.
  void flush(std::chrono::milliseconds most);

  // For a stream, from any thread. What is for one that is gone is dropped.
  void write(std::uint64_t connection, std::string bytes, bool ends);
  // The same for what can be left out where the reader is behind.
  void write_if_idle(std::uint64_t connection, std::string bytes);

 private:
  using Steady = std::chrono::steady_clock;
  struct Connection {
    agent::Descriptor descriptor;
    RequestReader reader;
    std::string out = {};
    std::size_t sent = 0;  // of it
    bool is_stream = false;
    bool is_chunked = true;         // the stream
    bool ends = false;              // once `out` is empty
    Steady::time_point since = {};  // when what it waits for began
    Steady::time_point heard = {};  // when its last bytes came
    Steady::time_point wrote = {};
    std::uint64_t handed = 0;      // to the kernel, bytes
    std::uint64_t taken = 0;       // of these by the client's side
    Steady::time_point took = {};  // when that was more than before, or all
  };
  struct Letter {
    std::uint64_t connection = 0;
    std::string bytes;
    bool ends = false;
    bool is_optional = false;
  };

  HttpListener(HttpLimits limits, agent::Descriptor listening, agent::Descriptor wakeup)
      : limits_(limits), listening_(std::move(listening)), wakeup_(std::move(wakeup)) {}

  void wait(bool takes_requests);
  std::map<std::uint64_t, Connection>::iterator silent();
  bool has_room();
  void accept_all();
  void deliver();
  bool hear(std::uint64_t number, Connection& connection);
  bool advance(std::uint64_t number, Connection& connection);
  static std::string piece_of(const Connection& connection, std::string_view bytes);
  void reply(Connection& connection,
             const HttpReply& reply,
             bool is_last,
             bool knows_chunks = true);
  bool send(Connection& connection);
  static void look_what_is_taken(Connection& connection, Steady::time_point now);
  bool is_late(const Connection& connection, Steady::time_point now) const;
  void beat(Connection& connection) const;
  bool is_full() const;
  void drop(std::uint64_t number);
  void post(Letter letter);

  const HttpLimits limits_;
  agent::Descriptor listening_;
  agent::Descriptor wakeup_;
  std::uint16_t port_ = 0;
  HttpHandler* handler_ = nullptr;  // while it serves
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t last_number_ = 0;
  std::mutex mutex_;
  std::vector<Letter> letters_;  // under mutex_
};

}  // namespace cli

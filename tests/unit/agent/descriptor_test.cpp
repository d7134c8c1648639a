#include "agent/descriptor.h"

#include "agent/cancellation.h"

#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using agent::Descriptor;
using agent::write_all;
using agent::WritePatience;
using Steady = std::chrono::steady_clock;

namespace {

struct Ends {
  Descriptor reader;
  Descriptor writer;
};

Ends pipe_ends() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Ends socket_ends() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

const std::string k_long(3u << 20, 'x');  // more than a pipe or a socket holds

// What a reader gets who takes as much as there is.
std::string read_all(int descriptor, std::size_t size) {
  std::array<char, 65536> buffer;
  std::string got;
  while (got.size() < size) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) {
      break;
    }
    got.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return got;
}

}  // namespace

TEST_CASE("write_all: a reader that takes its time gets all of it", "[agent]") {
  const bool is_pipe = GENERATE(true, false);
  const Ends ends = is_pipe ? pipe_ends() : socket_ends();
  agent::Cancellation cancellation;
  std::string got;
  std::jthread reader([&] { got = read_all(ends.reader.get(), k_long.size()); });
  CHECK(write_all(ends.writer.get(), k_long, &cancellation.patience()) == 0);
  reader.join();
  CHECK(got == k_long);
}

TEST_CASE("write_all: after a stop nobody is waited for long, and only once", "[agent]") {
  const bool is_pipe = GENERATE(true, false);
  const Ends ends = is_pipe ? pipe_ends() : socket_ends();
  agent::Cancellation cancellation;
  const auto begin = Steady::now();
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancellation.expire();
  });
  CHECK(write_all(ends.writer.get(), k_long, &cancellation.patience()) == ETIMEDOUT);
  CHECK(Steady::now() - begin >= WritePatience::grace);
  const auto again = Steady::now();
  CHECK(write_all(ends.writer.get(), "x", &cancellation.patience()) == ETIMEDOUT);
  CHECK(Steady::now() - again < WritePatience::grace / 2);
}

TEST_CASE("write_all: a reader gets all of it after a second signal, too", "[agent]") {
  const Ends ends = pipe_ends();
  agent::Cancellation cancellation;
  cancellation.signal(SIGTERM);
  cancellation.signal(SIGTERM);
  const std::string text(200'000, 'x');  // three times what the pipe holds
  std::string got;
  std::jthread reader([&] { got = read_all(ends.reader.get(), text.size()); });
  CHECK(write_all(ends.writer.get(), text, &cancellation.patience()) == 0);
  reader.join();
  CHECK(got == text);
}

TEST_CASE("write_all: a second signal ends the waiting soon", "[agent]") {
  const Ends ends = pipe_ends();
  agent::Cancellation cancellation;
  cancellation.signal(SIGTERM);
  cancellation.signal(SIGTERM);
  const auto begin = Steady::now();
  CHECK(write_all(ends.writer.get(), k_long, &cancellation.patience()) == ETIMEDOUT);
  CHECK(Steady::now() - begin >= WritePatience::last_grace);
  CHECK(Steady::now() - begin < WritePatience::grace);
}

TEST_CASE("write_all: a failure is its errno", "[agent]") {
  agent::Cancellation cancellation;
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  CHECK(write_all(full.get(), "x", &cancellation.patience()) == ENOSPC);
  CHECK(write_all(-1, "x") == EBADF);
  std::signal(SIGPIPE, SIG_IGN);
  Ends ends = pipe_ends();
  ends.reader.reset();
  CHECK(write_all(ends.writer.get(), "x", &cancellation.patience()) == EPIPE);
}

#include "cli/terminal/batch_progress.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <string>
#include <unistd.h>

using cli::BatchCount;
using std::chrono::milliseconds;

TEST_CASE("batch progress: how far it is, how fast, and how long it takes", "[cli]") {
  CHECK(cli::progress_words({}, milliseconds(0)) == "0 ended, 0 running, $0.00");
  CHECK(cli::progress_words({.ok = 10,
                             .failed = {{75, 2}},
                             .running = 4,
                             .cost = agent::Money::parse("0.31"),
                             .share = 0.25,
                             .new_share = 0.25,
                             .has_share = true},
                            milliseconds(6'000)) ==
        "12 ended, 2 failed, 4 running, 25%, 2.0/s, $0.31, about 18s left");
  CHECK(cli::progress_words({.ok = 3, .running = 4, .waiting = 4}, milliseconds(1'000)) ==
        "3 ended, 4 running (4 wait for the provider to be back), 3.0/s, $0.00");
  CHECK(cli::progress_words({.running = 2, .waiting = 1}, milliseconds(1'000)) ==
        "0 ended, 2 running (1 waits for the provider to be back), $0.00");
  // What ended in an earlier process says nothing of how fast this one is.
  CHECK(cli::progress_words({.ok = 90,
                             .earlier = 80,
                             .running = 1,
                             .cost = std::nullopt,
                             .share = 0.9,
                             .new_share = 0.1,
                             .has_share = true},
                            milliseconds(60'000)) ==
        "90 ended, 1 running, 90%, 10.0/min, cost unknown, about 1m left");
  CHECK(cli::progress_words({.ok = 1, .share = 1, .new_share = 1, .has_share = true},
                            milliseconds(1'000)) == "1 ended, 0 running, 100%, 1.0/s, $0.00");
}

TEST_CASE("batch progress: the sum says what failed, the most frequent first", "[cli]") {
  CHECK(cli::sum_words({.ok = 1}, milliseconds(100)) == "1 input: 1 ok, $0.00, 0.1 s");
  CHECK(cli::sum_words({.ok = 97, .failed = {{77, 1}, {80, 5}}, .earlier = 90, .not_begun = 3},
                       milliseconds(61'000)) ==
        "106 inputs: 97 ok, 6 failed (5 max_turns, 1 auth), 3 not begun, 90 ended earlier, "
        "$0.00, 1m1s");
}

TEST_CASE("batch progress: the first failures are told, and each warning once", "[cli]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const agent::Redactor redactor({});
  {
    cli::BatchProgress progress({.descriptor = ends[1]}, redactor);
    agent::RunResult result{.exit_code = 77};
    result.error = agent::Error{.code = agent::Code::provider_auth, .message = "no\nkey"};
    for (int at = 0; at < 30; ++at) {
      progress.ended("input " + std::to_string(at), result, {});
      progress.warn({.message = "mind this"});
    }
    progress.ended("input 30", {}, {});  // ended well
  }
  std::string text(65'536, '\0');
  const auto bytes = ::read(ends[0], text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(text.contains("input 9: auth (77): no\\nkey\n"));
  CHECK_FALSE(text.contains("input 10"));
  CHECK_FALSE(text.contains("input 30"));
  CHECK(text.contains("further failures: in the results\n"));
  CHECK(text.find("mind this") == text.rfind("mind this"));
}

TEST_CASE("batch progress: where nothing is live, a line says from time to time how far it is",
          "[cli]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const agent::Redactor redactor({});
  std::string text(1'000, '\0');
  {
    cli::BatchProgress progress({.descriptor = ends[1], .heartbeat = std::chrono::seconds(0)},
                                redactor);
    progress.update({.running = 2});
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    const auto bytes = ::read(ends[0], text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(text.contains(" ended, "));
  CHECK(text.contains(" running, $0.00\n"));
}

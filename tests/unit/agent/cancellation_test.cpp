#include "agent/cancellation.h"

#include <catch2/catch.hpp>

#include <csignal>

TEST_CASE("cancellation: the first reason ends soon, a signal after it at once", "[agent]") {
  agent::Cancellation cancellation;
  SECTION("after a signal") {
    cancellation.signal(SIGTERM);
  }
  SECTION("after the deadline") {
    cancellation.expire();
  }
  CHECK(cancellation.stop().stop_requested());
  CHECK_FALSE(cancellation.kill().stop_requested());

  cancellation.expire();
  CHECK_FALSE(cancellation.kill().stop_requested());

  cancellation.signal(SIGINT);
  CHECK(cancellation.kill().stop_requested());
}

TEST_CASE("cancellation: the first signal is the one that is told", "[agent]") {
  agent::Cancellation cancellation;
  cancellation.expire();
  CHECK(cancellation.signal_number() == 0);
  cancellation.signal(SIGTERM);
  cancellation.signal(SIGINT);
  CHECK(cancellation.signal_number() == SIGTERM);
  CHECK(cancellation.is_expired());
}

TEST_CASE("cancellation: what a run is a part of ends it, and the first ending counts", "[agent]") {
  agent::Cancellation cancellation;
  CHECK_FALSE(cancellation.ending());
  cancellation.end({.error = agent::Error{.code = agent::Code::run_timeout, .message = "first"}});
  cancellation.end({.error = agent::Error{.code = agent::Code::run_timeout, .message = "second"}});
  CHECK(cancellation.stop().stop_requested());
  CHECK_FALSE(cancellation.kill().stop_requested());
  REQUIRE(cancellation.ending());
  CHECK(cancellation.ending()->error->message == "first");
}

#include "agent/retry_after_header.h"

#include <catch2/catch.hpp>

#include <chrono>

TEST_CASE("retry_after_header: only HTTP's three forms of a date are one", "[agent]") {
  for (const char* date : {"Sun, 06 Nov 1994 08:49:37 GMT",
                           "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    CHECK(agent::parse_http_date(date) == agent::Clock::Wall(std::chrono::seconds(784111777)));
  }
  CHECK(agent::parse_http_date("Saturday, 28-Nov-26 09:00:00 GMT") ==
        agent::parse_http_date("Sat, 28 Nov 2026 09:00:00 GMT"));
  CHECK(agent::parse_http_date("Sat Nov 28 09:00:00 2026") ==
        agent::parse_http_date("Sat, 28 Nov 2026 09:00:00 GMT"));
  CHECK_FALSE(agent::parse_http_date("Sun Nov  6 08:49:37 199x"));
  CHECK_FALSE(agent::parse_http_date("Sunday, 06-Nov-9 08:49:37 GMT"));
  CHECK_FALSE(agent::parse_http_date("06 Nov 1994 08:49:37 GMT"));
  CHECK_FALSE(agent::parse_http_date("Wed, 21 Oct 0015 07:28:00 GMT"));  // no such clock time
  CHECK(
      agent::parse_http_date("Wed, 21 Oct 9015 07:28:00 GMT") ==
      std::chrono::sys_days(std::chrono::year(2200) / 12 / 31));  // the clock's last, and far away
  CHECK(agent::retry_after_header({{"Retry-After", "Fri, 31 Dec 2500 23:59:59 GMT"}},
                                  agent::Clock::Wall(std::chrono::seconds(1'800'000'000))) ==
        std::chrono::hours(24 * 366));
  CHECK_FALSE(agent::parse_http_date("Sun, 31 Feb 1994 08:49:37 GMT"));
  CHECK_FALSE(agent::parse_http_date("Sun, 06 Now 1994 08:49:37 GMT"));
}

TEST_CASE("retry_after_header: a pause of none is asked for, too", "[agent]") {
  const agent::Clock::Wall now(std::chrono::seconds(784111777));
  const auto asked = [&](const char* text) {
    return agent::asked_pause({{"Retry-After", text}}, now);
  };
  CHECK(asked("2") == std::chrono::seconds(2));
  CHECK(asked("0") == agent::Milliseconds{0});
  CHECK(asked("Sun, 06 Nov 1994 08:49:38 GMT") == std::chrono::seconds(1));
  CHECK(asked("Sun, 06 Nov 1994 08:49:37 GMT") == agent::Milliseconds{0});
  CHECK_FALSE(asked("-1"));
  CHECK_FALSE(asked("soon"));
  CHECK_FALSE(agent::asked_pause({}, now));
}

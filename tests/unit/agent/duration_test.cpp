#include "agent/duration.h"

#include <catch2/catch.hpp>

#include <limits>
#include <string>

using std::chrono::milliseconds;

TEST_CASE("duration: what people write is read", "[agent]") {
  const auto [text, expected] = GENERATE(table<std::string, std::int64_t>({
      {"500ms", 500},
      {"0s", 0},
      {"10s", 10'000},
      {"2m", 120'000},
      {"1h30m", 5'400'000},
      {"1.5s", 1'500},
      {"1.50s", 1'500},
      {"0.25m", 15'000},
      {"0.000125h", 450},
      {"1d", 86'400'000},
      {"1d2h3m4s5ms", 93'784'005},
      {"1m0s", 60'000},
      {"36525d", 36'525LL * 86'400'000},
  }));
  INFO(text);
  CHECK(agent::parse_duration(text) == milliseconds{expected});
}

TEST_CASE("duration: what is not a duration is nothing", "[agent]") {
  const std::string text = GENERATE("",
                                    "10",
                                    "s",
                                    "-1s",
                                    "+1s",
                                    " 1s",
                                    "1s ",
                                    "1 s",
                                    ".5s",
                                    "1.s",
                                    "1.5",
                                    "0.5ms",
                                    "1e3s",
                                    "1x",
                                    "1S",
                                    "5s5s",
                                    "30m1h",
                                    "1h30",
                                    "36526d",
                                    "36525d1ms",
                                    "99999999999999999999s",
                                    "9223372036854775807ms",
                                    "inf",
                                    "0.0000000000000000001s");
  INFO(text);
  CHECK(agent::parse_duration(text) == std::nullopt);
}

TEST_CASE("duration: what is written is short, and is read back", "[agent]") {
  const auto [count, text] = GENERATE(table<std::int64_t, std::string>({
      {0, "0s"},
      {1, "1ms"},
      {500, "500ms"},
      {1'000, "1s"},
      {1'500, "1.5s"},
      {10'050, "10.05s"},
      {60'000, "1m"},
      {90'000, "1m30s"},
      {3'600'000, "1h"},
      {3'600'001, "1h0.001s"},
      {5'400'000, "1h30m"},
      {86'400'000, "24h"},
  }));
  CHECK(agent::format_duration(milliseconds{count}) == text);
  CHECK(agent::parse_duration(text) == milliseconds{count});
  CHECK(agent::format_duration(milliseconds{-1'500}) == "-1.5s");
}

TEST_CASE("duration: counts are whole numbers with a decimal factor", "[agent]") {
  const auto [text, expected] = GENERATE(table<std::string, std::int64_t>({
      {"0", 0},
      {"200", 200},
      {"500k", 500'000},
      {"500K", 500'000},
      {"1.5M", 1'500'000},
      {"2G", 2'000'000'000},
      {"1.0", 1},
      {"0.001k", 1},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
  }));
  INFO(text);
  CHECK(agent::parse_count(text) == expected);
}

TEST_CASE("duration: what is no whole count is nothing", "[agent]") {
  const std::string text = GENERATE("",
                                    "k",
                                    "1.5",
                                    "0.0001k",
                                    "-1",
                                    "1m",
                                    "1kk",
                                    "1 k",
                                    "1_000",
                                    "0x10",
                                    "1e3",
                                    "9223372036854775808",
                                    "9223372036854775.808k",
                                    "9300000000G");
  INFO(text);
  CHECK(agent::parse_count(text) == std::nullopt);
}

TEST_CASE("duration: times are RFC 3339 in UTC", "[agent]") {
  const auto [text, count] = GENERATE(table<std::string, std::int64_t>({
      {"1970-01-01T00:00:00.000Z", 0},
      {"2026-11-21T09:30:00.123Z", 1'795'253'400'123},
      {"2000-02-29T23:59:59.999Z", 951'868'799'999},
      {"1969-12-31T23:59:59.999Z", -1},
  }));
  const std::chrono::system_clock::time_point time{milliseconds{count}};
  CHECK(agent::format_time(time) == text);
  CHECK(agent::parse_time(text) == time);
}

TEST_CASE("duration: other ways to write a time are understood", "[agent]") {
  const std::string text = GENERATE("2026-11-21T09:30:00.123Z",
                                    "2026-11-21t09:30:00.1239z",
                                    "2026-11-21 09:30:00.123Z",
                                    "2026-11-21T11:00:00.123+01:30",
                                    "2026-11-20T21:30:00.123-12:00",
                                    "2026-11-21T09:29:60.123Z");
  INFO(text);
  CHECK(agent::parse_time(text) ==
        std::chrono::system_clock::time_point{milliseconds{1'795'253'400'123}});
}

TEST_CASE("duration: what is no time is nothing", "[agent]") {
  const std::string text = GENERATE("",
                                    "2026-11-21",
                                    "2026-11-21T09:30:00",
                                    "2026-11-21T09:30Z",
                                    "2026-02-29T09:30:00Z",
                                    "2026-13-01T09:30:00Z",
                                    "2026-00-01T09:30:00Z",
                                    "2026-11-21T24:00:00Z",
                                    "2026-11-21T09:60:00Z",
                                    "2026-11-21T09:30:00.Z",
                                    "2026-11-21T09:30:00Z ",
                                    "2026-11-21T09:30:00+0130",
                                    "0015-11-21T09:30:00Z",  // no such clock time
                                    "3183-11-21T09:30:00Z",
                                    "26-11-21T09:30:00Z");
  INFO(text);
  CHECK(agent::parse_time(text) == std::nullopt);
}

TEST_CASE("duration: a day is ten characters", "[agent]") {
  using namespace std::chrono_literals;
  CHECK(agent::parse_day("2026-11-21") == std::chrono::sys_days(2026y / 11 / 21));
  CHECK(agent::parse_day("2024-02-29") == std::chrono::sys_days(2024y / 2 / 29));
  CHECK(agent::format_day(std::chrono::sys_days(2026y / 1 / 2)) == "2026-01-02");

  const std::string text = GENERATE("",
                                    "2026-11-21 ",
                                    "2026-11-21T09:30:00Z",
                                    "2026-1-2",
                                    "2026-02-29",
                                    "2026-00-01",
                                    "2026-11",
                                    "26-11-21",
                                    "67562-11-21",  // 2026 in 16 bits
                                    "9999-01-01",   // no such clock time
                                    "+2026-11-21");
  INFO(text);
  CHECK(agent::parse_day(text) == std::nullopt);
}

TEST_CASE("duration: a time of day has minutes, and may have seconds and a Z", "[agent]") {
  using namespace std::chrono_literals;
  const auto [text, time, shortest] =
      GENERATE(table<std::string, std::chrono::seconds, std::string>({
          {"00:00", 0s, "00:00"},
          {"16:30Z", 16h + 30min, "16:30"},
          {"16:30:00", 16h + 30min, "16:30"},
          {"23:59:59Z", 24h - 1s, "23:59:59"},
      }));
  INFO(text);
  CHECK(agent::parse_time_of_day(text) == time);
  CHECK(agent::format_time_of_day(time) == shortest);

  const std::string wrong = GENERATE("",
                                     "Z",
                                     "16",
                                     "16:",
                                     "1:30",
                                     "16:3",
                                     "24:00",
                                     "16:60",
                                     "16:30:60",
                                     "16:30:",
                                     "16:30:00:00",
                                     "-1:30");
  INFO(wrong);
  CHECK(agent::parse_time_of_day(wrong) == std::nullopt);
}

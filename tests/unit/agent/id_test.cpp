#include "agent/id.h"

#include <catch2/catch.hpp>
#include <re2/re2.h>

#include <chrono>
#include <set>
#include <string>

TEST_CASE("id: the example of RFC 9562 comes out byte for byte", "[agent]") {
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds{0x017F22E279B0}};
  // The version and variant bits are overwritten: set here, so that the test sees it.
  CHECK(agent::uuid_v7(time, {0xFC, 0xC3, 0xD8, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F}) ==
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST_CASE("id: later ids sort after earlier ones", "[agent]") {
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds{1'795'253'400'123}};
  const std::string earlier =
      agent::uuid_v7(time, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  CHECK(earlier < agent::uuid_v7(time + std::chrono::milliseconds{1}, {}));
  CHECK(earlier < agent::uuid_v7(time + std::chrono::hours{24 * 365 * 50}, {}));
}

TEST_CASE("id: new ids are well formed, of now, and differ", "[agent]") {
  std::set<std::string> ids;
  for (int count = 0; count < 1'000; ++count) {
    ids.insert(agent::new_run_id());
  }
  CHECK(ids.size() == 1'000);
  const std::string& id = *ids.begin();
  const std::string shape = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
  REQUIRE(RE2::FullMatch(id, shape));

  const auto since_epoch = std::stoll(id.substr(0, 8) + id.substr(9, 4), nullptr, 16);
  const std::chrono::system_clock::time_point made{std::chrono::milliseconds{since_epoch}};
  const auto now = std::chrono::system_clock::now();
  CHECK(made <= now);
  CHECK(now - made < std::chrono::minutes{5});
}

TEST_CASE("id: what has the form of one", "[agent]") {
  CHECK(agent::is_run_id(agent::new_run_id()));
  for (const std::string_view text : {"",
                                      "x/../../.ssh",
                                      "01a20716-1fec-7c0f-80ca-42177bec68b",
                                      "01a20716-1fec-7c0f-80ca-42177bec68b44",
                                      "01A20716-1fec-7c0f-80ca-42177bec68b4",
                                      "01a20716-1fec-7c0f-80ca-42177bec68b/",
                                      "$(touch x)"}) {
    CHECK_FALSE(agent::is_run_id(text));
  }
}

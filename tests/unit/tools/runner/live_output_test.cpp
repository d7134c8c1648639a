#include "tools/runner/live_output.h"

#include <catch2/catch.hpp>

#include <thread>
#include <vector>

TEST_CASE("live_output: what a call has done for it is done by whoever collects", "[tools]") {
  tools::CallUpdateQueue updates;
  std::thread::id done_by;
  bool has_come_back = false;
  std::jthread call([&] {
    updates.perform(3, [&] { done_by = std::this_thread::get_id(); });
    has_come_back = true;
  });
  auto news = updates.collect();
  REQUIRE(news.size() == 1);
  CHECK(news[0].sender == 3);
  REQUIRE(news[0].tasks.size() == 1);
  CHECK_FALSE(has_come_back);
  news[0].tasks[0]();
  call.join();
  CHECK(has_come_back);
  CHECK(done_by == std::this_thread::get_id());
}

TEST_CASE("live_output: a call without a thread of its own does not wait for itself", "[tools]") {
  tools::CallUpdateQueue updates;
  bool is_done = false;
  updates.perform(1, [&] { is_done = true; });
  CHECK(is_done);
}

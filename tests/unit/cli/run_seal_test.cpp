#include "cli/run_seal.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

TEST_CASE("run_seal: of many that make the key at once, all have the same") {
  constexpr int k_threads = 8;
  for (int round = 0; round < 50; ++round) {
    tests::FileFolder folder;
    const agent::Environment environment = {{"XDG_STATE_HOME", folder.at("state").string()}};
    std::latch all(k_threads);
    std::mutex mutex;
    std::set<std::string> keys;
    int had = 0;
    {
      std::vector<std::jthread> threads;
      for (int number = 0; number < k_threads; ++number) {
        threads.emplace_back([&] {
          all.arrive_and_wait();
          const auto key = cli::seal_key(environment, folder.at("work"));
          const std::lock_guard lock(mutex);
          had += key.has_value() ? 1 : 0;
          keys.insert(key.value_or(""));
        });
      }
    }
    CHECK(had == k_threads);
    CHECK(keys.size() == 1);
  }
}

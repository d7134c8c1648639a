#include "tools/oauth/login_store.h"

#include "tests/support/fakes.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sys/stat.h>

using namespace tools::oauth;
using agent::Code;

namespace {

Login some_login() {
  return {.server = "https://s.example/mcp",
          .issuer = "https://as.example",
          .access_token = "secret",
          .got = 5,
          .expires = 10,
          .scopes = {"a", "b"},
          .wanted = {"c"}};
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("login_store: what is kept comes back, and only the user can read it", "[tools]") {
  const tests::FileFolder folder;
  const LoginStore store(folder.at("state/mcp"), {"https://s.example/mcp", "", ""});
  const LoginStore other(folder.at("state/mcp"), {"https://s.example/mc", "p", ""});
  CHECK(store.load().value() == std::nullopt);
  CHECK(store.remove() == false);

  REQUIRE(store.save(some_login()));
  CHECK(store.load().value() == some_login());
  CHECK(other.load().value() == std::nullopt);
  CHECK(mode_of(store.file()) == 0600);
  CHECK(mode_of(folder.at("state/mcp")) == 0700);

  Login changed = some_login();
  changed.access_token = "another";
  REQUIRE(store.save(changed));
  CHECK(store.load().value() == changed);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.at("state/mcp")), {}) == 1);
  CHECK(store.remove() == true);
  CHECK(store.load().value() == std::nullopt);
}

TEST_CASE("login_store: a file that is not the user's own alone is not believed", "[tools]") {
  const tests::FileFolder folder;
  const LoginStore store(folder.at("mcp"), {"x"});
  REQUIRE(store.save(some_login()));
  SECTION("others can read it") {
    REQUIRE(::chmod(store.file().c_str(), 0640) == 0);
  }
  SECTION("it is a link") {
    std::filesystem::rename(store.file(), folder.at("moved"));
    std::filesystem::create_symlink(folder.at("moved"), store.file());
  }
  SECTION("it is a pipe") {
    std::filesystem::remove(store.file());
    REQUIRE(::mkfifo(store.file().c_str(), 0600) == 0);
  }
  SECTION("it is cut off") {
    std::filesystem::resize_file(store.file(), 20);
  }
  SECTION("it is too long") {
    std::filesystem::resize_file(store.file(), 300'000);
  }
  SECTION("something in it is of another type") {
    agent::Json json = json_of(some_login());
    json["refresh_token"] = 3;
    std::ofstream(store.file()) << agent::dump(json);
  }
  SECTION("it is of a later version") {
    agent::Json json = json_of(some_login());
    json["version"] = 2;
    std::ofstream(store.file()) << agent::dump(json);
  }
  const auto login = store.load();
  REQUIRE_FALSE(login);
  CHECK(login.error().code == Code::mcp_auth);
  CHECK_THAT(login.error().message, !Catch::Contains("secret"));
}

TEST_CASE("login_store: one has the lock, and the wait for it ends", "[tools]") {
  const tests::FileFolder folder;
  tests::FakeClock clock;
  const LoginStore store(folder.at("mcp"), {"x"});
  auto held = store.lock(clock, {});
  REQUIRE(held);
  const auto before = clock.now();
  const auto late = store.lock(clock, {});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::storage_io);
  CHECK(clock.now() - before >= std::chrono::minutes(1));

  std::stop_source stop;
  stop.request_stop();
  const auto stopped = store.lock(clock, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Code::run_cancelled);

  held->reset();
  CHECK(store.lock(clock, {}));
}

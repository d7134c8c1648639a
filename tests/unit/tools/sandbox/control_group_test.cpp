#include "tools/sandbox/control_group.h"

#include "tests/support/skip.h"
#include "tests/unit/tools/process/process_support.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/profile.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using tools::Report;
using tools::sandbox::ControlGroup;
using tools::sandbox::group_places;
using tools::sandbox::Layer;
using tools::sandbox::Profile;
using Places = std::vector<std::string>;

namespace {

constexpr std::string_view k_unified =
    "22 28 0:21 / /proc rw,nosuid - proc proc rw\n"
    "29 22 0:25 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

bool has_group(const fs::path& place, pid_t shim) {
  return fs::exists(place / ("errand-" + std::to_string(shim)));
}

// Where this test program itself may make a group; empty where it cannot.
std::optional<fs::path> find_place() {
  const auto group = ControlGroup::create({.processes = 100});
  for (const fs::path place : group_places(tests::read_text("/proc/self/mountinfo"),
                                           tests::read_text("/proc/self/cgroup"))) {
    if (group && has_group(place, ::getpid())) {
      return place;
    }
  }
  return std::nullopt;
}

fs::path place_here() {
  auto place = find_place();
  if (!place) {
    tests::skip("no control group can be made here");
  }
  return std::move(*place);
}

tools::Running spawn(tools::Supervisor& supervisor,
                     const std::string& script,
                     const fs::path& folder,
                     const Profile& profile) {
  const agent::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto running = supervisor.spawn({.argv = {"/bin/sh", "-c", script},
                                   .environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
                                   .cwd = folder.string(),
                                   .profile = encode(profile)},
                                  null.get(),
                                  null.get(),
                                  null.get());
  REQUIRE(running);
  return std::move(*running);
}

agent::Result<std::optional<Report>> report_of(tools::Running& running) {
  pollfd event{.fd = running.descriptor(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&event, 1, 30'000) == 1);
  return running.report();
}

}  // namespace

TEST_CASE("control group: its own group's folder, then the one around it", "[tools]") {
  CHECK(group_places(k_unified, "0::/user.slice/session-2.scope\n") ==
        Places{"/sys/fs/cgroup/user.slice/session-2.scope", "/sys/fs/cgroup/user.slice"});
  CHECK(group_places(k_unified, "0::/init.scope\n") ==
        Places{"/sys/fs/cgroup/init.scope", "/sys/fs/cgroup"});
  CHECK(group_places(k_unified, "0::/\n") == Places{"/sys/fs/cgroup"});
}

TEST_CASE("control group: the second hierarchy beside those of version 1", "[tools]") {
  CHECK(group_places("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                     "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
                     "8:pids:/other\n4:memory:/other\n0::/\n") == Places{"/sys/fs/cgroup/unified"});
}

TEST_CASE("control group: a mount that shows a part of the groups", "[tools]") {
  constexpr std::string_view part =
      "41 31 0:38 /box /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
      "42 31 0:38 /my\\134x2dbox /mnt/a\\040b rw - cgroup2 cgroup rw\n";
  CHECK(group_places(part, "0::/box\n") == Places{"/sys/fs/cgroup"});
  CHECK(group_places(part, "0::/box/a\n") == Places{"/sys/fs/cgroup/a", "/sys/fs/cgroup"});
  CHECK(group_places(part, "0::/my\\x2dbox/a/b\n") == Places{"/mnt/a b/a/b", "/mnt/a b/a"});
  CHECK(group_places(part, "0::/boxes\n").empty());
}

TEST_CASE("control group: no version 2, no place", "[tools]") {
  CHECK(group_places("", "0::/\n").empty());
  CHECK(group_places(k_unified, "").empty());
  CHECK(group_places(k_unified, "4:memory:/a\n").empty());
  CHECK(group_places(k_unified, "0::/../elsewhere\n").empty());
  CHECK(group_places("41 31 0:38 / /x rw - tmpfs cgroup2 rw\n", "0::/\n").empty());
  CHECK(group_places("cgroup2", "0::/\n").empty());
}

TEST_CASE("control group: none without a limit to hold", "[tools]") {
  CHECK_FALSE(ControlGroup::create({}));
  CHECK_FALSE(ControlGroup::create({.cpu_time = 5}));
}

TEST_CASE("control group: is gone with its owner", "[tools]") {
  const fs::path place = place_here();
  CHECK_FALSE(has_group(place, ::getpid()));
}

TEST_CASE("control group: layers say whether a call is counted as a whole", "[tools]") {
  tests::ProcessWorld world;
  const bool has_place = find_place().has_value();
  const auto layers = world.supervisor->try_profile(tools::sandbox::encode({.processes = 100}));
  REQUIRE(layers);
  CHECK(layers->has(Layer::control_group) == has_place);
  CHECK(layers->has(Layer::processes) == (has_place || ::geteuid() != 0));
}

TEST_CASE("control group: processes of a call are counted, also root's", "[tools]") {
  place_here();
  tests::ProcessWorld world;
  auto running = spawn(*world.supervisor,
                       "for n in 1 2 3 4 5 6 7 8; do sleep 1000 & done",
                       world.folder.path(),
                       {.processes = 5});
  const auto report = report_of(running);
  REQUIRE(report);
  CHECK((*report)->value != 0);  // the shell could not fork
  CHECK((*report)->survivors == 0);
}

TEST_CASE("control group: memory is counted for a whole call", "[tools]") {
  place_here();
  if (!ControlGroup::create({.memory = 1u << 26})) {
    tests::skip("no control group here counts memory");
  }
  tests::ProcessWorld world;
  constexpr const char* hoard = "head -c 40000000 /dev/zero | tail -c 40000000 | sleep 1000";
  const Profile profile{.memory = 64'000'000};
  auto one = spawn(*world.supervisor,
                   "head -c 40000000 /dev/zero | tail -c 40000000 >/dev/null",
                   world.folder.path(),
                   profile);
  const auto fine = report_of(one);
  REQUIRE(fine);
  CHECK((*fine)->kind == Report::Kind::exited);
  CHECK_FALSE((*fine)->is_out_of_memory);
  auto two = spawn(*world.supervisor,
                   std::string("{ ") + hoard + "; } & { " + hoard + "; } & wait",
                   world.folder.path(),
                   profile);
  const auto ended = report_of(two);
  REQUIRE(ended);
  CHECK((*ended)->kind == Report::Kind::signalled);
  CHECK((*ended)->value == SIGKILL);
  CHECK((*ended)->is_out_of_memory);
}

TEST_CASE("control group: a shim that was killed leaves none behind", "[tools]") {
  const fs::path place = place_here();
  tests::ProcessWorld world;
  auto running = spawn(*world.supervisor,
                       "setsid sleep 1000 & echo $PPID > pid; sleep 1000",
                       world.folder.path(),
                       {.writable = {world.folder.path().string()}, .processes = 50});
  const int shim = tests::pid_in(world.file("pid"));
  CHECK(has_group(place, shim));
  ::kill(shim, SIGKILL);
  CHECK_FALSE(report_of(running));
  CHECK(tests::wait_until([&] { return !has_group(place, shim); }));
}

TEST_CASE("control group: none is left when the owner of all is killed", "[tools]") {
  const fs::path place = place_here();
  tests::TemporaryFolder folder;
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto supervisor = tools::Supervisor::start();
    if (!supervisor) {
      ::_exit(1);
    }
    const auto running = spawn(**supervisor,
                               "setsid sleep 1000 & echo $PPID > pid; sleep 1000",
                               folder.path(),
                               {.writable = {folder.path().string()}, .processes = 50});
    for (;;) {
      ::pause();
    }
  }
  REQUIRE(owner > 0);
  const int shim = tests::pid_in(folder.path() / "pid");
  CHECK(has_group(place, shim));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  CHECK(tests::wait_until([&] { return !has_group(place, shim); }));
}

#include "tools/sandbox/system_calls.h"

#include "tools/sandbox/profile.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int k_nobody = 5'000'000;  // above any process's number, and no user of this machine
constexpr int k_of_process = 1;      // IOPRIO_WHO_PROCESS
constexpr int k_of_user = 3;

struct SchedulingCall {
  std::string name;
  std::function<long()> make;
  int error;  // with the filter; 0: it works
};

// Whom they name is nobody, or the caller: without the filter they change nothing, either.
std::vector<SchedulingCall> calls() {
  static const sched_param k_none{.sched_priority = 0};
  static const auto k_all = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return {
      {"affinity", [] { return ::sched_setaffinity(k_nobody, sizeof k_all, &k_all); }, EPERM},
      {"own affinity", [] { return ::sched_setaffinity(0, sizeof k_all, &k_all); }, 0},
      {"policy", [] { return ::sched_setscheduler(k_nobody, SCHED_BATCH, &k_none); }, EPERM},
      {"own policy", [] { return ::sched_setscheduler(0, SCHED_BATCH, &k_none); }, 0},
      {"parameters", [] { return ::sched_setparam(k_nobody, &k_none); }, EPERM},
      {"own parameters", [] { return ::sched_setparam(0, &k_none); }, 0},
      {"attributes", [] { return ::syscall(SYS_sched_setattr, k_nobody, nullptr, 0); }, EPERM},
      {"own attributes", [] { return ::syscall(SYS_sched_setattr, 0, nullptr, 0); }, EINVAL},
      {"priority", [] { return ::setpriority(PRIO_PROCESS, k_nobody, 19); }, EPERM},
      {"priority of a group", [] { return ::setpriority(PRIO_PGRP, k_nobody, 19); }, EPERM},
      {"priority of a user", [] { return ::setpriority(PRIO_USER, k_nobody, 19); }, EPERM},
      {"own priority", [] { return ::setpriority(PRIO_PROCESS, 0, 19); }, 0},
      {"input and output",
       [] { return ::syscall(SYS_ioprio_set, k_of_process, k_nobody, 3 << 13); },
       EPERM},
      {"input and output of a user",
       [] { return ::syscall(SYS_ioprio_set, k_of_user, k_nobody, 3 << 13); },
       EPERM},
      {"own input and output",
       [] { return ::syscall(SYS_ioprio_set, k_of_process, 0, 3 << 13); },
       0},
      {"core scheduling", [] { return ::prctl(62, 2, k_nobody, 0, 0); }, EPERM},
  };
}

// In a process of its own: there is no way out of a filter. How many calls end otherwise.
int wrong_calls(bool is_filtered) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto filter = tools::sandbox::system_call_filter({}, 7);
    int wrong = is_filtered && (filter.empty() || tools::sandbox::install(filter) != 0) ? 100 : 0;
    for (const SchedulingCall& call : calls()) {
      errno = 0;
      const bool works = call.make() == 0;
      wrong += (works ? 0 : errno) == call.error ? 0 : 1;
    }
    ::_exit(wrong);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("system calls: a program schedules itself, and nobody else", "[tools]") {
  CHECK(wrong_calls(true) == 0);
  CHECK(wrong_calls(false) == 10);  // nobody is not found
}

#include "cli/resources.h"

#include "agent/descriptor.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace cli {
namespace {

// A run with a tool, a connection, a journal, a log and a recording has 14 of its own; libraries
// open a few more for a moment. Addresses go to the stacks of its threads, first of all.
constexpr std::size_t k_descriptors = 32;
constexpr std::size_t k_memory = 96u << 20;
constexpr std::size_t k_memory_of_a_run = 24u << 20;  // beside others: three stacks
constexpr rlim_t k_stack = 1u << 20;                  // of each thread

int take_descriptors() {
  std::array<agent::Descriptor, k_descriptors> taken;
  for (agent::Descriptor& one : taken) {
    one = agent::Descriptor(::open("/", O_PATH | O_CLOEXEC));
    if (!one) {
      return errno;
    }
  }
  return 0;
}

int take_memory(std::size_t bytes) {
  void* const taken =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) {
    return errno;
  }
  ::munmap(taken, bytes);
  return 0;
}

bool are_addresses_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

agent::Result<void> make_room_in_memory(std::size_t runs) {
  if (!are_addresses_limited()) {
    return {};
  }
  const std::size_t needed = k_memory_of_a_run * runs;
  if (take_memory(needed) == 0) {
    return {};
  }
  return agent::fail(
      agent::Code::os_failed,
      fmt::format("{} runs at once may take {} MiB more of memory, and the limit leaves less",
                  runs,
                  needed >> 20),
      "Run fewer at once (`--parallel`), or raise the limit: `ulimit -v`.");
}

bool is_stack_enough() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= k_stack;
}

}  // namespace

agent::Result<void> check_resources() {
  if (are_addresses_limited()) {
    ::mallopt(M_ARENA_MAX, 1);  // each takes 64 MiB of addresses, and there would be one a thread
  }
  if (const int error = take_descriptors(); error != 0) {
    return agent::fail(
        agent::Code::os_failed,
        fmt::format("{} more open files are needed: {}", k_descriptors, std::strerror(error)),
        "Raise the limit: `ulimit -n 1024`.");
  }
  if (const int error = take_memory(k_memory); error != 0) {
    return agent::fail(
        agent::Code::os_failed,
        fmt::format("{} MiB more of memory are needed: {}", k_memory >> 20, std::strerror(error)),
        "Raise the limit: `ulimit -v unlimited`.");
  }
  if (!is_stack_enough()) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("a stack of {} KiB is needed", k_stack >> 10),
                       "Raise the limit: `ulimit -s 8192`.");
  }
  return {};
}

int say_on_own_stack(const std::function<int()>& say) {
  struct Saying {
    const std::function<int()>& say;
    int code = 0;
  } saying{.say = say};
  const auto run = [](void* one) -> void* {
    auto& its = *static_cast<Saying*>(one);
    its.code = its.say();
    return nullptr;
  };
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, k_stack);
  pthread_t thread{};
  const bool has_begun = ::pthread_create(&thread, &attributes, run, &saying) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!has_begun) {
    return say();
  }
  ::pthread_join(thread, nullptr);
  return saying.code;
}

namespace {

agent::Result<void> make_room_for_files(std::size_t runs) {
  const rlim_t needed = k_descriptors * (runs + 1);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
    return {};
  }
  if (limit.rlim_max >= needed) {
    limit.rlim_cur = limit.rlim_max;  // all it may be: no thread takes back a higher one
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
      return {};
    }
  }
  return agent::fail(agent::Code::os_failed,
                     fmt::format("{} runs at once may have {} files open, and the limit is {}",
                                 runs,
                                 needed,
                                 limit.rlim_max),
                     "Run fewer at once (`--parallel`), or raise the limit: `ulimit -Hn`.");
}

}  // namespace

agent::Result<void> make_room_for(std::size_t runs) {
  TRY(make_room_in_memory(runs));
  return make_room_for_files(runs);
}

bool make_room_beside(std::size_t runs) {
  return runs == 0 || (make_room_in_memory(1) && make_room_for_files(runs + 1));
}

}  // namespace cli

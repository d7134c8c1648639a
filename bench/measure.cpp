// Runs a command with /dev/null for its streams and prints what it took:
// "WALL_NS USER_NS SYSTEM_NS PEAK_KB". A process of its own, because a child's peak memory begins
// with that of the process that starts it. Exits with the command's exit code.
#include <array>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

long long nanoseconds(const timeval& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_measure COMMAND [ARGUMENT…]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = 0;
  if (const int error = ::posix_spawnp(&pid, argv[1], &actions, nullptr, argv + 1, environ)) {
    std::fprintf(stderr, "bench_measure: %s: error %d\n", argv[1], error);
    return 127;
  }
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
  std::printf("%lld %lld %lld %ld\n",
              static_cast<long long>(wall.count()),
              nanoseconds(usage.ru_utime),
              nanoseconds(usage.ru_stime),
              usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

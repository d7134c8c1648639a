// Loaded before libc into errand: counts what a process does to the world outside (writes, sends,
// names, syncs; spawns are messages to the zygote), and ends or hinders it at one of these points.
//
//     CRASH_AT=N        SIGKILL before the Nth
//     CRASH_BEHIND=N    SIGKILL behind it
//     CRASH_FULL=N      from the Nth on, the disk of what is written is full
//     CRASH_FULL_FOR=N  for so many of them; else for good
//     CRASH_SYNC=N      from the Nth on, nothing can be made durable
//     CRASH_COUNT=FILE  how many there were, at a whole end
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

const pid_t g_process = ::getpid();  // what it forks is not counted
std::atomic<long> g_count = 0;

long number(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : 0;
}

const long g_at = number("CRASH_AT");
const long g_behind = number("CRASH_BEHIND");
const long g_full = number("CRASH_FULL");
const long g_full_for = number("CRASH_FULL_FOR");
const long g_sync = number("CRASH_SYNC");

void die() {
  ::kill(g_process, SIGKILL);
  for (;;) {
    ::pause();
  }
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// One point. `broken`: what the call says where its time has come.
template <typename Call>
auto at_a_point(long broken_from, int broken, const Call& call) -> decltype(call()) {
  if (::getpid() != g_process) {
    return call();
  }
  const long now = ++g_count;
  if (now == g_at) {
    die();
  }
  const bool is_over = broken_from == g_full && g_full_for != 0 && now >= g_full + g_full_for;
  if (broken_from != 0 && now >= broken_from && !is_over) {
    errno = broken;
    return -1;
  }
  const auto result = call();
  if (now == g_behind) {
    const int kept = errno;
    die();
    errno = kept;
  }
  return result;
}

__attribute__((destructor)) void tell() {
  const char* file = std::getenv("CRASH_COUNT");
  if (file != nullptr && ::getpid() == g_process) {
    if (std::FILE* out = std::fopen(file, "w")) {
      std::fprintf(out, "%ld\n", g_count.load());
      std::fclose(out);
    }
  }
}

}  // namespace

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return at_a_point(g_full, ENOSPC, [&] { return real(descriptor, bytes, size, offset); });
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return at_a_point(g_full, ENOSPC, [&] { return real(descriptor, bytes, size, offset); });
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return at_a_point(0, 0, [&] { return real(descriptor, bytes, size); });
}
ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, int)>("send");
  return at_a_point(0, 0, [&] { return real(socket, bytes, size, flags); });
}
ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  return at_a_point(0, 0, [&] { return real(socket, message, flags); });
}
int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return at_a_point(0, 0, [&] { return real(from, to); });
}
int unlink(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("unlink");
  return at_a_point(0, 0, [&] { return real(path); });
}
int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return at_a_point(g_sync, EIO, [&] { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return at_a_point(g_sync, EIO, [&] { return real(descriptor); });
}
int ftruncate(int descriptor, off_t size) noexcept {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return at_a_point(g_full, ENOSPC, [&] { return real(descriptor, size); });
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  return at_a_point(g_full, ENOSPC, [&] { return real(descriptor, size); });
}

}  // extern "C"

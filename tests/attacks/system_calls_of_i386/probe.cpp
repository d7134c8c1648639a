// A socket by the system calls of another interface of the same kernel, which a filter for this one
// could overlook: prints "open" where there is one. With an argument: whether there is that
// interface, by a harmless call.
#include <cstdio>
#include <sys/socket.h>
#include <unistd.h>

namespace {

int call(int number, int first, int second) {
  int result = 0;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(first), "c"(second), "d"(0)
               : "memory", "r8", "r9", "r10", "r11");
  return result;
}

}  // namespace

int main(int argc, char**) {
  constexpr int k_getpid = 20;
  constexpr int k_socket = 359;
  if (argc > 1) {
    return call(k_getpid, 0, 0) == ::getpid() ? 0 : 1;
  }
  std::puts(call(k_socket, AF_INET, SOCK_STREAM) >= 0 ? "open" : "refused");
}

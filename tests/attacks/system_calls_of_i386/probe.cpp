// A socket by the system calls of another interface of the same kernel, which a filter for this one
// could overlook: prints "open" where there is one.
#include <cstdio>
#include <sys/socket.h>
#include <unistd.h>

int main() {
  constexpr int k_socket = 359;
  int result = 0;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(k_socket), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0)
               : "memory", "r8", "r9", "r10", "r11");
  std::puts(result >= 0 ? "open" : "refused");
}

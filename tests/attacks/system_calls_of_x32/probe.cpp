// A socket by the system calls of another interface of the same kernel, which a filter for this one
// could overlook: prints "open" where there is one.
#include <cstdio>
#include <sys/socket.h>
#include <unistd.h>

int main() {
  constexpr long k_x32 = 0x40000000;
  constexpr long k_socket = 41;
  const long result = ::syscall(k_x32 | k_socket, AF_INET, SOCK_STREAM, 0);
  std::puts(result >= 0 ? "open" : "refused");
}

#include "tools/sandbox/namespaces.h"

#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

constexpr int k_always = CLONE_NEWNS | CLONE_NEWIPC;

bool write_line(const char* path, const std::string& line) {
  const Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool unshare(int namespaces) {
  if (::unshare(namespaces) == 0) {
    return true;
  }
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(CLONE_NEWUSER | namespaces) != 0) {
    return false;
  }
  const auto to_itself = [](auto id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  return write_line("/proc/self/setgroups", "deny") &&
         write_line("/proc/self/uid_map", to_itself(user)) &&
         write_line("/proc/self/gid_map", to_itself(group));
}

bool switch_on_loopback(const Descriptor& socket) {
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

Namespaces enter_namespaces(bool wants_network) {
  if (wants_network && unshare(k_always | CLONE_NEWNET)) {
    return {.are_there = true, .has_network = true};
  }
  return {.are_there = unshare(k_always)};
}

Descriptor listen_in_private_network() {
  Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(k_outlet_port);
  ::inet_pton(AF_INET, k_outlet_address, &address.sin_addr);
  const bool listens =
      listener && switch_on_loopback(listener) &&
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener.get(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : Descriptor();
}

}  // namespace tools::sandbox

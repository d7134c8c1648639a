#include "tools/process/fd_passing.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace tools {

bool send_with_descriptors(int socket, std::string_view data, std::span<const int> descriptors) {
  iovec part{.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = space.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  while (!data.empty()) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    if (sent > 0) {
      data.remove_prefix(static_cast<std::size_t>(sent));
      part = {.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};
      message.msg_control = nullptr;  // they went with the first byte
      message.msg_controllen = 0;
    }
  }
  return true;
}

ssize_t receive_with_descriptors(
    int socket, void* data, std::size_t size, int* descriptors, int capacity, int& count) {
  iovec part{.iov_base = data, .iov_len = size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<std::size_t>(capacity));
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  count = 0;
  if (got <= 0) {
    return got;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    const std::size_t bytes = header->cmsg_len - CMSG_LEN(0);
    std::memcpy(descriptors, CMSG_DATA(header), bytes);
    count = static_cast<int>(bytes / sizeof(int));
  }
  return got;
}

}  // namespace tools

// Open descriptors, handed from process to process over a Unix socket.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <sys/types.h>

namespace tools {

// Sends all of the data, the descriptors (at most four) with its first byte. False where the other
// side is gone or does not read (errno says which).
bool send_with_descriptors(int socket, std::string_view data, std::span<const int> descriptors);

// Receives up to `size` bytes and up to `capacity` descriptors (close-on-exec, `count` of them).
// As recvmsg(2), but for EINTR.
ssize_t receive_with_descriptors(
    int socket, void* data, std::size_t size, int* descriptors, int capacity, int& count);

}  // namespace tools

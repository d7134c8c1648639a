#include "agent/random_bytes.h"

#include <cerrno>
#include <sys/random.h>

namespace agent {

Result<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  ssize_t got = -1;
  do {
    got = ::getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(count)) {
    return fail(Code::os_failed, "the machine gives no random bytes");
  }
  return bytes;
}

}  // namespace agent

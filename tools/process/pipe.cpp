#include "tools/process/pipe.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tools {

using agent::Descriptor;

agent::Result<Pipe> make_pipe(Descriptor Pipe::* ours) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  Pipe pipe{.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
  if (ends[0] < 3 || ends[1] < 3) {
    pipe = {.read = Descriptor(::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, 3)),
            .write = Descriptor(::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, 3))};
  }
  if (!pipe.read || !pipe.write) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  ::fcntl((pipe.*ours).get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace tools

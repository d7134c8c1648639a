// Pipes to and from programs.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"

namespace tools {

struct Pipe {
  agent::Descriptor read;
  agent::Descriptor write;
};

// Above the standard three, which errand's caller may have left closed; `ours` does not block.
// os.failed.
agent::Result<Pipe> make_pipe(agent::Descriptor Pipe::* ours);

}  // namespace tools

// An MCP server that is a program: a message a line, on its stdin and stdout.
#pragma once
#include "tools/mcp/transport.h"

namespace tools::mcp {

// It may end at once: that is heard. Errors: os.failed, sandbox.setup.
agent::Result<std::unique_ptr<Transport>> open_program(ProgramRunner& runner,
                                                       const ProgramRequest& program,
                                                       Transport::Listener&& listener);

}  // namespace tools::mcp

// One client, on two descriptors: a message a line.
#pragma once
#include "agent/cancellation.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/serve/call_pool.h"
#include "cli/serve/served_tool.h"

#include <cstddef>

namespace cli {

constexpr std::size_t k_most_message_bytes = 16u << 20;

// Borrowed.
struct StdioWorld {
  int in = 0;
  int out = 1;
  ServedTools& tools;
  CallPool& pool;
  const agent::Redactor& redactor;
  agent::Cancellation& cancellation;  // of the whole
};

// Returns when the client has closed its end, or the whole is stopped, and all calls have ended.
// Where the client reads no more, that stops the whole as SIGPIPE does. storage.io where nothing
// can be read.
agent::Result<void> serve_stdio(const StdioWorld& world);

}  // namespace cli

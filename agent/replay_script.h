// The replay provider's script as plain values: replies and faults in the order they are played.
// Read from YAML by config/, played by providers/.
#pragma once
#include "agent/error.h"
#include "agent/message.h"
#include "agent/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace agent {

struct ReplayFault {
  Code code = Code::provider_unavailable;  // a provider.* code or context.overflow
  std::string message;
  int http_status = 0;
  std::optional<Milliseconds> retry_after;
};

struct ReplayStep {
  Reply reply;
  std::optional<ReplayFault> fault;  // instead of the reply, or after its text: a cut stream
  Milliseconds delay{0};             // before the first byte
  Milliseconds chunk_delay{0};       // between two streamed pieces
  int repeat = 1;                    // how often in a row; 0: for ever
  std::vector<std::string> expect;   // each must occur in the newest message of the request
  int line = 0;                      // in the script, for messages
};

struct ReplayScript {
  std::string file;
  std::vector<ReplayStep> steps;
};

}  // namespace agent

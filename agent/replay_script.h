// The replay provider's script as plain values: replies and faults in the order they are played.
// Read from YAML by config/, played by providers/.
#pragma once
#include "agent/error.h"
#include "agent/message.h"
#include "agent/spec.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

// How far a script was played; whoever plays it counts.
struct ReplayProgress {
  std::string file;
  std::int64_t left = 0;  // replies and faults that are still to come; those for ever do not count
};

struct ReplayScript {
  std::string file;
  std::vector<ReplayStep> steps;
  // Of a flow's steps, of sub-agents and of those to whom is handed over, by their names: what they
  // play in place of `steps`.
  std::map<std::string, std::vector<ReplayStep>, std::less<>> members = {};
  std::shared_ptr<ReplayProgress> progress = nullptr;  // null: nobody wants to know
};

}  // namespace agent

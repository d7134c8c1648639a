// Who answers: the port behind which protocols, retry, replay and fallback stand.
#pragma once
#include "agent/event.h"
#include "agent/message.h"
#include "agent/result.h"
#include "agent/toolbox.h"

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

namespace agent {

// One question. Everything is borrowed until complete() returns; `max_output_tokens` may become
// less within a call of `emit`, which counts from the next attempt on. `tools` is what
// the run began with, sorted by name, and behind that what was added, in that order: between two
// turns of a run it only grows, so that the bytes before the last message stay the same until then.
struct ModelRequest {
  std::string_view instructions;
  std::span<const ToolInfo> tools;
  const Conversation& conversation;
  std::optional<std::int64_t> max_output_tokens;  // the budget's cap, where it is the lower one
  std::string_view tool_choice = {};              // as ModelSpec::tool_choice
  std::string_view output_schema = {};            // as OutputSpec::schema
};

// Whether the request is about to be sent once more, perhaps to another model.
inline bool asks_again(const EventBody& body) {
  return std::holds_alternative<ModelRetrying>(body) || std::holds_alternative<ModelFallback>(body);
}

class Provider {
 public:
  virtual ~Provider() = default;

  // A finished reply, or the error that ended the last attempt. `emit` gets model.delta,
  // model.reset and model.retrying, on the calling thread. Cancelled: run.cancelled.
  // One call at a time a Provider object.
  virtual Result<Reply> complete(const ModelRequest& request,
                                 const Emit& emit,
                                 std::stop_token stop) = 0;
};

}  // namespace agent

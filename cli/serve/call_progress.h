// What the client of one call hears while it goes on: what happens, and, where nothing does, that
// it goes on.
#pragma once
#include "agent/secrets/redact.h"
#include "cli/serve/mcp_dialogue.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cli {

// Thread-safe. Nothing is sent to a client that does not want to hear of it.
class CallProgress {
 public:
  // `send` takes a message, and waits for nobody. The redactor is borrowed.
  CallProgress(AskedCall call,
               const agent::Redactor& redactor,
               std::function<void(std::string)> send)
      : call_(std::move(call)), redactor_(redactor), send_(std::move(send)) {}

  void say(std::string_view line);
  // Where nothing was said since the last sign.
  void give_sign(bool is_running);

 private:
  void send(std::string_view line);

  const AskedCall call_;
  const agent::Redactor& redactor_;
  const std::function<void(std::string)> send_;
  std::mutex mutex_;  // of the next two, and so that messages are sent in their order
  std::int64_t count_ = 0;
  bool is_news_ = false;
};

}  // namespace cli

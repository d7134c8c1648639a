// Plays a script of replies and faults in place of a model: no key, no network, always the same.
#pragma once
#include "agent/clock.h"
#include "agent/provider.h"
#include "agent/replay_script.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace providers {

class ScriptProvider final : public agent::Provider {
 public:
  // `clock` is borrowed. Where `is_streamed`, text and reasoning come in pieces as model.delta.
  // `origin` is what its replies say that they come from.
  ScriptProvider(agent::ReplayScript script,
                 agent::Clock& clock,
                 bool is_streamed,
                 std::string origin = {})
      : script_(std::move(script)),
        clock_(clock),
        is_streamed_(is_streamed),
        origin_(std::move(origin)) {}

  // The next reply of the script, or its fault. replay.miss where the script is played to its end,
  // or where the newest messages lack what the step expects. Calls without an id get one that is
  // unique in the conversation.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  agent::Result<void> wait(agent::Milliseconds time, std::stop_token stop);
  agent::Result<void> stream(const agent::ReplayStep& step,
                             const agent::Emit& emit,
                             std::stop_token stop);
  agent::Result<void> pieces(std::string_view text,
                             agent::ModelDelta::Kind kind,
                             agent::Milliseconds chunk_delay,
                             const agent::Emit& emit,
                             std::stop_token stop);

  agent::ReplayScript script_;
  agent::Clock& clock_;
  bool is_streamed_;
  std::string origin_;
  std::size_t next_ = 0;
  int played_ = 0;  // how often steps[next_] was played
};

}  // namespace providers

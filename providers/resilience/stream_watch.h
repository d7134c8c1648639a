// Passes a reply's events on, and knows whether the consumers hold pieces of an unfinished one.
#pragma once
#include "agent/error.h"
#include "agent/event.h"

#include <utility>
#include <variant>

namespace providers {

class StreamWatch {
 public:
  // `emit` is borrowed.
  explicit StreamWatch(const agent::Emit& emit) : emit_(emit) {}

  void pass(agent::EventBody event) {
    if (std::holds_alternative<agent::ModelDelta>(event)) {
      has_streamed_ = true;
    } else if (std::holds_alternative<agent::ModelReset>(event)) {
      has_streamed_ = false;
    }
    emit_(std::move(event));
  }

  // model.reset, where something of what failed with `error` was streamed.
  void reset(const agent::Error& error) {
    if (has_streamed_) {
      pass(agent::ModelReset{error.message});
    }
  }

 private:
  const agent::Emit& emit_;
  bool has_streamed_ = false;
};

}  // namespace providers

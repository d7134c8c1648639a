// Sinks that several runs of one process write to, each on a thread of its own.
#pragma once
#include "agent/event.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace cli {

class SharedSinks {
 public:
  // Borrowed.
  explicit SharedSinks(std::span<agent::EventSink* const> sinks) {
    for (agent::EventSink* sink : sinks) {
      shared_.push_back(std::make_unique<Shared>(*sink, mutex_));
    }
  }

  std::vector<agent::EventSink*> sinks() const {
    std::vector<agent::EventSink*> all;
    for (const auto& sink : shared_) {
      all.push_back(sink.get());
    }
    return all;
  }

 private:
  class Shared final : public agent::EventSink {
   public:
    Shared(agent::EventSink& sink, std::mutex& mutex) : sink_(sink), mutex_(mutex) {}
    void on(const agent::Event& event) override {
      const std::lock_guard lock(mutex_);
      sink_.on(event);
    }
    const agent::Error* failure() const override {
      const std::lock_guard lock(mutex_);
      return sink_.failure();
    }
    bool is_cut_off() const override {
      const std::lock_guard lock(mutex_);
      return sink_.is_cut_off();
    }
    std::optional<agent::Warning> loss() override {
      const std::lock_guard lock(mutex_);
      return sink_.loss();
    }

   private:
    agent::EventSink& sink_;
    std::mutex& mutex_;
  };

  std::mutex mutex_;
  std::vector<std::unique_ptr<Shared>> shared_;
};

}  // namespace cli

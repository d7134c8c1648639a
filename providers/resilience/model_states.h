// What all that runs in one process knows together about the models it asks. cli/ makes one and
// lends it to every run; runs that must not feel each other get one each.
#pragma once
#include "providers/resilience/circuit_breaker.h"
#include "providers/resilience/fallback_provider.h"
#include "providers/resilience/rate_gate.h"

#include <map>
#include <mutex>
#include <string>

namespace providers {

struct ModelState {
  Circuit circuit;
  RateGate gate;
  FailureMemory failures;
};

// Thread-safe.
class ModelStates {
 public:
  // The one state of the model behind that key; it lives as long as this object.
  ModelState& of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return states_[key];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, ModelState> states_;
};

}  // namespace providers

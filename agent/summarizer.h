// Asks a model for the summary of a pass: one request without tools, within the run's limits, its
// deadline and its stop.
#pragma once
#include "agent/budget.h"
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/provider.h"
#include "agent/state.h"

#include <stop_token>

namespace agent {

// Borrowed.
struct SummaryPorts {
  Provider& provider;
  bool is_own;  // the agent's own model is asked
  const Budget& budget;
  Clock& clock;
  const Emit& emit;        // hears that it is tried again
  Conversation& question;  // outlives the provider's use of it: asked anew at each call
};

// Puts the summary into `pass`, or makes it one that has failed, with the reason; what it has cost
// in either case.
void sum_up(ContextCompacted& pass,
            const State& state,
            const SummaryPorts& ports,
            std::stop_token stop);

}  // namespace agent

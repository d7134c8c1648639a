// One program as processes of this machine: input, output, deadlines, cancellation. Who keeps its
// process tree together is the supervisor.
#pragma once
#include "agent/dialer.h"
#include "tools/process/isolation.h"
#include "tools/process/supervisor.h"

namespace tools {

class Enclosure;

// After a deadline or `stop` the tree gets SIGTERM and a second later SIGKILL, after `kill` SIGKILL
// at once.
class ProcessIsolation final : public Isolation {
 public:
  // Programs may do what errand may. Borrowed.
  explicit ProcessIsolation(Supervisor& supervisor) : supervisor_(supervisor) {}
  // In a sandbox, where `enclosure` is one; all borrowed.
  ProcessIsolation(Supervisor& supervisor, Enclosure* enclosure, agent::Dialer& dialer)
      : supervisor_(supervisor), enclosure_(enclosure), dialer_(&dialer) {}

  agent::Environment environment() const override;
  ProgramResult run(const ProgramRequest& request, const ProgramControl& control) override;

 private:
  Supervisor& supervisor_;
  Enclosure* enclosure_ = nullptr;
  agent::Dialer* dialer_ = nullptr;
};

}  // namespace tools

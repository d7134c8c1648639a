// One program as processes of this machine: input, output, deadlines, cancellation. Who keeps its
// process tree together is the supervisor.
#pragma once
#include "tools/isolation.h"
#include "tools/supervisor.h"

namespace tools {

class Enclosure;

// After a deadline or `stop` the tree gets SIGTERM and a second later SIGKILL, after `kill` SIGKILL
// at once.
class ProcessIsolation final : public Isolation {
 public:
  // Both borrowed; no enclosure: programs may do what errand may.
  explicit ProcessIsolation(Supervisor& supervisor, Enclosure* enclosure = nullptr)
      : supervisor_(supervisor), enclosure_(enclosure) {}

  agent::Environment environment() const override;
  ProgramResult run(const ProgramRequest& request, const ProgramControl& control) override;

 private:
  Supervisor& supervisor_;
  Enclosure* enclosure_;
};

}  // namespace tools

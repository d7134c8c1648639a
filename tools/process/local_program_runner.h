// One program as processes of this machine: input, output, deadlines, cancellation. Who keeps its
// process tree together is the supervisor.
#pragma once
#include "agent/dialer.h"
#include "tools/process/program_runner.h"
#include "tools/process/supervisor.h"

namespace tools {

class Sandbox;

// After a deadline or `stop` the tree gets SIGTERM and a second later SIGKILL, after `kill` SIGKILL
// at once.
class LocalProgramRunner final : public ProgramRunner {
 public:
  // Programs may do what errand may. Borrowed.
  explicit LocalProgramRunner(Supervisor& supervisor) : supervisor_(supervisor) {}
  // In a sandbox, where `sandbox` is one; all borrowed.
  LocalProgramRunner(Supervisor& supervisor, Sandbox* sandbox, agent::Dialer& dialer)
      : supervisor_(supervisor), sandbox_(sandbox), dialer_(&dialer) {}

  agent::Environment environment() const override;
  ProgramResult run(const ProgramRequest& request, const ProgramControl& control) override;
  agent::Result<std::unique_ptr<TalkingProgram>> talk(const ProgramRequest& request,
                                                      TalkingProgram::Listener&& listener) override;
  ProgramTurns::Turn begin_turn(const std::stop_token& stop) override;
  agent::Result<void> before_writing() override;
  std::vector<agent::Leftover> tidy_up() override;

 private:
  Supervisor& supervisor_;
  Sandbox* sandbox_ = nullptr;
  agent::Dialer* dialer_ = nullptr;
};

}  // namespace tools

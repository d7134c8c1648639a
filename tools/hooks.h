// The hooks of a run: commands that are told of its points and may answer.
#pragma once
#include "agent/clock.h"
#include "agent/environment.h"
#include "agent/gate.h"
#include "agent/spec.h"
#include "tools/hook_protocol.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tools {

class Supervisor;

struct HookOptions {
  HookWorld world;
  std::filesystem::path directory;   // of the agent file: the commands run there
  std::filesystem::path temporary;   // the run's own folder
  agent::Environment environment;    // without provider keys
  Supervisor* supervisor = nullptr;  // borrowed, as the clock
  agent::Clock* clock = nullptr;
};

// The command line as it runs: what a dialect's scripts are called by is filled in.
std::string hook_command(const agent::HooksSpec& spec,
                         const agent::HookSpec& hook,
                         const std::filesystem::path& cwd);

// The hooks of a point run one after the other, in the order of the file, and each sees what those
// before it have changed. After the first that says no, observers alone still run.
class Hooks final : public agent::Gate {
 public:
  Hooks(const agent::HooksSpec& spec, HookOptions options);
  ~Hooks() override;

  agent::Ruling judge(const agent::Occasion& occasion,
                      const agent::Emit& emit,
                      std::stop_token stop) override;

 private:
  struct Hook;
  class Round;

  const HookDialect& dialect_;
  HookOptions options_;
  std::vector<Hook> hooks_;
};

}  // namespace tools

// The hooks of a run: commands that are told of its points and may answer.
#pragma once
#include "agent/clock.h"
#include "agent/interceptor.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "tools/hooks/hook_protocol.h"
#include "tools/hooks/user_command.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tools {

struct HookOptions {
  HookWorld world;
  UserProgramsOf programs_of;
  agent::Clock* clock = nullptr;  // borrowed
  // For what hooks say to the model and to people; borrowed, null: nothing is taken out of it.
  const agent::Redactor* redactor = nullptr;
};

// The command line as it runs: what a dialect's scripts are called by is filled in.
std::string hook_command(const agent::HooksSpec& spec,
                         const agent::HookSpec& hook,
                         const std::filesystem::path& cwd);

// The hooks of a point run one after the other, in the order of the file, and each sees what those
// before it have changed. After the first that says no, observers alone still run.
class Hooks final : public agent::Interceptor {
 public:
  Hooks(const agent::HooksSpec& spec, HookOptions options);
  ~Hooks() override;

  agent::HookDecision judge(const agent::HookContext& hook_context,
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

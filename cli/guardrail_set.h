// The guardrails of a run, with the models that judge for them.
#pragma once
#include "agent/provider.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/plan.h"
#include "providers/registry.h"
#include "tools/guardrails/guardrails.h"
#include "tools/process/sandbox.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace cli {

struct GuardrailSet {
  std::vector<std::unique_ptr<agent::Provider>> judges;
  std::unique_ptr<tools::Guardrails> interceptor;  // null: the agent has none
};

// A `judge` without a model of its own asks `own`. All borrowed but for the programs. `now`: when
// prices hold.
agent::Result<GuardrailSet> open_guardrails(const Plan& plan,
                                            const std::filesystem::path& kill_file,
                                            agent::Provider& own,
                                            const providers::Dependencies& dependencies,
                                            tools::UserProgramsOf programs_of,
                                            const agent::Redactor& redactor,
                                            agent::Clock& clock,
                                            agent::Clock::Wall now);

// Where tools could remove the file of the kill switch: words for the user.
std::optional<agent::Warning> kill_switch_warning(const std::filesystem::path& kill_file,
                                                  const tools::Sandbox* sandbox);

}  // namespace cli

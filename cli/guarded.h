// The guardrails of a run, with the models that judge for them.
#pragma once
#include "agent/provider.h"
#include "agent/redact.h"
#include "agent/result.h"
#include "cli/plan.h"
#include "providers/registry.h"
#include "tools/enclosure.h"
#include "tools/guardrails.h"

#include <memory>
#include <vector>

namespace cli {

struct Guarded {
  std::vector<std::unique_ptr<agent::Provider>> judges;
  std::unique_ptr<tools::Guardrails> gate;  // null: the agent has none
};

// A `judge` without a model of its own asks `own`. All borrowed but for the programs.
agent::Result<Guarded> open_guardrails(const Plan& plan,
                                       agent::Provider& own,
                                       const providers::Dependencies& dependencies,
                                       tools::GuardrailPrograms programs,
                                       const agent::Redactor& redactor,
                                       agent::Clock& clock);

// Where tools could remove the file of the kill switch: words for the user. config.invalid: there
// is no such path.
agent::Result<std::vector<agent::Warning>> kill_switch_warnings(
    const agent::AgentSpec& agent,
    const agent::Environment& environment,
    const tools::Enclosure* enclosure);

}  // namespace cli

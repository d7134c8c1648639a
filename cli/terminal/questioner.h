// Puts the model's questions to the person at the terminal.
#pragma once
#include "agent/secrets/redact.h"
#include "tools/questioner.h"

#include <memory>
#include <string>

namespace cli {

class Progress;

struct QuestionerOptions {
  bool color = false;
  Progress* progress = nullptr;  // as ApproverOptions'
  std::string who = {};          // the member of a run that asks; empty: the run itself
};

// Null where there is nobody to ask, as for approvals. `redactor` is borrowed.
std::unique_ptr<tools::Questioner> open_questioner(QuestionerOptions options,
                                                   const agent::Redactor& redactor);

}  // namespace cli

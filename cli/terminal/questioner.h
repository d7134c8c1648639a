// Puts the model's questions to the person at the terminal.
#pragma once
#include "agent/secrets/redact.h"
#include "tools/questioner.h"

#include <functional>
#include <memory>

namespace cli {

struct QuestionerOptions {
  bool color = false;
  std::function<void()> fall_silent;  // called before each question; may be empty
};

// Null where there is nobody to ask, as for approvals. `redactor` is borrowed.
std::unique_ptr<tools::Questioner> open_questioner(QuestionerOptions options,
                                                   const agent::Redactor& redactor);

}  // namespace cli

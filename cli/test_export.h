// A run as a test case: what was asked, the model's replies as a script, and what came of it.
#pragma once
#include "agent/event.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"

#include <span>
#include <string>

namespace cli {

// How the case names what it needs, from its own folder.
struct CasePaths {
  std::string agent;
  std::string script;
  std::string workspace;  // empty: the case works in its own folder
};

struct ExportedCase {
  std::string test;    // of the case file
  std::string script;  // of the script
};

// cli.usage where the run is none that a case can say: it has not ended or was carried on, calls
// were allowed by hand, options of the command line count that a case has no word for, a script
// cannot give all that was answered, or would not lead to the same end.
agent::Result<void> check_can_be_case(std::span<const agent::Event> events);

// Of a run that can be one. Secrets, and what the redactor takes for one, are taken out.
ExportedCase case_of_run(std::span<const agent::Event> events,
                         const CasePaths& paths,
                         const agent::Redactor& redactor);

}  // namespace cli

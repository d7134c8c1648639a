// By what a run is found and entered again: its folder, its agent's, its name. The journal has no
// secrets, and a text that one was taken out of names whatever is called so, which a tool can make.
#pragma once
#include "agent/error.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/store/owner.h"
#include "cli/parse.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

struct RunIdentity {
  std::string cwd;
  std::string agent_folder;
  std::string agent_file;
  std::string name;                // of the run, or of its batch; may be empty
  std::string what = "session's";  // whose name it is
};

// Why no such run can be kept: the journal would not have it as it is. cli.usage for its name,
// config.invalid for the rest; nullopt: it can.
std::optional<agent::Error> why_not_kept(const RunIdentity& run, const agent::Redactor& redactor);

// Of two processes that begin a run of one name in one folder, one does: cli.usage for the other,
// storage.io as of RunClaim. To be held until the run is in the journal.
agent::Result<agent::store::RunClaim> claim_name(const RunIdentity& run,
                                                 const std::filesystem::path& journal);

// cli.usage where a run or a batch (`what`) that begins cannot be called so: it is no text, or
// looks like the name of an input's run (NAME#1) or of a flow's member (FLOW/MEMBER).
agent::Result<void> check_name(const std::string& name, std::string_view what);

// config.invalid where the record has not all of what carrying the run on goes by, and the command
// line does not say it instead.
agent::Result<void> check_identity(const agent::RunStarted& begun,
                                   const std::string& run_id,
                                   bool is_own,
                                   const Parsed& parsed);

// Whether the record is not the agent: a secret was taken out of what the run goes by.
bool needs_agent_file(const agent::RunStarted& begun);

}  // namespace cli

#include "cli/run_choice.h"

#include "agent/resume_command.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/agents_above.h"
#include "cli/recorded_run.h"
#include "cli/run_identity.h"
#include "cli/user_folders.h"

namespace cli {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

Result<fs::path> journal_of(const Parsed& parsed, const Context& context) {
  if (const auto named = parsed.value("--store")) {
    return context.cwd / *named;
  }
  fs::path journal = default_journal(context.environment);
  if (journal.empty()) {
    return agent::fail(Code::cli_usage,
                       "there is no journal of yours: neither XDG_STATE_HOME nor HOME is set",
                       "name one with --store FILE");
  }
  return journal;
}

Result<std::string> folder_of(const Context& context) {
  if (context.cwd.empty()) {
    return agent::fail(Code::cli_usage,
                       "the working folder is gone, and with it what `this folder` means",
                       "change to one that is there; `errand runs list --all` has the runs of all "
                       "folders");
  }
  return context.cwd.string();
}

Result<std::string> chosen_run(const Parsed& parsed,
                               const Context& context,
                               const fs::path& journal) {
  const bool is_named = !parsed.positionals.empty() && !parsed.positionals.front().empty();
  if (is_named == parsed.has("--last")) {
    return agent::fail(Code::cli_usage,
                       is_named ? "RUN and --last name a run each" : "no run is named",
                       "RUN is an id, its beginning or a name; --last is this folder's last run");
  }
  if (!is_named) {
    TRY(folder_of(context));
  }
  return agent::store::find_run(
      journal, is_named ? parsed.positionals.front() : "", context.cwd.string());
}

std::string resuming(const Parsed& parsed, RecordedRuns& recorded, const std::string& run_id) {
  std::string command =
      agent::resume_words(run_id, parsed.has("--store") ? recorded.store().string() : "auto");
  const auto& run = recorded.of(run_id);
  if (!run) {
    return command;  // which says why it cannot be
  }
  if (!run->is_own) {
    return command + " --agent FILE";
  }
  const agent::RunStarted& begun = run->begun;
  const std::string file = agent_file_of(begun);
  if (file.contains(agent::k_redacted)) {
    return command + " --agent FILE";
  }
  const auto& finished = run->past.state.finished;
  const bool is_told = finished && finished->resume_cmd.contains(" --agent ");
  const bool is_known = !is_told && !needs_agent_file(begun) && knows_those_above(*run, recorded);
  return is_known ? command : command + " --agent " + agent::shell_word(file);
}

}  // namespace cli

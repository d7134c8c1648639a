#include "cli/run_choice.h"

#include "agent/store/runs.h"
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

Result<std::string> chosen_run(const Parsed& parsed,
                               const Context& context,
                               const fs::path& journal) {
  const bool is_named = !parsed.positionals.empty() && !parsed.positionals.front().empty();
  if (is_named == parsed.has("--last")) {
    return agent::fail(Code::cli_usage,
                       is_named ? "RUN and --last name a run each" : "no run is named",
                       "RUN is an id, its beginning or a name; --last is this folder's last run");
  }
  return agent::store::find_run(
      journal, is_named ? parsed.positionals.front() : "", context.cwd.string());
}

}  // namespace cli

#include "cli/old_runs.h"

#include "agent/store/keeping.h"
#include "cli/run_folder.h"
#include "cli/user_folders.h"

#include <chrono>

namespace cli {

agent::Result<void> remove_old_runs(const agent::AgentSpec& agent,
                                    const std::filesystem::path& journal,
                                    const std::filesystem::path& folder,
                                    const agent::Environment& environment) {
  const agent::SessionSpec& session = agent.session;
  if (!session.keep || journal.empty()) {
    return {};
  }
  std::error_code error;  // by whatever name: the user's journal has the runs of others, too
  const bool is_users = session.store == "auto" ||
                        std::filesystem::equivalent(journal, default_journal(environment), error);
  TRY_ASSIGN(const agent::store::Removal removal,
             agent::store::prune(journal,
                                 {.before = std::chrono::system_clock::now() - *session.keep,
                                  .agent = is_users ? agent.name : "",
                                  .folder = is_users ? folder.string() : ""},
                                 agent::store::Traces::leave));
  if (!removal.run_ids.empty()) {
    remove_kept(environment, removal.run_ids);
  }
  return {};
}

}  // namespace cli

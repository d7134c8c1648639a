#include "cli/old_runs.h"

#include "agent/store/keeping.h"

#include <chrono>

namespace cli {

agent::Result<void> remove_old_runs(const agent::AgentSpec& agent,
                                    const std::filesystem::path& journal,
                                    const std::filesystem::path& folder) {
  const agent::SessionSpec& session = agent.session;
  if (!session.keep || journal.empty()) {
    return {};
  }
  const bool is_own = session.store != "auto";
  TRY(agent::store::prune(journal,
                          {.before = std::chrono::system_clock::now() - *session.keep,
                           .agent = is_own ? "" : agent.name,
                           .folder = is_own ? "" : folder.string()},
                          agent::store::Traces::leave));
  return {};
}

}  // namespace cli

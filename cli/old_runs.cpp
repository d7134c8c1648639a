#include "cli/old_runs.h"

#include "agent/store/keeping.h"
#include "cli/run_folder.h"
#include "cli/user_folders.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <system_error>

namespace cli {

std::optional<agent::Error> remove_old_runs(const agent::AgentSpec& agent,
                                            const std::filesystem::path& journal,
                                            const std::filesystem::path& folder,
                                            const agent::Environment& environment,
                                            const std::string& ended) {
  const agent::SessionSpec& session = agent.session;
  if (!session.keep || journal.empty()) {
    return std::nullopt;
  }
  std::error_code error;  // by whatever name: the user's journal has the runs of others, too
  const bool is_users = session.store == "auto" ||
                        std::filesystem::equivalent(journal, default_journal(environment), error);
  const auto removal =
      agent::store::prune(journal,
                          {.before = std::chrono::system_clock::now() - *session.keep,
                           .agent = is_users ? agent.name : "",
                           .folder = is_users ? folder.string() : "",
                           .stays = ended},
                          agent::store::Traces::leave);
  if (!removal) {
    return removal.error();
  }
  if (!removal->run_ids.empty()) {
    remove_kept(environment, removal->run_ids, journal);
  }
  if (removal->parked.empty()) {
    return std::nullopt;
  }
  return agent::Error{
      .code = agent::Code::config_invalid,
      .message = fmt::format("`session.keep` has removed {} run{} whose calls waited for approval",
                             removal->parked.size(),
                             removal->parked.size() == 1 ? "" : "s"),
      .help = "a longer `session.keep`, or answers in time: `errand runs pending`"};
}

}  // namespace cli

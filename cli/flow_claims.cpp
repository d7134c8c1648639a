#include "cli/flow_claims.h"

#include "agent/error.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::store::RunClaim;

// Beside the claim of the flow itself: shared, or of a process that has such commands alone.
std::string of_members(const std::string& flow_id) {
  return flow_id + "/members";
}

std::unexpected<agent::Error> flow_is_at_work(const std::string& flow_id) {
  return agent::fail(
      agent::Code::cli_usage,
      fmt::format("the flow {}, of which this run is a part, or one in it is at work, and has "
                  "commands that are never at work beside its agents",
                  flow_id),
      "carry it on, or answer, when that has ended");
}

std::unexpected<agent::Error> other_is_at_work(std::string_view members) {
  return agent::fail(
      agent::Code::cli_usage,
      fmt::format("a run of the flow {} is carried on by itself, and the flow has commands that "
                  "are never at work beside its agents",
                  members.substr(0, members.find('/'))),
      "carry the flow on when that has ended");
}

}  // namespace

agent::Result<std::vector<RunClaim>> claim_beside_commands(const AgentsAbove& above) {
  std::vector<RunClaim> all;
  for (const RunAbove& run : above.runs) {
    if (!run.is_flow) {
      continue;
    }
    TRY_ASSIGN(std::optional<RunClaim> own, RunClaim::share(run.store, of_members(run.run_id)));
    if (!own) {
      return flow_is_at_work(run.run_id);
    }
    all.push_back(*std::move(own));
  }
  return all;
}

agent::Result<RunClaim> claim_commands(const fs::path& journal,
                                       const std::string& flow_id,
                                       std::vector<RunClaim>& above) {
  TRY_ASSIGN(std::optional<RunClaim> own, RunClaim::take(journal, of_members(flow_id)));
  if (!own) {
    return other_is_at_work(of_members(flow_id));
  }
  for (RunClaim& shared : above) {
    if (!shared.take_whole()) {
      return other_is_at_work(shared.run_id());
    }
  }
  return *std::move(own);
}

bool are_commands_claimed(const fs::path& journal, const std::string& flow_id) {
  return agent::store::RunClaims(journal).is_claimed_whole(of_members(flow_id));
}

}  // namespace cli

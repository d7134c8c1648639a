#include "cli/flow_claims.h"

#include "agent/error.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::store::RunClaim;
using agent::store::RunClaims;

// Beside the claims of the runs themselves.
std::string of_commands(const std::string& flow_id) {
  return flow_id + "/commands";
}
std::string of_runs_alone(const std::string& flow_id) {
  return flow_id + "/alone";
}

std::unexpected<agent::Error> flow_is_at_work(const std::string& flow_id) {
  return agent::fail(
      agent::Code::cli_usage,
      fmt::format("the flow {} is at work, and has commands that are never at work beside its "
                  "agents: this run is a part of it",
                  flow_id),
      "carry it on, or answer, when the flow has ended");
}

std::unexpected<agent::Error> run_is_alone(const std::string& flow_id) {
  return agent::fail(
      agent::Code::cli_usage,
      fmt::format("a run of the flow {} is carried on by itself, and the flow has commands that "
                  "are never at work beside its agents",
                  flow_id),
      "carry the flow on when that has ended");
}

}  // namespace

// Each has its own before it looks for the other's: of two that begin, one at least sees that.
agent::Result<RunClaim> claim_commands(const fs::path& journal, const std::string& flow_id) {
  TRY_ASSIGN(std::optional<RunClaim> own, RunClaim::take(journal, of_commands(flow_id)));
  if (!own) {
    return flow_is_at_work(flow_id);
  }
  if (RunClaims(journal).is_claimed(of_runs_alone(flow_id))) {
    return run_is_alone(flow_id);
  }
  return *std::move(own);
}

agent::Result<std::vector<RunClaim>> claim_beside_commands(const AgentsAbove& above) {
  std::vector<RunClaim> all;
  for (const RunAbove& run : above.runs) {
    if (!run.is_flow) {
      continue;
    }
    TRY_ASSIGN(std::optional<RunClaim> own, RunClaim::share(run.store, of_runs_alone(run.run_id)));
    if (!own || are_commands_claimed(run.store, run.run_id)) {
      return flow_is_at_work(run.run_id);
    }
    all.push_back(*std::move(own));
  }
  return all;
}

bool are_commands_claimed(const fs::path& journal, const std::string& flow_id) {
  return RunClaims(journal).is_claimed(of_commands(flow_id));
}

}  // namespace cli

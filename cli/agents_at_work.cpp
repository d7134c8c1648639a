#include "cli/agents_at_work.h"

#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/run_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace cli {
namespace {

template <typename AnyPlan>
std::vector<AnyPlan*> all_of(AnyPlan& whole) {
  std::vector<AnyPlan*> all{&whole};
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (AnyPlan& member : all[at]->members) {
      if (!member.agent.file.empty()) {
        all.push_back(&member);
      }
    }
  }
  return all;
}

}  // namespace

std::vector<const Plan*> plans_at_work(const Plan& whole) {
  return all_of(whole);
}

std::vector<Plan*> plans_at_work(Plan& whole) {
  return all_of(whole);
}

OtherAgents agents_at_work(const Plan& whole) {
  OtherAgents agents;
  std::ranges::transform(plans_at_work(whole), std::back_inserter(agents), [](const Plan* one) {
    return &one->agent;
  });
  return agents;
}

std::vector<std::filesystem::path> files_of(const OtherAgents& agents) {
  std::vector<std::filesystem::path> files;
  for (const agent::AgentSpec* one : agents) {
    std::error_code error;
    files.push_back(std::filesystem::weakly_canonical(one->directory, error) /
                    std::filesystem::path(one->file).filename());
  }
  return files;
}

namespace {

struct Worker {
  agent::AgentSpec agent;
  std::filesystem::path cwd;
};

// Nullopt: the record is a stranger's word, or has a gap.
std::optional<Worker> recorded_worker(const RecordedRun& run,
                                      const agent::Environment& environment) {
  const auto options = recorded_options(run);
  if (!run.is_own || needs_agent_file(run.begun) || !options) {
    return std::nullopt;
  }
  auto report = recorded_agent(run.begun, environment, known_names());
  if (!report.agent) {
    return std::nullopt;
  }
  apply_sandbox_option(report.agent->sandbox, *options);
  return Worker{.agent = *std::move(report.agent), .cwd = run.begun.cwd};
}

std::vector<std::string> runs_beside(const RecordedRun& run) {
  std::vector<std::string> runs{run.parent};
  for (const auto& [key, member] : run.past.state.members) {
    runs.push_back(member.run_id);
  }
  for (const auto& [key, sub_agent] : run.past.state.sub_agents) {
    runs.push_back(sub_agent.record.run_id);
  }
  return runs;
}

// Nullopt: one of them is not known. What has no record has done nothing.
std::optional<std::vector<Worker>> recorded_workers(const RecordedRun& run,
                                                    const agent::Environment& environment) {
  std::vector<Worker> workers;
  std::vector<std::string> left;
  std::set<std::string> seen{"", run.run_id};  // a command has none, and a record may lie
  const auto add = [&](const RecordedRun& one) {
    auto worker = recorded_worker(one, environment);
    if (!worker) {
      return false;
    }
    workers.push_back(*std::move(worker));
    std::ranges::move(runs_beside(one), std::back_inserter(left));
    return true;
  };
  bool are_known = add(run);
  while (are_known && !left.empty()) {
    const std::string run_id = std::move(left.back());
    left.pop_back();
    if (seen.insert(run_id).second) {
      const auto one = recall(run.store, run_id, environment);
      are_known = one ? add(*one) : one.error().code == agent::Code::storage_not_found;
    }
  }
  return are_known ? std::optional(std::move(workers)) : std::nullopt;
}

}  // namespace

IsWritten written_by_recorded(const RecordedRun& run, const Context& context) {
  using Workers = std::optional<std::vector<Worker>>;
  // Only once a folder is asked about: there may be thousands of records.
  return [&run, &context, workers = std::optional<Workers>()](
             const std::filesystem::path& folder) mutable {
    if (!workers) {
      workers.emplace(recorded_workers(run, context.environment));
    }
    const auto writes = [&](const Worker& one) {
      Context there = context;
      there.cwd = one.cwd;
      const OtherAgents others;
      return written_by(one.agent, others, there)(folder);
    };
    return !*workers || std::ranges::any_of(**workers, writes);
  };
}

agent::Result<void> check_members(const Plan& whole, const Context& context) {
  const OtherAgents all = agents_at_work(whole);
  std::set<std::pair<std::string, std::string>> seen;  // by file and name
  for (const agent::AgentSpec* one : all) {
    if (one == &whole.agent || !seen.emplace(one->file, one->name).second) {
      continue;
    }
    if (auto done = check_unconfined(*one, context, all); !done) {
      return agent::fail(
          std::move(done).error().while_(fmt::format("looking at the agent `{}`", one->name)));
    }
  }
  return {};
}

OtherAgents agents_at_work(const FlowTree& whole) {
  std::vector<const FlowTree*> all{&whole};
  OtherAgents agents;
  for (std::size_t at = 0; at < all.size(); ++at) {
    agents.push_back(&all[at]->spec);
    for (const auto& member : all[at]->members) {
      if (member) {
        all.push_back(member.get());
      }
    }
  }
  return agents;
}

}  // namespace cli

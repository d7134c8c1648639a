#include "cli/agents_at_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

#include "cli/agents_above.h"

#include "agent/error.h"
#include "agent/state.h"
#include "agent/text.h"
#include "cli/known_names.h"
#include "cli/plan.h"
#include "cli/run_identity.h"
#include "cli/user_folders.h"
#include "tools/guardrails/guardrails.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace cli {
namespace {

using agent::Result;

constexpr std::size_t k_most_above = 1'000;  // runs below each other: a record may lie
constexpr const char* k_how =
    "`errand resume RUN --agent FILE` carries it on by an agent of your "
    "choice, with the rights of that";

std::unexpected<agent::Error> unknown(const RecordedRun& run, std::string why) {
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("the run {} worked for the run {}, whose rights are not known: {}",
                                 recorded_id(run),
                                 run.parent,
                                 why),
                     k_how);
}

// An agent or a flow that a run worked for.
struct Above {
  agent::AgentSpec agent;
  bool is_flow = false;
  bool handed_over = false;  // its conversation, to the run below
  RunAbove run;
};

// It, or the run that it is a fork of.
bool is_same_run(const RecordedRun& run, const std::string& id) {
  const auto& ancestors = run.past.state.ancestors;
  return !id.empty() && (id == recorded_id(run) || id == run.run_id ||
                         std::ranges::find(ancestors, id) != ancestors.end());
}

bool handed_over(const RecordedRun& above, const RecordedRun& run) {
  const agent::State& state = above.past.state;
  const auto* member = agent::member_of_call(state, state.handed_over);
  return !state.handed_over.empty() && member != nullptr && is_same_run(run, member->run_id);
}

std::vector<const agent::MemberRecord*> members_of(const agent::State& state) {
  std::vector<const agent::MemberRecord*> members;
  for (const auto& [key, member] : state.members) {
    members.push_back(&member);
  }
  for (const auto& [key, sub_agent] : state.sub_agents) {
    members.push_back(&sub_agent.record);
  }
  return members;
}

// Of a flow that ended otherwise than well: what has failed in it goes on with it.
bool begins_again(const RecordedRun& above, const agent::MemberRecord& member) {
  const auto& finished = above.past.state.finished;
  return above.begun.plan.is_flow && member.finished->result.exit_code != 0 &&
         (!finished || finished->exit_code != 0);
}

// Whether it has this run to carry on yet, as it is.
bool waits_for(const RecordedRun& above, const RecordedRun& run) {
  const auto& finished = above.past.state.finished;
  if (finished && (!agent::can_be_carried_on(above.past.state, finished->exit_code) ||
                   (!above.begun.plan.is_flow && needs_message(above)))) {
    return false;
  }
  return !run.forked_from && std::ranges::any_of(members_of(above.past.state), [&](auto* member) {
    return member->run_id == run.run_id &&
           (!member->finished || member->finished->suspended || begins_again(above, *member));
  });
}

void add(Spending& all, const Spending& more) {
  all.tokens += more.tokens;
  all.cost = agent::sum_of(all.cost, more.cost);
}

void add(std::vector<agent::ModelUse>& all, const std::vector<agent::ModelUse>& more) {
  for (const agent::ModelUse& use : more) {
    if (use != agent::ModelUse{.model = use.model}) {
      agent::use_of_model(all, use.model) += use;
    }
  }
}

RunAbove run_above(const RecordedRun& above,
                   const RecordedRun& run,
                   const agent::Environment& environment) {
  RunAbove all{.run_id = above.run_id,
               .name = above.begun.agent_name,
               .store = above.store,
               .limits = above.begun.plan.limits,
               .worked = worked_until_now(above, environment)};
  std::tie(all.spent, all.heard) = spent_by_records(above, environment);
  all.is_over = !waits_for(above, run);
  all.is_flow = above.begun.plan.is_flow;
  all.resume = resume_of(above, environment);
  return all;
}

Result<void> raise_limits(agent::Limits& limits, const Parsed& parsed) {
  agent::Limits said = limits;
  TRY(apply_limits(parsed, said));
  limits.max_cost_usd = limits.max_cost_usd ? said.max_cost_usd : std::nullopt;
  limits.timeout = limits.timeout ? said.timeout : std::nullopt;
  return {};
}

// A fork is no member of anybody: what it has used is on top.
void add_fork(const RecordedRun& run, const agent::Environment& environment, RunAbove& above) {
  const bool is_fork = !run.past.state.ancestors.empty();
  if (run.forked_from || !is_fork) {
    return;
  }
  const auto [spent, heard] = spent_by_records(run, environment);
  add(above.spent, spent);
  above.heard.insert(heard.begin(), heard.end());
  above.worked += worked_until_now(run, environment);
}

// Nothing: it is a flow.
Result<std::optional<agent::AgentSpec>> recorded_above(const RecordedRun& run,
                                                       const RecordedRun& parent,
                                                       const agent::Environment& environment) {
  if (!parent.is_own || needs_agent_file(parent.begun)) {
    return unknown(run, "its record is not whole, or not yours");
  }
  if (parent.begun.plan.is_flow) {
    return std::nullopt;
  }
  auto report = recorded_agent(parent.begun, environment, known_names());
  if (!report.agent) {
    return unknown(run, report.errors.front().message);
  }
  return std::move(report.agent);
}

Result<Above> agent_above(const RecordedRun& run,
                          const RecordedRun& parent,
                          const agent::Environment& environment) {
  TRY_ASSIGN(auto agent, recorded_above(run, parent, environment));
  Above above{.run = run_above(parent, run, environment)};
  if (!agent) {
    above.is_flow = true;
    return above;
  }
  above.agent = *std::move(agent);
  above.handed_over = handed_over(parent, run);
  TRY_ASSIGN(above.run.kill_file, tools::kill_file(above.agent, environment));
  return above;
}

}  // namespace

agent::ResumeCommand resume_of(const RecordedRun& run, const agent::Environment& environment) {
  const std::filesystem::path file = agent_file_of(run.begun);
  const bool is_users = run.store == default_journal(environment);
  return {.words = agent::resume_words(run.run_id, is_users ? "auto" : run.store.string()),
          .agent_file = is_written_out(file) ? "" : file.string()};
}

bool knows_those_above(const RecordedRun& run, RecordedRuns& recorded) {
  const RecordedRun* below = &run;
  for (std::size_t depth = 0; !below->parent.empty(); ++depth) {
    const auto& parent = recorded.of(below->parent);
    if (!parent || depth == k_most_above ||
        !recorded_above(*below, *parent, recorded.environment())) {
      return false;
    }
    below = &*parent;
  }
  return true;
}

const RecordedRun* whole_of(const RecordedRun& run, RecordedRuns& recorded) {
  const RecordedRun* whole = nullptr;
  const RecordedRun* below = &run;
  for (std::size_t depth = 0; !below->parent.empty() && depth < k_most_above; ++depth) {
    const auto& parent = recorded.of(below->parent);
    if (!parent || !waits_for(*parent, *below)) {
      break;
    }
    below = whole = &*parent;
  }
  return whole;
}

bool is_left(const RecordedRun& run, RecordedRuns& recorded) {
  const RecordedRun* below = &run;
  for (std::size_t depth = 0; depth < k_most_above; ++depth) {
    const bool is_fork = !below->past.state.ancestors.empty();  // which nobody works for
    if (below->parent.empty() || is_fork) {
      return false;
    }
    const auto& parent = recorded.of(below->parent);
    if (!parent || !waits_for(*parent, *below)) {
      return parent.has_value();
    }
    below = &*parent;
  }
  return false;
}

bool waits_for_a_person(const RecordedRun& run, const agent::Environment& environment) {
  const auto pending = run.past.state.approvals.pending();
  if (!pending.empty()) {
    const auto& allowed = run.past.state.plan.approval_deadline;
    const auto is_late = [&](const agent::ParkedCall* call) {
      return agent::is_overdue(*call, *allowed, std::chrono::system_clock::now());
    };
    return !allowed || std::ranges::none_of(pending, is_late);
  }
  return std::ranges::any_of(members_of(run.past.state), [&](const agent::MemberRecord* member) {
    const bool has_stopped_it = member->finished && member->finished->suspended &&
                                agent::is_parked(member->finished->result);
    const auto own = has_stopped_it ? recall(run.store, member->run_id, environment)
                                    : agent::Result<RecordedRun>(std::unexpected(agent::Error{}));
    return own && !answer_of(*own) && waits_for_a_person(*own, environment);
  });
}

bool has_gone_on_below(const RecordedRun& flow, const agent::Environment& environment) {
  return std::ranges::any_of(members_of(flow.past.state), [&](const agent::MemberRecord* member) {
    const auto& heard = member->finished;
    if (member->run_id.empty() || !heard || heard->taken_from || heard->result.exit_code == 0) {
      return false;
    }
    const auto own = recall(flow.store, member->run_id, environment);
    const auto now = own ? own->past.state.finished : std::nullopt;
    return now && (now->exit_code != heard->result.exit_code ||
                   (own->begun.plan.is_flow && has_gone_on_below(*own, environment)));
  });
}

Unheard unheard_of_members(const RecordedRun& run, const agent::Environment& environment) {
  const ProcessTime& last = run.processes.back();
  const bool is_cut_off = !run.past.state.finished;  // then members were at work behind its end
  Unheard all{.end = last.end};
  for (const agent::MemberRecord* member : members_of(run.past.state)) {
    if (member->run_id.empty() || (member->finished && member->finished->taken_from)) {
      continue;
    }
    const auto own = recall(run.store, member->run_id, environment);
    if (!own) {
      continue;  // what nobody has a record of, nobody can count
    }
    const Unheard below = unheard_of_members(*own, environment);
    all.heard.emplace(member->run_id, own->past.seq);
    all.heard.insert(below.heard.begin(), below.heard.end());
    std::vector<agent::ModelUse> now = own->past.state.models;
    add(now, below.uses);  // first: what is heard may have these, and the record of it not
    const auto heard =
        member->finished ? member->finished->result.models : std::vector<agent::ModelUse>();
    add(now, agent::lost_uses(heard, now));
    add(all.uses, agent::uses_since(heard, std::move(now)));
    const std::int64_t turns = own->past.state.turns + (own->begun.plan.is_flow ? below.turns : 0);
    const std::int64_t heard_turns = member->finished ? member->finished->result.turns : 0;
    all.turns += std::max<std::int64_t>(turns - heard_turns, 0);  // as of uses: some may be lost
    bool is_by_itself = !is_cut_off || member->finished;
    for (const ProcessTime& process : own->processes) {
      const bool is_last = &process == &own->processes.back();
      if (process.begin < (is_by_itself ? last.end : last.begin)) {
        continue;  // an earlier process of the whole has counted it
      }
      if (is_by_itself) {
        all.by_itself += process.worked + (is_last ? below.worked(*own) : agent::Milliseconds{0});
      } else {
        all.end = std::max(all.end, is_last ? below.end : process.end);
        all.by_itself += is_last ? below.by_itself : agent::Milliseconds{0};
      }
      is_by_itself = true;
    }
  }
  return all;
}

Spending Unheard::spent() const {
  Spending spent;
  for (const agent::ModelUse& use : uses) {
    add(spent, {.tokens = use.usage.total(), .cost = use.cost});
  }
  return spent;
}

agent::Milliseconds Unheard::worked(const RecordedRun& run) const {
  return std::chrono::floor<agent::Milliseconds>(end - run.processes.back().end) + by_itself;
}

std::pair<Spending, LastEvents> spent_by_records(const RecordedRun& run,
                                                 const agent::Environment& environment) {
  Unheard unheard = unheard_of_members(run, environment);
  Spending spent = unheard.spent();
  add(spent, {.tokens = run.past.state.usage.total(), .cost = run.past.state.cost});
  unheard.heard.emplace(run.run_id, run.past.seq);
  return {spent, std::move(unheard.heard)};
}

agent::Milliseconds worked_until_now(const RecordedRun& run,
                                     const agent::Environment& environment) {
  return run.forked_from ? agent::Milliseconds{0}
                         : agent::Milliseconds{run.worked_ms} +
                               unheard_of_members(run, environment).worked(run);
}

Result<AgentsAbove> agents_above(const RecordedRun& run,
                                 const Parsed& parsed,
                                 const agent::Environment& environment) {
  std::vector<Above> all;
  RecordedRun below = run;
  while (!below.parent.empty()) {
    auto parent = recall(below.store, below.parent, environment);
    if (!parent) {
      return unknown(below, std::move(parent).error().message);
    }
    TRY_ASSIGN(all.emplace_back(), agent_above(below, *parent, environment));
    add_fork(run, environment, all.back().run);
    if (all.size() > k_most_above) {
      return unknown(below, "there are too many above each other");
    }
    below = *std::move(parent);
  }
  AgentsAbove above;
  bool has_it_by_hand_over = true;
  bool is_over = false;
  for (std::size_t at = 0; at < all.size(); ++at) {
    has_it_by_hand_over = has_it_by_hand_over && all[at].handed_over;
    if (has_it_by_hand_over) {
      above.givers.push_back(all[at].agent);
    }
    is_over = is_over || all[at].run.is_over;
    if (is_over) {
      all[at].run.is_over = true;
      all[at].run.resume = resume_of(run, environment);
      TRY(raise_limits(all[at].run.limits, parsed));
    }
    above.runs.push_back(std::move(all[at].run));
    // To whom it was handed on counts what the first one may that had it.
    const bool is_between = all[at].handed_over && at + 1 < all.size() && all[at + 1].handed_over;
    if (!all[at].is_flow && !is_between) {
      above.agents.push_back(std::move(all[at].agent));
    }
  }
  return above;
}

}  // namespace cli

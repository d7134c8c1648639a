#include "cli/recorded_member.h"

#include "agent/outcome.h"
#include "agent/result.h"
#include "cli/agents_above.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace cli {

using agent::MemberFinished;
using agent::RunResult;

RecordedMember::RecordedMember(agent::MemberRecord known,
                               const std::filesystem::path& journal,
                               const agent::Environment& environment)
    : known_(std::move(known)),
      environment_(environment),
      own_(recall(journal, known_.run_id, environment)) {}

std::optional<RunResult> RecordedMember::ending() const {
  return own_ ? own_->past.state.finished : std::nullopt;
}

std::optional<RunResult> RecordedMember::answer() const {
  return own_ ? answer_of(*own_) : std::nullopt;
}

bool RecordedMember::waits_alone() const {
  const auto finished = ending();
  return finished && agent::is_parked(*finished) && !own_->begun.plan.is_flow &&
         own_->past.state.sub_agents.empty() && waits_for_a_person(*own_, environment_);
}

RunResult RecordedMember::recorded_bill() const {
  RunResult bill = agent::make_result(own_->past.state, {});
  const Unheard unheard = unheard_of_members(*own_, environment_);
  agent::add_uses(bill, unheard.uses);
  bill.turns += own_->begun.plan.is_flow ? unheard.turns : 0;
  return bill;
}

RunResult RecordedMember::whole_bill(const std::optional<Lost>& before) const {
  RunResult bill = recorded_bill();
  add_lost(bill, before ? *before : lost_of(bill));
  return bill;
}

Lost RecordedMember::lost_of(const RunResult& recorded) const {
  if (!known_.finished || known_.finished->taken_from) {
    return {};
  }
  const RunResult& heard = known_.finished->result;
  const auto more = [](std::int64_t all, std::int64_t part) {
    return std::max<std::int64_t>(all - part, 0);
  };
  return {.uses = agent::lost_uses(heard.models, recorded.models),
          .turns = more(heard.turns, recorded.turns),
          .tool_calls = more(heard.tool_calls, recorded.tool_calls),
          .denials = more(heard.denials, recorded.denials)};
}

Lost RecordedMember::lost() const {
  const bool may_be_lost = known_.finished && !known_.finished->taken_from;
  return may_be_lost ? lost_of(own_ ? recorded_bill() : RunResult()) : Lost();
}

std::optional<MemberFinished> RecordedMember::heard_anew() const {
  if (!own_ || !known_.finished || known_.finished->taken_from) {
    return std::nullopt;
  }
  const RunResult now = whole_bill(std::nullopt);
  MemberFinished heard = *known_.finished;
  if (now.models == heard.result.models && now.turns == heard.result.turns) {
    return std::nullopt;
  }
  take_bill(heard.result, now);
  return heard;
}

std::optional<RunResult> RecordedMember::left_off(const agent::Ending& why,
                                                  const std::optional<Lost>& before) const {
  if (!own_ && !known_.finished) {
    return std::nullopt;
  }
  RunResult result = agent::make_result(own_ ? own_->past.state : agent::State({}), why);
  if (own_) {
    take_bill(result, whole_bill(before));
    // What nobody has looked at who looks at answers is nobody's to read.
    const auto& finished = own_->past.state.finished;
    result.text = finished ? finished->text : std::string();
    result.partial = !result.text.empty();
  } else {
    RunResult heard = known_.finished->result;
    heard.exit_code = result.exit_code;
    heard.error = std::move(result.error);
    result = std::move(heard);
  }
  result.run_id = known_.run_id;
  return result;
}

void add_lost(RunResult& bill, const Lost& lost) {
  agent::add_uses(bill, lost.uses);
  bill.turns += lost.turns;
  bill.tool_calls += lost.tool_calls;
  bill.denials += lost.denials;
}

void take_bill(RunResult& result, const RunResult& bill) {
  result.usage = bill.usage;
  result.cost = bill.cost;
  result.models = bill.models;
  result.usage_estimated = bill.usage_estimated;
  result.turns = bill.turns;
  result.tool_calls = bill.tool_calls;
  result.denials = bill.denials;
}

SubAgentsSince sub_agents_since(const RecordedRun& run,
                                bool has_news,
                                const agent::Environment& environment) {
  SubAgentsSince since;
  if (run.forked_from) {
    return since;  // they work for the other run
  }
  for (const auto& [key, sub_agent] : run.past.state.sub_agents) {
    const auto& [run_id, finished] = sub_agent.record;
    if (run_id.empty()) {
      continue;
    }
    const RecordedMember member(sub_agent.record, run.store, environment);
    if (finished) {
      auto anew = member.heard_anew();
      if (const auto answer = member.answer(); answer && anew) {
        const RunResult bill = std::exchange(anew->result, *answer);
        take_bill(anew->result, bill);
      }
      if (anew || (finished->suspended && has_news)) {
        auto& left_off = since.left_off.emplace_back(anew ? *std::move(anew) : *finished);
        left_off.suspended = finished->suspended && !has_news;
      }
      if (finished->suspended && key.second != run.past.state.handed_over && member.answer()) {
        since.answered.insert(key.second);
      }
      continue;
    }
    auto result = member.left_off(
        {.error =
             agent::Error{.code = agent::Code::tool_interrupted,
                          .message = fmt::format("the process ended while it was at work{}",
                                                 has_news ? ", and a new message came then" : ""),
                          .help = {}}});
    if (result) {
      result->exit_code = 128 + SIGTERM;  // nobody knows by what
      since.left_off.push_back({.member = sub_agent.member,
                                .step = sub_agent.member.substr(0, sub_agent.member.find('[')),
                                .item = sub_agent.number,
                                .result = *std::move(result),
                                .call_id = key.second,
                                .suspended = !has_news});
    }
  }
  return since;
}

}  // namespace cli

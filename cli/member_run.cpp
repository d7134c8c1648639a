#include "cli/member_run.h"

#include "agent/outcome.h"
#include "cli/agents_above.h"
#include "cli/early_end.h"
#include "cli/flow_run.h"
#include "cli/open_sandbox.h"
#include "cli/recorded_run.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Result;

// Whether there was something to be kept of it.
bool has_come_to_something(const agent::RunResult& result) {
  return !result.run_id.empty() &&
         (result.turns > 0 || !result.members.empty() || result.cost != agent::Money());
}

// Of a run that was begun, its record.
Result<RunSource> source_of(const MemberRun& member, const Plan& plan, const Context& context) {
  RunSource source{.agent = {.file = plan.agent.file}, .session = member.session};
  if (!member.is_recorded || member.journal.empty()) {
    return source;
  }
  auto earlier = recall(member.journal, member.run_id, context.environment);
  if (!earlier && earlier.error().code == Code::storage_not_found) {
    if (member.heard && has_come_to_something(member.heard->result)) {
      return agent::fail(Code::cli_usage,
                         fmt::format("the record of the run {} is gone, and with it what was done "
                                     "and said in it",
                                     member.run_id),
                         member.anew);
    }
    return source;  // it was told of, and then nothing was kept of it
  }
  if (!earlier) {
    return agent::fail(std::move(earlier).error());
  }
  TRY(check_is_own(*earlier, member.anew));
  const auto& finished = earlier->past.state.finished;
  source.says_own_prompt = !plan.is_flow() && finished && agent::needs_message(finished->exit_code);
  source.earlier = *std::move(earlier);
  return source;
}

// How it has ended for good; nullopt: there is something left to do of it. The whole may have been
// cut off before it heard of that.
std::optional<agent::RunResult> answer_of(const agent::State& state) {
  const bool is_over =
      state.finished && (state.finished->exit_code == 0 ||
                         !agent::can_be_carried_on(state, state.finished->exit_code));
  return is_over ? state.finished : std::nullopt;
}

// The limits that it was given by itself stay: the command line of the whole has none for it.
Result<void> take_over_limits(const RecordedRun& record, Parsed& parsed) {
  TRY_ASSIGN(const Parsed own, recorded_options(record));
  for (const char* const name : {"--max-turns", "--max-cost", "--timeout"}) {
    if (const auto value = own.value(name)) {
      parsed.values[name] = {*value};
    }
  }
  return {};
}

// What the model reads, or what the steps of a flow know of it.
Result<void> tell(const OutsideInput& said,
                  const RunSource& source,
                  const RunWorld& world,
                  Plan& plan) {
  plan.reads_stdin = true;  // it is not the members' to look at
  if (plan.is_flow()) {
    TRY_ASSIGN(plan.parameters, config::bound_parameters(plan.agent, said.parameters));
  }
  if (plan.is_flow() && !said.prompt && plan.agent.prompt.empty()) {
    return {};
  }
  TRY_ASSIGN(
      plan.text,
      texts_of(
          said, {}, plan, reading_policy(plan.agent, plan.settings, world.parsed, world.context)));
  if (source.earlier) {
    plan.opening.clear();  // it was said
  }
  if (source.earlier && !source.says_own_prompt) {
    plan.text.prompt.clear();  // so was this
    plan.text.attachments.clear();
  }
  return {};
}

Result<agent::RunResult> begin_or_carry_on(RunWorld world,
                                           const MemberRun& member,
                                           Plan plan,
                                           const OutsideInput& said) {
  TRY_ASSIGN(RunSource source, source_of(member, plan, world.context));
  if (auto answer = source.earlier ? answer_of(source.earlier->past.state) : std::nullopt) {
    return *std::move(answer);
  }
  TRY(tell(said, source, world, plan));
  world.parsed = command_line_of(said, {}, world.parsed);
  if (source.earlier) {
    TRY(take_over_limits(*source.earlier, world.parsed));
    TRY(apply_limits(world.parsed, plan.agent.limits));
  }
  if (plan.is_flow()) {
    TRY_ASSIGN(const auto flow,
               FlowRun::open(std::move(world), member.run_id, std::move(source), std::move(plan)));
    return flow->run();
  }
  const auto began = std::chrono::steady_clock::now();
  const agent::Cancellation& cancellation = world.cancellation;
  const auto timeout = plan.agent.limits.timeout;
  const bool is_recorded = source.earlier.has_value();
  auto session =
      RunSession::open(std::move(world), member.run_id, std::move(source), std::move(plan));
  if (session) {
    return (*session)->run();
  }
  auto result = result_before_run(std::move(session).error(), cancellation, timeout, began);
  if (is_recorded) {
    return agent::fail(*std::move(result.error));
  }
  return result;
}

}  // namespace

Result<agent::RunResult> left_off(const MemberRun& member,
                                  const Context& context,
                                  agent::Error why) {
  if (!member.is_recorded || member.journal.empty()) {
    return agent::fail(std::move(why));
  }
  const auto recorded = recall(member.journal, member.run_id, context.environment);
  if (!recorded && !member.heard) {
    return agent::fail(std::move(why));
  }
  agent::RunResult result = agent::make_result(recorded ? recorded->past.state : agent::State({}),
                                               {.error = std::move(why)});
  if (!recorded) {
    agent::RunResult heard = member.heard->result;
    heard.exit_code = result.exit_code;
    heard.error = std::move(result.error);
    result = std::move(heard);
  }
  if (recorded) {
    agent::add_uses(result, unheard_of_members(*recorded, context.environment).uses);
  }
  result.run_id = member.run_id;
  return result;
}

std::optional<agent::RunResult> answer_of(const std::string& run_id,
                                          const std::filesystem::path& journal,
                                          const Context& context) {
  const auto recorded = recall(journal, run_id, context.environment);
  return recorded ? answer_of(recorded->past.state) : std::nullopt;
}

std::optional<agent::MemberFinished> heard_anew(agent::MemberFinished heard,
                                                const std::string& run_id,
                                                const std::filesystem::path& journal,
                                                const Context& context) {
  if (run_id.empty() || heard.taken_from) {
    return std::nullopt;
  }
  const auto recorded = recall(journal, run_id, context.environment);
  if (!recorded) {
    return std::nullopt;
  }
  agent::RunResult now = agent::make_result(recorded->past.state, {});
  const Unheard unheard = unheard_of_members(*recorded, context.environment);
  agent::add_uses(now, unheard.uses);
  now.turns += recorded->begun.plan.is_flow ? unheard.turns : 0;
  agent::RunResult& result = heard.result;
  if (now.models == result.models && now.turns == result.turns) {
    return std::nullopt;
  }
  take_bill(result, now);
  return heard;
}

void take_bill(agent::RunResult& result, const agent::RunResult& bill) {
  result.usage = bill.usage;
  result.cost = bill.cost;
  result.models = bill.models;
  result.usage_estimated = bill.usage_estimated;
  result.turns = bill.turns;
  result.tool_calls = bill.tool_calls;
  result.denials = bill.denials;
}

Result<agent::RunResult> run_member(RunWorld world,
                                    const MemberRun& member,
                                    Plan plan,
                                    const OutsideInput& said) {
  const Context& context = world.context;
  auto result = begin_or_carry_on(std::move(world), member, std::move(plan), said);
  return result ? std::move(result) : left_off(member, context, std::move(result).error());
}

}  // namespace cli

#include "cli/member_run.h"

#include "agent/outcome.h"
#include "cli/early_end.h"
#include "cli/flow_run.h"
#include "cli/open_sandbox.h"
#include "cli/recorded_member.h"
#include "cli/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;

// Whether there was something to be kept of it.
bool has_come_to_something(const agent::RunResult& result) {
  const bool had_members = std::ranges::any_of(
      result.members, [](const agent::MemberResult& one) { return one.exit_code.has_value(); });
  return !result.run_id.empty() &&
         (result.turns > 0 || had_members || result.cost != agent::Money());
}

// Of a run that was begun, its record.
Result<RunSource> source_of(const MemberRun& member, const Plan& plan, const Context& context) {
  RunSource source{.agent = {.file = plan.agent.file}, .session = member.session};
  if (!member.recorded || member.journal.empty()) {
    return source;
  }
  auto earlier = recall(member.journal, member.run_id, context.environment);
  if (!earlier && earlier.error().code == Code::storage_not_found) {
    const auto& heard = member.recorded->finished;
    if (heard && has_come_to_something(heard->result)) {
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
  source.says_own_prompt = !plan.is_flow() && member.tries_again && finished &&
                           agent::needs_message(finished->exit_code);
  source.earlier = *std::move(earlier);
  return source;
}

bool is_failed_try(const RecordedRun& run, const agent::RunResult& answer) {
  return answer.exit_code != 0 && agent::can_be_carried_on(run.past.state, answer.exit_code);
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

// As the run knows it that has begun it.
bool is_not_over(const agent::MemberRecord& recorded) {
  return !recorded.finished || recorded.finished->suspended;
}

// A limit of its own is told, and so is what nothing carries on.
bool may_be_put_off(const Error& error) {
  return agent::row(error.code).domain != agent::Domain::limit &&
         agent::is_resumable(agent::exit_code(error));
}

Result<agent::RunResult> begin_or_carry_on(RunWorld world,
                                           const MemberRun& member,
                                           Plan plan,
                                           const OutsideInput& said) {
  TRY_ASSIGN(RunSource source, source_of(member, plan, world.context));
  if (auto answer = source.earlier ? answer_of(*source.earlier) : std::nullopt;
      answer && !(member.tries_again && is_failed_try(*source.earlier, *answer))) {
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

Result<agent::RunResult> run_member(RunWorld world,
                                    const MemberRun& member,
                                    Plan plan,
                                    const OutsideInput& said) {
  const Context& context = world.context;
  if (!member.recorded || member.journal.empty()) {
    return begin_or_carry_on(std::move(world), member, std::move(plan), said);
  }
  const Lost lost = RecordedMember(*member.recorded, member.journal, context.environment).lost();
  auto result = begin_or_carry_on(std::move(world), member, std::move(plan), said);
  if (result) {
    add_lost(*result, lost);
  }
  if (result && !result->error) {
    return result;
  }
  const RecordedMember since(*member.recorded, member.journal, context.environment);
  if (result) {
    Error& error = *result->error;  // a member of its own may have been put off
    error.is_put_off = error.is_put_off || (since.has_waiting_calls() && may_be_put_off(error));
    return result;
  }
  Error error = std::move(result).error();
  error.is_put_off = is_not_over(*member.recorded) && may_be_put_off(error);
  auto left_off = since.left_off({.error = error}, lost);
  return left_off ? agent::Result<agent::RunResult>(*std::move(left_off))
                  : agent::fail(std::move(error));
}

}  // namespace cli

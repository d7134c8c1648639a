#include "cli/sub_agents.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/step.h"
#include "cli/agent_as_tool.h"
#include "cli/handoffs.h"
#include "cli/limits_above.h"
#include "cli/member_run.h"
#include "cli/resources.h"
#include "cli/terminal/event_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iterator>
#include <memory>
#include <ranges>
#include <utility>
#include <variant>

namespace cli {
namespace {

using agent::Code;
using agent::Ending;
using agent::Error;
using agent::Json;
using agent::RunResult;
using tools::CallContext;

RunResult bare_result(const Ending& ending) {
  return agent::make_result(agent::State({}), ending);
}

// What the model reads of it. What was said stands last: it may be long, and is cut in its middle.
std::string told(const RunResult& result) {
  nlohmann::ordered_json said;
  said["status"] = agent::to_string(agent::status_of(result.exit_code));
  said["exit_name"] = agent::exit_row(result.exit_code).name;
  if (result.error) {
    said["error"] = result.error->message;
  }
  if (result.denials > 0) {
    said["denials"] = result.denials;  // what it was to do may not be done
  }
  said["cost_usd"] = result.cost ? nlohmann::ordered_json(result.cost->dollars()) : nullptr;
  said["partial"] = result.partial;
  if (const auto output = agent::parse_json(result.output)) {
    said["output"] = *output;
  } else {
    said["text"] = result.text;
  }
  return said.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string how_it_ended(const std::string& who, const RunResult& result) {
  return fmt::format("{} ended as {} ({}){}",
                     who,
                     agent::exit_row(result.exit_code).name,
                     result.exit_code,
                     result.error ? ": " + result.error->message : "");
}

tools::Output output_of(const std::string& who, const RunResult& result) {
  tools::Output output{.text = told(result), .code = std::nullopt, .message = {}, .suggestion = {}};
  if (result.exit_code == 0) {
    return output;
  }
  output.is_fatal = agent::is_meant_for_all(result);
  output.code = output.is_fatal ? result.error->code : Code::team_member_failed;
  output.message = how_it_ended(who, result);
  output.quotes = true;
  return output;
}

// What waits for a person, what was cut off and what could not be opened or recorded now is not
// over: it goes on where the run does.
std::optional<Ending> what_it_waits_for(const std::string& who,
                                        const RunResult& result,
                                        bool is_stopped) {
  if (result.error && result.error->is_taken) {
    Error error = *result.error;
    error.message = fmt::format("{} goes on elsewhere: {}", who, error.message);
    return Ending{.error = std::move(error)};
  }
  if (agent::is_parked(result)) {
    return Ending{
        .error =
            Error{.code = Code::tool_confirmation_required,
                  .message = fmt::format("{} waits for approval: {}", who, result.error->message),
                  .help = result.resume_cmd.empty()
                              ? result.error->help
                              : fmt::format("answer it with `{}`, then carry this run on",
                                            result.resume_cmd)},
        .stop = result.stop};
  }
  if (agent::has_waited_too_long(result) ||
      (result.error && (result.error->is_put_off || result.error->write_failed))) {
    Error error = *result.error;
    error.message = fmt::format("{}: {}", who, error.message);
    return Ending{.error = std::move(error), .stop = result.stop};
  }
  const bool is_over = agent::status_of(result.exit_code) == agent::Status::ok ||
                       agent::status_of(result.exit_code) == agent::Status::failed;
  is_stopped = is_stopped || (result.error && result.error->code == Code::guardrail_killed);
  return is_stopped && !is_over ? std::optional(Ending{.error = result.error}) : std::nullopt;
}

// The same of one that has taken over: its ending is the run's, and what carries it on is carrying
// on the run.
std::optional<Ending> what_takes_over_waits_for(const std::string& who, const RunResult& result) {
  if (auto waits = what_it_waits_for(who, result, false)) {
    return waits;
  }
  const bool goes_on =
      agent::is_resumable(result.exit_code) && !agent::needs_message(result.exit_code);
  return goes_on ? std::optional(Ending{.error = result.error, .stop = result.stop}) : std::nullopt;
}

// Its own words may be somebody else's where its tools bring such.
bool brings_words_from_outside(const Plan& plan) {
  const auto is_from_outside = [](const agent::ToolSpec& tool) {
    auto configured = tools::configure_tool(tool);
    return configured && configured->is_untrusted;
  };
  return !plan.agent.mcp_servers.empty() ||
         std::ranges::any_of(plan.agent.tools, is_from_outside) ||
         std::ranges::any_of(plan.members, brings_words_from_outside);
}

Parsed command_line_of_sub_agents(const Parsed& parsed) {
  Parsed own = command_line_of_members(parsed);
  for (const char* const name : {"--use", "--use-arg"}) {
    own.values.erase(name);
  }
  return own;
}

bool has_begun(const agent::SubAgentRecord& record) {
  return !record.record.run_id.empty();
}

}  // namespace

class SubAgents::Tool final : public tools::Tool {
 public:
  Tool(SubAgents& agents, const Callee& callee) : agents_(agents), callee_(callee) {}

  const agent::ToolInfo& info() const override { return callee_.tool; }
  // What the sub-agent itself calls is judged.
  tools::Access access(const Json&) const override {
    return {.kind = tools::Access::Kind::nothing, .target = {}};
  }
  bool parallel() const override { return true; }
  void line_up(const std::string& call_id) override { agents_.line_up(call_id); }
  tools::Output call(const Json& arguments, const CallContext& context) override {
    return agents_.call(callee_, arguments, context);
  }

 private:
  SubAgents& agents_;
  const Callee& callee_;
};

void SubAgents::line_up(const std::string& call_id) {
  const std::lock_guard lock(mutex_);
  line_.push_back(call_id);
}

// One of the places of `limits.max_parallel`, in the order of the calls.
class SubAgents::Turn {
 public:
  Turn(SubAgents& agents, const std::string& call_id, const std::stop_token& stop)
      : agents_(agents) {
    const std::int64_t most = agents_.world_.plan.agent.limits.max_parallel;
    std::deque<std::string>& line = agents_.line_;
    std::unique_lock lock(agents_.mutex_);
    const auto has_come = [&] {
      return agents_.at_work_ < most && (line.empty() || line.front() == call_id) &&
             make_room_beside(static_cast<std::size_t>(agents_.at_work_));
    };
    has_come_ = agents_.changed_.wait(lock, stop, has_come) && !stop.stop_requested();
    std::erase(line, call_id);
    agents_.at_work_ += has_come_ ? 1 : 0;
    agents_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_come_) {
      const std::lock_guard lock(agents_.mutex_);
      --agents_.at_work_;
      agents_.changed_.notify_all();
    }
  }

  bool has_come() const { return has_come_; }

 private:
  SubAgents& agents_;
  bool has_come_ = false;
};

agent::Result<std::vector<SubAgents::Callee>> SubAgents::callees() const {
  const agent::AgentSpec& agent = world_.plan.agent;
  std::vector<Callee> callees;
  for (std::size_t number = 0; number < agent.sub_agents.size(); ++number) {
    const agent::SubAgentSpec& sub = agent.sub_agents[number];
    const Plan& plan = world_.plan.members[number];
    callees.push_back({.tool = sub_agent_as_tool(sub.name, plan.agent),
                       .name = sub.name,
                       .runs = sub.file.empty() ? sub.name : sub.file,
                       .plan = plan,
                       .on_error = sub.on_error});
  }
  for (const agent::HandoffSpec& handoff : agent.handoffs) {
    const Plan* const other = agent_handed_to(*had().front(), agent, handoff);
    if (other == nullptr) {
      return agent::fail(
          {.code = Code::team_invalid,
           .message = fmt::format("{}, to whom {} hands over, is not where it was when the run "
                                  "began",
                                  agent::one_line(handoff.file, 100),
                                  agent.name),
           .help = "put the file back",
           .where = handoff.where});
    }
    callees.push_back({.tool = handoff_as_tool(handoff, other->agent),
                       .name = handoff.name,
                       .runs = handoff.file,
                       .plan = *other,
                       .is_handoff = true});
  }
  for (Callee& callee : callees) {
    callee.tool.idempotent = !world_.journal.empty();  // its run is carried on
  }
  return callees;
}

// The plans of the agents that had the conversation until now.
std::vector<const Plan*> SubAgents::had() const {
  return world_.run.had.empty() ? std::vector{&world_.plan} : world_.run.had;
}

std::optional<agent::Ending> SubAgents::at_limit_of_handoffs(const Callee& callee) const {
  std::vector<const agent::AgentSpec*> all;
  for (const agent::AgentSpec& giver : world_.run.givers | std::views::reverse) {
    all.push_back(&giver);
  }
  for (const Plan* const one : had()) {
    all.push_back(&one->agent);
  }
  auto ending = at_handoff_limit(all, callee.plan.agent);
  return ending && world_.run.first_giver != nullptr
             ? ending_above(*std::move(ending), *world_.run.first_giver)
             : ending;
}

agent::Result<std::vector<tools::ConfiguredTool>> SubAgents::tools() {
  TRY_ASSIGN(callees_, callees());
  std::vector<tools::ConfiguredTool> all;
  for (const Callee& callee : callees_) {
    all.push_back({.tool = std::make_unique<Tool>(*this, callee),
                   .on_error = callee.on_error,
                   .is_untrusted = brings_words_from_outside(callee.plan)});
  }
  return all;
}

agent::MemberStarted SubAgents::member_of(const Callee& callee,
                                          const CallContext& context,
                                          const agent::SubAgentRecord& earlier) const {
  agent::MemberStarted member{.member = fmt::format("{}[{}]", callee.name, earlier.number),
                              .step = callee.name,
                              .item = earlier.number,
                              .kind = callee.is_handoff ? "handoff" : "agent",
                              .runs = callee.runs,
                              .call_id = context.call_id};
  if (has_begun(earlier)) {
    member.member = earlier.member;
    member.run_id = earlier.record.run_id;
  } else {
    member.run_id = world_.run.new_run_id(member.member);
  }
  return member;
}

// Beside other calls of one reply, some would come behind the hand-over, or be lost to the other
// agent.
std::optional<tools::Output> SubAgents::why_not_handed_over(const Callee& callee,
                                                            const CallContext& context) const {
  const agent::Conversation said = context.conversation();
  for (const agent::Message& message : said.messages | std::views::reverse) {
    const auto* last = std::get_if<agent::AssistantMessage>(&message);
    if (last != nullptr && last->reply->tool_calls.size() > 1) {
      return tools::failure(Code::tool_failed,
                            "nothing was handed over: there are other calls beside it",
                            "Hand over in a reply of its own, when their results are there.");
    }
    if (last != nullptr) {
      break;
    }
  }
  if (auto ending = at_limit_of_handoffs(callee)) {
    if (world_.run.first_giver != nullptr) {
      world_.run.cancellation.end(*ending);  // as by every limit of those above
    }
    tools::Output output = tools::failure(Code::team_handoff_limit, ending->error->message);
    output.suspended = std::move(ending);
    return output;
  }
  return std::nullopt;
}

tools::Output SubAgents::call(const Callee& callee,
                              const Json& arguments,
                              const CallContext& context) {
  const Turn turn(*this, context.call_id, context.stop);
  if (callee.is_handoff) {
    if (auto why = why_not_handed_over(callee, context)) {
      return *std::move(why);
    }
  }
  const auto not_started = [&] {
    tools::Output output = tools::failure(
        Code::tool_cancelled, "not started: the run is being stopped", "Nothing was done.");
    if (!world_.journal.empty()) {
      output.suspended = how_it_was_stopped();  // it begins where the run goes on
    }
    return output;
  };
  if (!turn.has_come()) {
    return not_started();
  }
  const agent::SubAgentRecord earlier = context.sub_agent();
  const agent::MemberStarted member = member_of(callee, context, earlier);
  if (!context.on_began(member)) {  // without its record, the run ends
    return not_started();
  }
  const RunResult result = perform(callee, arguments, context, member, earlier);
  const std::string who =
      fmt::format("the {} {}", callee.is_handoff ? "agent" : "sub-agent", callee.name);
  tools::Output output = output_of(who, result);
  const auto limit = limit_of_caller(result);
  const bool goes_on = (context.stop.stop_requested() || limit) && !world_.journal.empty();
  output.suspended = callee.is_handoff  ? what_takes_over_waits_for(who, result)
                     : goes_on && limit ? limit
                                        : what_it_waits_for(who, result, goes_on);
  context.on_ended({.member = member.member,
                    .step = member.step,
                    .item = member.item,
                    .result = result,
                    .call_id = member.call_id,
                    .suspended = output.suspended.has_value()});
  return output;
}

RunResult SubAgents::perform(const Callee& callee,
                             const Json& arguments,
                             const CallContext& context,
                             const agent::MemberStarted& member,
                             const agent::SubAgentRecord& earlier) {
  Plan plan = callee.plan;
  auto had = callee.is_handoff ? this->had() : std::vector<const Plan*>();
  if (callee.is_handoff) {
    plan.opening = opening_of(context.conversation());
    had.push_back(&callee.plan);
  }
  agent::Cancellation stop;
  const auto tell = [&] {
    if (const int signal = world_.run.cancellation.signal_number(); signal != 0) {
      stop.signal(signal);
    } else {
      stop.end(how_it_was_stopped());
    }
  };
  const std::stop_callback on_stop(context.stop, tell);
  const std::stop_callback on_kill(context.kill, [&] {
    const int signal = world_.run.cancellation.signal_number();
    stop.signal(signal != 0 ? signal : SIGTERM);  // behind the first word: at once
  });
  // To whom the conversation goes has the last word, too: others leave the share for that.
  const bool leaves_share = !callee.is_handoff && world_.plan.agent.limits.wrap_up;
  const BudgetBeforeTheShare less(world_.budget, world_.plan.agent.limits);
  const agent::Budget& budget =
      leaves_share ? static_cast<const agent::Budget&>(less) : world_.budget;
  const Budgets budgets({&budget, &world_.above_all});
  RunWorld own{
      .context = world_.run.context,
      .supervisor = world_.run.supervisor,
      .redactor = world_.run.redactor,
      .http = world_.run.http,
      .models = world_.run.models,
      .parsed = command_line_of_sub_agents(world_.run.parsed),
      .sinks = world_.sinks,
      .progress = world_.run.progress,
      .outputs = world_.run.outputs,
      .cancellation = stop,
      .killed = [&] { return killed(stop, budget); },
      .budget = &budgets,
      .is_room_shared = world_.run.is_room_shared || has_limit(world_.plan.agent.limits),
      .kill_files = world_.kill_files,
      .is_patient = world_.run.is_patient,
      .tape = world_.run.tape,
      .parent = world_.run_id,
      .member = callee.name,
      .path = world_.run.path_of(member.member),
      // What the first one may not, none of those may to whom the conversation comes.
      .above = callee.is_handoff && !world_.run.had.empty() ? world_.run.above : world_.above,
      .had = std::move(had),
      .givers = callee.is_handoff ? world_.run.givers : std::span<const agent::AgentSpec>(),
      .first_giver = callee.is_handoff ? world_.run.first_giver : nullptr,
      .obeyed = world_.obeyed,
      .others = world_.run.others};
  const MemberRun run{
      .run_id = member.run_id,
      .session = world_.session.empty() ? "" : fmt::format("{}/{}", world_.session, member.member),
      .recorded = has_begun(earlier) ? std::optional(earlier.record) : std::nullopt,
      .journal = world_.journal,
      .anew = "call it once more"};
  try {
    const OutsideInput said = callee.is_handoff
                                  ? input_of_handoff(arguments, world_.plan.agent, plan.agent)
                                  : input_of(arguments, plan.agent);
    auto result = run_member(std::move(own), run, std::move(plan), said);
    return result ? *std::move(result) : bare_result({.error = std::move(result).error()});
  } catch (const std::exception& exception) {
    return bare_result({.error = agent::error_of(exception)});
  }
}

// Before each request of a member.
std::optional<Error> SubAgents::killed(agent::Cancellation& stop,
                                       const agent::Budget& budget) const {
  if (auto error = world_.killed()) {
    return error;
  }
  auto ending = world_.budget.at_limit();
  if (const auto room = budget.room_for(nothing_asked()); !room && !ending) {
    ending = room.error();
  }
  if (!ending) {
    return std::nullopt;
  }
  stop.end(*ending);
  return ending->error;
}

// It has not ended by itself: what it spends with all others is used up.
std::optional<Ending> SubAgents::limit_of_caller(const RunResult& result) const {
  auto ending = world_.budget.at_limit();
  const bool is_it = ending && result.error && result.error->code == ending->error->code;
  return is_it ? std::move(ending) : std::nullopt;
}

Ending SubAgents::how_it_was_stopped() const {
  const agent::Cancellation& whole = world_.run.cancellation;
  if (auto ending = whole.ending()) {
    return *std::move(ending);
  }
  const auto limit = world_.plan.agent.limits.timeout.value_or(agent::Milliseconds{0});
  if (whole.is_expired()) {
    const double seconds = static_cast<double>(limit.count()) / 1000;
    return agent::stopped_at(
        Code::run_timeout,
        seconds,
        seconds,
        fmt::format("the run that called it took longer than {}", agent::format_duration(limit)));
  }
  return {.error = Error{.code = Code::durable_cancelled,
                         .message = "the run that called it ended while it was at work",
                         .help = {}}};
}

}  // namespace cli

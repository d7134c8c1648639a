#include "cli/plan_members.h"

#include "agent/sha256.h"
#include "agent/text.h"
#include "cli/agent_as_tool.h"
#include "cli/agents_at_work.h"
#include "cli/flow_check.h"
#include "cli/handoffs.h"
#include "cli/narrowed_rights.h"
#include "cli/permissions.h"
#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;

// Without texts; `own` is what of the command line it is begun with.
std::expected<Plan, std::vector<Error>> prepare_member(const std::filesystem::path& file,
                                                       const Place& place,
                                                       const Parsed& own,
                                                       const Context& context) {
  const bool is_own_file = place.written_out == nullptr;
  const auto shown = is_own_file ? file.lexically_proximate(context.cwd) : file;
  return prepare_with(own, RunSource{.agent = {.file = shown.string()}}, context, place, [](Plan&) {
    return Result<void>();
  });
}

// Of the agents that the one of this plan calls.
std::vector<const agent::AgentSpec*> above_members(const Plan& plan, const Place& place) {
  std::vector<const agent::AgentSpec*> above = place.above;
  above.insert(above.begin(), &plan.agent);
  return above;
}

// A limit of the whole that nobody could keep. `asks`: "the step `fix`".
std::optional<Error> unknown_cost(const agent::Limits& whole,
                                  const Plan& member,
                                  const std::string& asks,
                                  const agent::Where& where) {
  if (!whole.max_cost_usd) {
    return std::nullopt;
  }
  for (const Plan& inner : member.members) {
    if (auto unknown = unknown_cost(whole, inner, asks, where)) {
      return unknown;
    }
  }
  for (const auto* choices : {&member.chain, &member.judges, &member.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      if (choice.tariff.at(std::chrono::system_clock::now()) == nullptr) {
        return Error{
            .code = Code::config_invalid,
            .message = fmt::format("`limits.max_cost_usd` cannot be kept: nobody knows what "
                                   "{} costs, which {} asks",
                                   choice.resolved.name(),
                                   asks),
            .help = "say it in `model.cost` of its agent file, or leave the limit out",
            .where = where};
      }
    }
  }
  return std::nullopt;
}

// Nullopt: it can lie there.
std::optional<Error> misplaced(const agent::SubAgentSpec& sub,
                               const std::filesystem::path& file,
                               const std::vector<const agent::AgentSpec*>& above) {
  const auto is_above = [&](const agent::AgentSpec* one) { return is_same_file(one->file, file); };
  if (!sub.file.empty() && std::ranges::any_of(above, is_above)) {
    return Error{.code = Code::team_invalid,
                 .message = fmt::format("the sub-agent `{}` is an agent that it works for: {}",
                                        sub.name,
                                        agent::one_line(sub.file)),
                 .help = "a circle of agents has no end: take one of them out",
                 .where = sub.where};
  }
  const std::int64_t most = above.back()->limits.max_depth;
  if (std::cmp_greater(above.size(), most)) {
    return Error{.code = Code::team_invalid,
                 .message = fmt::format("the sub-agent `{}` lies deeper than `limits.max_depth` of "
                                        "{}, which is {}",
                                        sub.name,
                                        above.back()->name,
                                        most),
                 .help = "raise it there, or take a level out",
                 .where = sub.where};
  }
  return std::nullopt;
}

Error in_sub_agent(Error error, const agent::SubAgentSpec& sub) {
  return std::move(error).while_(fmt::format("reading the sub-agent `{}`", sub.name));
}

// What of it is to be so where it works for others.
Result<void> fit_below(Plan& member,
                       const std::vector<const agent::AgentSpec*>& above,
                       const std::string& whose,
                       const agent::Where& where) {
  if (auto unknown = unknown_cost(above.front()->limits, member, whose, where)) {
    return agent::fail(*std::move(unknown));
  }
  return {};
}

Result<void> fit_below(Plan& member,
                       const std::vector<const agent::AgentSpec*>& above,
                       const agent::SubAgentSpec& sub) {
  if (const auto told = check_can_be_told(member.agent); !told) {
    Error error = told.error();
    error.code = Code::team_invalid;
    error.where = sub.where;
    return agent::fail(std::move(error));
  }
  return fit_below(member, above, fmt::format("the sub-agent `{}`", sub.name), sub.where);
}

// The answer of the one is that of the other.
Result<void> check_answers_alike(const agent::AgentSpec& from,
                                 const agent::HandoffSpec& handoff,
                                 const agent::AgentSpec& to) {
  if (from.output.schema.empty() || from.output.schema == to.output.schema) {
    return {};
  }
  return agent::fail(Error{
      .code = Code::team_invalid,
      .message =
          fmt::format("{} has an `output.schema`, and {}, to whom it hands over, not the same",
                      from.name,
                      to.name),
      .help = "name one file with the schema in both",
      .where = handoff.where});
}

// One that takes over, wherever it stands in the team.
std::expected<Plan, std::vector<Error>> prepare_to_take_over(const agent::AgentSpec& from,
                                                             const agent::HandoffSpec& handoff,
                                                             const Place& place,
                                                             const Parsed& own,
                                                             const Context& context) {
  const auto file = std::filesystem::path(from.directory) / handoff.file;
  if (auto error = why_not_read(file, handoff.where, context)) {
    return std::unexpected(std::vector{*std::move(error)});
  }
  auto plan = prepare_member(file, place, own, context);
  if (plan) {
    const auto fits = [&]() -> Result<void> {
      TRY(check_can_take_over(plan->agent));
      const std::string whose = fmt::format("the agent `{}`", handoff.name);
      return fit_below(*plan, place.above, whose, handoff.where);
    };
    if (auto done = fits(); !done) {
      plan = std::unexpected(std::vector{std::move(done).error()});
    }
  }
  if (!plan) {
    for (Error& error : plan.error()) {
      error = std::move(error).while_(
          fmt::format("reading the agent `{}`, to whom {} hands over", handoff.name, from.name));
    }
  }
  return plan;
}

}  // namespace

std::optional<Error> why_not_read(const std::filesystem::path& file,
                                  const agent::Where& named_at,
                                  const Context& context) {
  auto readable = config::check_can_be_read(file.lexically_proximate(context.cwd));
  if (readable) {
    return std::nullopt;
  }
  Error error = std::move(readable).error();
  error.where = named_at;
  return error;
}

std::vector<Error> prepare_steps(Plan& plan,
                                 const Parsed& parsed,
                                 const Context& context,
                                 const FlowNesting& nesting,
                                 const providers::Cassette* recording) {
  std::vector<Error> errors;
  const Parsed own = command_line_of_members(parsed);
  for (const agent::StepSpec& step : plan.agent.steps) {
    Plan& member = plan.members.emplace_back();
    if (step.is_command()) {
      continue;
    }
    const std::filesystem::path file = std::filesystem::path(plan.agent.directory) / step.agent;
    if (auto error = why_not_read(file, step.where, context)) {
      errors.push_back(*std::move(error));
      continue;
    }
    auto prepared = prepare_member(
        file,
        {.may_be_flow = true, .outer = &nesting, .step = &step, .recording = recording},
        own,
        context);
    if (!prepared) {
      for (Error& error : prepared.error()) {
        errors.push_back(
            std::move(error).while_(fmt::format("reading the agent of the step `{}`", step.name)));
      }
      continue;
    }
    member = *std::move(prepared);
    if (auto unknown = unknown_cost(
            plan.agent.limits, member, fmt::format("the step `{}`", step.name), step.where)) {
      errors.push_back(*std::move(unknown));
    }
  }
  std::vector<const agent::AgentSpec*> agents;
  std::ranges::transform(plan.members, std::back_inserter(agents), [](const Plan& member) {
    return member.agent.file.empty() ? nullptr : &member.agent;
  });
  std::ranges::move(mistakes_in_steps(plan.agent, agents), std::back_inserter(errors));
  return errors;
}

Result<void> stay_below(Plan& member,
                        const std::vector<const agent::AgentSpec*>& above,
                        const Context& context) {
  for (const agent::AgentSpec* one : above) {
    TRY_ASSIGN(auto cut, narrow_sandbox(member.agent, *one, context));
    for (std::string& sentence : cut) {
      member.warnings.push_back(
          {.message = std::move(sentence), .help = "open it in the agent that calls it, too"});
    }
  }
  return {};
}

std::vector<Error> prepare_sub_agents(Plan& plan,
                                      const Parsed& parsed,
                                      const Context& context,
                                      const Place& place) {
  std::vector<Error> errors;
  const Parsed own = command_line_of_members(parsed);
  const auto above = above_members(plan, place);
  for (const agent::SubAgentSpec& sub : plan.agent.sub_agents) {
    Plan& member = plan.members.emplace_back();
    const auto file = sub.agent ? std::filesystem::path(sub.agent->file)
                                : std::filesystem::path(plan.agent.directory) / sub.file;
    auto mistake = sub.agent ? std::nullopt : why_not_read(file, sub.where, context);
    if (!mistake) {
      mistake = misplaced(sub, file, above);
    }
    if (mistake) {
      errors.push_back(*std::move(mistake));
      continue;
    }
    auto prepared = prepare_member(
        file,
        {.above = above, .written_out = sub.agent.get(), .recording = place.recording},
        own,
        context);
    if (!prepared) {
      for (Error& error : prepared.error()) {
        errors.push_back(in_sub_agent(std::move(error), sub));
      }
      continue;
    }
    member = *std::move(prepared);
    if (auto fits = fit_below(member, above, sub); !fits) {
      errors.push_back(in_sub_agent(std::move(fits).error(), sub));
    }
  }
  return errors;
}

std::vector<Error> prepare_team(Plan& first,
                                const Parsed& parsed,
                                const Context& context,
                                const Place& place) {
  std::vector<Error> errors;
  const Parsed own = command_line_of_members(parsed);
  const Place beside{
      .above = above_members(first, place), .is_in_team = true, .recording = place.recording};
  for (std::size_t at = 0; at <= first.team().size() && errors.empty(); ++at) {
    const agent::AgentSpec from = at == 0 ? first.agent : first.team()[at - 1].agent;
    for (const agent::HandoffSpec& handoff : from.handoffs) {
      const Plan* to = agent_handed_to(first, from, handoff);
      if (to == nullptr) {
        auto plan = prepare_to_take_over(from, handoff, beside, own, context);
        if (!plan) {
          std::ranges::move(plan.error(), std::back_inserter(errors));
          continue;
        }
        to = &first.members.emplace_back(*std::move(plan));
      }
      if (auto alike = check_answers_alike(from, handoff, to->agent); !alike) {
        errors.push_back(std::move(alike).error());
      }
    }
  }
  return errors;
}

void keep_members_with(const std::string& store, Plan& whole) {
  for (Plan& member : whole.members) {
    agent::SessionSpec& own = member.agent.session;
    if (own.store != "auto" && own.store != store) {
      member.warnings.push_back(
          {.message =
               fmt::format("`session.store` of {} does not count here: it is recorded as the "
                           "run that it works for",
                           agent::one_line(member.agent.name, 60)),
           .help = {}});
    }
    own.store = store;
    own.is_of_whole = true;
    keep_members_with(store, member);
  }
}

Result<void> check_rules_of_team(const Plan& plan, const Parsed& parsed) {
  OtherAgents below = agents_at_work(plan);
  below.erase(below.begin());  // itself
  return plan.agent.sub_agents.empty() && plan.agent.handoffs.empty()
             ? Result<void>()
             : check_rules_of_all(plan.agent, below, parsed);
}

Result<void> heed_givers(agent::AgentSpec& agent, const std::vector<agent::AgentSpec>& givers) {
  using agent::GuardrailSpec;
  for (const agent::AgentSpec& giver : givers) {
    std::vector<agent::HookSpec> hooks;
    std::ranges::copy_if(giver.hooks.hooks, std::back_inserter(hooks), [](const auto& hook) {
      return hook.point == agent::HookPoint::stop;
    });
    std::vector<GuardrailSpec> checks;
    std::ranges::copy_if(giver.guardrails.checks, std::back_inserter(checks), [](const auto& one) {
      return one.of == GuardrailSpec::Of::output;
    });
    const bool has_commands =
        !hooks.empty() ||
        std::ranges::find(checks, GuardrailSpec::Kind::command, &GuardrailSpec::kind) !=
            checks.end();
    const bool speaks_alike =
        hooks.empty() || agent.hooks.hooks.empty() || agent.hooks.dialect == giver.hooks.dialect;
    if (has_commands && (!speaks_alike || agent.directory != giver.directory)) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("the `stop` hooks and guardrails of {}, which handed the conversation over, "
                      "look at the answer, and cannot run here: {}",
                      giver.name,
                      speaks_alike ? "its folder is another one" : "their dialect is another one"),
          "`--agent FILE` carries the run on without them, by an agent of your choice");
    }
    if (agent.hooks.hooks.empty()) {
      agent.hooks.dialect = giver.hooks.dialect;
    }
    std::ranges::move(hooks, std::back_inserter(agent.hooks.hooks));
    for (GuardrailSpec& check : checks) {
      if (check.kind == GuardrailSpec::Kind::judge && !check.model) {
        check.model = giver.model;
      }
      agent.guardrails.checks.push_back(std::move(check));
      agent.guardrails.retries = std::min(agent.guardrails.retries, giver.guardrails.retries);
    }
  }
  return {};
}

namespace {

// Files are said from where the whole's file is: they are the same, whichever folder it works in.
std::string sums_from(const std::filesystem::path& folder, const Plan& plan) {
  std::string all;
  for (const Plan& member : plan.members) {
    const agent::AgentSpec& agent = member.agent;
    const auto file = agent::file_of(agent);
    all +=
        fmt::format("{} {}\n",
                    agent::sha256_hex(agent::length_prefixed({agent.source, agent.output.schema})),
                    agent.file.empty() ? "" : file.lexically_proximate(folder).string());
    all += sums_from(folder, member);
  }
  return all;
}

}  // namespace

std::string sums_of_agents(const Plan& plan) {
  return sums_from(plan.agent.directory, plan);
}

namespace {

// The first file of a line that is not among the others; empty: all are.
std::string first_not_in(std::string_view lines, std::string_view others) {
  const auto known = agent::split_lines(others);
  for (const std::string_view line : agent::split_lines(lines)) {
    if (std::ranges::find(known, line) == known.end()) {
      return std::string(line.substr(line.find(' ') + 1));
    }
  }
  return {};
}

}  // namespace

Result<void> check_agents_are_recorded(const Plan& plan, const RecordedRun& run) {
  const std::string now = sums_of_agents(plan);
  const std::string& before = run.begun.made_from.agents_sha256;
  // The team of one to whom was handed over is that of the first, whose record has it.
  const bool is_member = !run.parent.empty();
  const std::string changed = is_member ? first_not_in(before, now) : first_not_in(now, before);
  if (changed.empty() && (is_member || before == now)) {
    return {};
  }
  return agent::fail(agent::Code::cli_usage,
                     fmt::format("{} is not what it was when the {} {} began",
                                 changed.empty() ? "an agent of it" : agent::one_line(changed),
                                 plan.is_flow() ? "flow" : "run",
                                 run.run_id),
                     fmt::format("`--agent FILE` with the {} file takes the files as they are; or "
                                 "put them back",
                                 plan.is_flow() ? "flow's" : "agent's"));
}

}  // namespace cli

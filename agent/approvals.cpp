#include "agent/approvals.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/sha256.h"
#include "agent/text.h"

#include <ranges>
#include <utility>
#include <variant>

namespace agent {
namespace {

void settle(Approvals& approvals, const std::string& call_id) {
  if (approvals.find(call_id) != nullptr) {
    approvals.settled.insert(call_id);
  }
}

bool is_same_call(const ToolCall& one, const ToolCall& other) {
  return one.name == other.name && one.arguments_sha256 == other.arguments_sha256 &&
         canonical_text(one.arguments) == canonical_text(other.arguments);
}

}  // namespace

ApprovalSetting setting_of(const RunStarted& started) {
  const SandboxInForce& sandbox = started.sandbox;
  std::string enforced = length_prefixed({sandbox.mode, sandbox.network});
  for (const auto* names : {&sandbox.hosts, &sandbox.layers, &sandbox.missing}) {
    std::string list;
    for (const std::string& name : *names) {
      list += length_prefixed({name});
    }
    enforced += length_prefixed({list});
  }
  return {.cwd = started.cwd,
          .agent = sha256_hex(
              length_prefixed({started.made_from.agent_text, started.made_from.agent_folder})),
          .sandbox = sha256_hex(enforced)};
}

std::string_view changed(const ApprovalSetting& before, const ApprovalSetting& now) {
  return before.cwd != now.cwd           ? "the folder"
         : before.agent != now.agent     ? "the agent file"
         : before.sandbox != now.sandbox ? "the sandbox"
                                         : "";
}

const ParkedCall* Approvals::find(std::string_view call_id) const {
  const auto at = positions.find(call_id);
  return at == positions.end() ? nullptr : &parked[at->second];
}

std::vector<const ParkedCall*> Approvals::pending() const {
  std::vector<const ParkedCall*> calls;
  for (const ParkedCall& call : parked) {
    const std::string& id = call.request.call.id;
    if (find(id) == &call && !settled.contains(id)) {
      calls.push_back(&call);
    }
  }
  return calls;
}

void advance(Approvals& approvals, const EventBody& event) {
  if (const auto* begun = std::get_if<RunStarted>(&event)) {
    approvals.setting = setting_of(*begun);
  } else if (std::holds_alternative<ModelResponded>(event)) {  // its calls are others
    Approvals next;
    next.grants = std::move(approvals.grants);
    next.setting = std::move(approvals.setting);
    next.has_waited = std::move(approvals.has_waited);
    approvals = std::move(next);
  } else if (const auto* asked = std::get_if<ApprovalRequested>(&event)) {
    approvals.asked.insert_or_assign(
        asked->request.call.id,
        Approvals::Grant{.rule = asked->request.rule, .tool_sha256 = asked->request.tool_sha256});
  } else if (const auto* answered = std::get_if<ApprovalAnswered>(&event)) {
    if (answered->seal.empty()) {
      return;  // it is asked for again
    }
    if (answered->answer == Answer::run || answered->answer == Answer::tool) {
      const Approvals::Grant& request = approvals.asked[answered->call_id];
      approvals.grants.push_back({.rule = granted_rule(answered->answer, request.rule),
                                  .tool_sha256 = request.tool_sha256,
                                  .seal = answered->seal,
                                  .setting = approvals.setting});
      return;
    }
    approvals.said.insert_or_assign(answered->call_id,
                                    Approvals::Said{.answer = answered->answer,
                                                    .by = answered->by,
                                                    .reason = answered->reason,
                                                    .seal = answered->seal,
                                                    .setting = approvals.setting});
    settle(approvals, answered->call_id);
  } else if (const auto* parked = std::get_if<RunParked>(&event)) {
    approvals.parked_in = approvals.setting;
    approvals.parked_in.cwd = parked->cwd;
    approvals.parked = parked->calls;
    approvals.positions.clear();
    for (std::size_t at = 0; at < approvals.parked.size(); ++at) {
      approvals.positions.insert_or_assign(approvals.parked[at].request.call.id, at);
      approvals.has_waited.insert(approvals.parked[at].request.call.id);
    }
    approvals.settled.clear();
  } else if (const auto* started = std::get_if<ToolStarted>(&event)) {
    settle(approvals, started->call_id);
  } else if (const auto* finished = std::get_if<ToolFinished>(&event)) {
    settle(approvals, finished->result.call_id);
  }
}

std::string changed_lines(std::string_view difference) {
  std::string lines;
  for (const auto part : std::views::split(difference, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.starts_with('+') || line.starts_with('-')) {
      lines += line;
      lines += '\n';
    }
  }
  return lines;
}

std::string sealed_yes(std::string_view run_id,
                       const ApprovalSetting& setting,
                       const ApprovalRequest& request) {
  return "yes " + length_prefixed({run_id,
                                   setting.cwd,
                                   setting.agent,
                                   setting.sandbox,
                                   request.call.id,
                                   request.call.name,
                                   request.call.arguments_sha256,
                                   sha256_hex(canonical_text(request.call.arguments)),
                                   request.rule,
                                   request.by_hook ? "hook" : "",
                                   request.tool_sha256,
                                   changed_lines(request.changes)});
}

std::string sealed_grant(std::string_view run_id,
                         const ApprovalSetting& setting,
                         std::string_view rule,
                         std::string_view tool_sha256) {
  return "grant " +
         length_prefixed({run_id, setting.cwd, setting.agent, setting.sandbox, rule, tool_sha256});
}

std::string sealed_no(std::string_view run_id, std::int64_t turn, std::string_view call_id) {
  return "no " + length_prefixed({run_id, std::to_string(turn), call_id});
}

bool is_overdue(const ParkedCall& call, Milliseconds allowed, Clock::Wall now) {
  const auto since = parse_time(call.since);
  return !since || now >= later(*since, allowed);
}

bool can_be_approved(const ParkedCall& call) {
  return call.can_be_approved && !call.request.call.arguments.contains(k_redacted);
}

std::string_view changed_since_shown(const Approvals& approvals, const ApprovalRequest& request) {
  const std::string_view what = changed(approvals.parked_in, approvals.setting);
  if (!what.empty()) {
    return what;
  }
  const ParkedCall* shown = approvals.find(request.call.id);
  if (shown == nullptr || !can_be_approved(*shown) ||
      !is_same_call(shown->request.call, request.call)) {
    return "the call";
  }
  if (shown->request.tool_sha256 != request.tool_sha256) {
    return k_said_by_server;
  }
  const bool is_alike =
      shown->request.rule == request.rule && shown->request.by_hook == request.by_hook;
  return is_alike ? "" : "what it needs approval for";
}

}  // namespace agent

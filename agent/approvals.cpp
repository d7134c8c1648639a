#include "agent/approvals.h"

#include "agent/json.h"
#include "agent/sha256.h"
#include "agent/text.h"

#include <utility>
#include <variant>

namespace agent {
namespace {

void settle(Approvals& approvals, const std::string& call_id) {
  if (approvals.find(call_id) != nullptr) {
    approvals.settled.insert(call_id);
  }
}

// What a hook says may have the time in it; that a hook asks is what counts.
std::string_view bound_reason(const ApprovalRequest& request) {
  return request.by_hook ? std::string_view() : std::string_view(request.reason);
}

}  // namespace

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
  if (std::holds_alternative<ModelResponded>(event)) {  // its calls are others
    Approvals next;
    next.grants = std::move(approvals.grants);
    approvals = std::move(next);
  } else if (const auto* asked = std::get_if<ApprovalRequested>(&event)) {
    approvals.rules.insert_or_assign(asked->request.call.id, asked->request.rule);
  } else if (const auto* answered = std::get_if<ApprovalAnswered>(&event)) {
    if (answered->seal.empty()) {
      return;  // it is asked for again
    }
    if (answered->answer == Answer::run) {
      approvals.grants.push_back(
          {.rule = approvals.rules[answered->call_id], .seal = answered->seal});
      return;
    }
    approvals.said.insert_or_assign(answered->call_id,
                                    Approvals::Said{.answer = answered->answer,
                                                    .by = answered->by,
                                                    .reason = answered->reason,
                                                    .seal = answered->seal});
    settle(approvals, answered->call_id);
  } else if (const auto* parked = std::get_if<RunParked>(&event)) {
    approvals.cwd = parked->cwd;
    approvals.parked = parked->calls;
    approvals.positions.clear();
    for (std::size_t at = 0; at < approvals.parked.size(); ++at) {
      approvals.positions.insert_or_assign(approvals.parked[at].request.call.id, at);
    }
    approvals.settled.clear();
  } else if (const auto* started = std::get_if<ToolStarted>(&event)) {
    settle(approvals, started->call_id);
  } else if (const auto* finished = std::get_if<ToolFinished>(&event)) {
    settle(approvals, finished->result.call_id);
  }
}

std::string sealed_yes(std::string_view run_id,
                       std::string_view cwd,
                       const ApprovalRequest& request) {
  return "yes " + length_prefixed({run_id,
                                   cwd,
                                   request.call.id,
                                   request.call.name,
                                   request.call.arguments_sha256,
                                   sha256_hex(canonical_text(request.call.arguments)),
                                   request.rule,
                                   bound_reason(request)});
}

std::string sealed_grant(std::string_view run_id, std::string_view cwd, std::string_view rule) {
  return "grant " + length_prefixed({run_id, cwd, rule});
}

std::string sealed_no(std::string_view run_id, std::int64_t turn, std::string_view call_id) {
  return "no " + length_prefixed({run_id, std::to_string(turn), call_id});
}

bool can_be_approved(const ParkedCall& call) {
  return call.can_be_approved && !call.request.call.arguments.contains(k_redacted);
}

bool is_as_shown(const ParkedCall& shown, const ApprovalRequest& request) {
  const ApprovalRequest& seen = shown.request;
  return can_be_approved(shown) && seen.call.name == request.call.name &&
         seen.call.arguments_sha256 == request.call.arguments_sha256 &&
         canonical_text(seen.call.arguments) == canonical_text(request.call.arguments) &&
         seen.rule == request.rule && seen.by_hook == request.by_hook &&
         bound_reason(seen) == bound_reason(request);
}

}  // namespace agent

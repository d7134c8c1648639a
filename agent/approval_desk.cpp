#include "agent/approval_desk.h"

#include "agent/duration.h"
#include "agent/step.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

namespace agent {
namespace {

// More than that are no command line any more: `errand runs pending` lists them.
constexpr std::size_t k_most_in_a_command = 50;
// What to do where a yes does not count.
constexpr std::string_view k_look_at_it = "`errand runs pending` shows it as it is now";
constexpr std::string_view k_look_at_server = "`errand mcp tools AGENT` shows what it says now";

// A yes without looking, as of --yes, is none for the next process.
bool is_of_a_person(std::string_view by) {
  return by == "person" || by == "resume";
}

}  // namespace

std::optional<std::string> ApprovalDesk::denial(const std::string& call_id) {
  const std::int64_t turn = recorder_.state().turns;
  const std::string sealed = sealed_no(request_.run_id, turn, call_id);
  std::string reason;
  if (const Approvals::Said* said = recorded(call_id, sealed);
      said != nullptr && said->answer == Answer::no) {
    reason = said->reason;
  } else if (const GivenAnswer* answer = given(call_id);
             answer != nullptr && answer->answer == Answer::no) {
    reason = answer->reason;
    record({.call_id = call_id, .answer = Answer::no, .by = "resume", .reason = reason}, sealed);
  } else {
    return std::nullopt;
  }
  return "a person denied this call" + (reason.empty() ? "" : ": " + reason);
}

Answer ApprovalDesk::ask(const ApprovalRequest& request, const std::stop_token& stop) {
  const std::string& call_id = request.call.id;
  if (const Approvals::Said* said = recorded(call_id, sealed(request, Answer::once));
      said != nullptr && said->answer == Answer::once) {
    return Answer::once;
  }
  tell_of_lost_yes(request);
  recorder_.record(ApprovalRequested{.turn = recorder_.state().turns, .request = request});
  recorder_.commit();  // the answer may be long in coming
  if (is_approved(request)) {
    record({.call_id = call_id, .answer = Answer::once, .by = "resume"},
           sealed(request, Answer::once));
    return Answer::once;
  }
  const bool is_news = !recorder_.state().approvals.has_waited.contains(call_id);
  if (ports_.approver != nullptr || is_news) {
    notify_(fmt::format("`{}` needs approval", request.call.name));
  }
  if (ports_.approver == nullptr) {
    return Answer::nobody;
  }
  const Answer answer = [&] {
    const WorkTime::Pause thinking(time_);
    return ports_.approver->ask(request, stop);
  }();
  if (answer != Answer::nobody) {
    record({.call_id = call_id, .answer = answer, .by = std::string(ports_.approver->name())},
           sealed(request, answer));
  }
  return answer;
}

// To a call of the reply that was parked: later ones may have calls of the same ids.
const GivenAnswer* ApprovalDesk::given(const std::string& call_id) const {
  const auto answer = request_.answers.find(call_id);
  const bool is_there = answer != request_.answers.end() && recorder_.state().turns == turn_;
  return is_there ? &answer->second : nullptr;
}

// What was said to a call before, by this process or an earlier one, and is about what is sealed.
const Approvals::Said* ApprovalDesk::recorded(const std::string& call_id,
                                              const std::string& sealed) const {
  const auto& all = recorder_.state().approvals.said;
  const auto said = all.find(call_id);
  return said != all.end() && said->second.seal == seal(sealed) ? &said->second : nullptr;
}

bool ApprovalDesk::is_approved(const ApprovalRequest& request) {
  const GivenAnswer* answer = given(request.call.id);
  if (answer == nullptr || answer->answer != Answer::once) {
    return false;
  }
  looked_at_.insert(request.call.id);
  const std::string_view what = changed_since_shown(recorder_.state().approvals, request);
  if (!what.empty()) {
    warn_of("approval",
            request.call.id,
            fmt::format("{} has changed since it was shown", what),
            what == k_said_by_server ? k_look_at_server : k_look_at_it);
  }
  return what.empty();
}

// Of a yes that an earlier process has kept, and that is none to this call. Where the command line
// answers the call anew, that one counts.
void ApprovalDesk::tell_of_lost_yes(const ApprovalRequest& request) {
  if (given(request.call.id) != nullptr) {
    return;
  }
  const Approvals& approvals = recorder_.state().approvals;
  const auto said = approvals.said.find(request.call.id);
  if (said == approvals.said.end() || said->second.answer != Answer::once) {
    return;
  }
  const std::string_view what = changed(said->second.setting, approvals.setting);
  warn_of("earlier approval",
          request.call.id,
          what.empty() ? "nothing shows that it was given to this call, as it is now"
                       : fmt::format("{} has changed since it was given", what),
          k_look_at_it);
}

void ApprovalDesk::warn_of(std::string_view approval,
                           const std::string& call_id,
                           std::string_view why,
                           std::string_view help) {
  recorder_.record(Warning{
      .message =
          fmt::format("the {} of `{}` does not count: {}", approval, one_line(call_id, 100), why),
      .help = std::string(help)});
}

void ApprovalDesk::record(ApprovalAnswered answered, const std::string& sealed) {
  if (is_of_a_person(answered.by) && !sealed.empty()) {
    answered.seal = seal(sealed);
  }
  recorder_.record(std::move(answered));
  recorder_.commit();  // nobody is asked twice
}

std::string ApprovalDesk::sealed(const ApprovalRequest& request, Answer answer) const {
  const ApprovalSetting& setting = recorder_.state().approvals.setting;
  switch (answer) {
    case Answer::once:
      return sealed_yes(request_.run_id, setting, request);
    case Answer::run:
    case Answer::tool:
      return sealed_grant(
          request_.run_id, setting, granted_rule(answer, request.rule), request.tool_sha256);
    case Answer::no:
      return sealed_no(request_.run_id, recorder_.state().turns, request.call.id);
    case Answer::always:
    case Answer::stop:
    case Answer::nobody:
      break;
  }
  return {};  // settings have it, or the run ends
}

std::string ApprovalDesk::seal(const std::string& sealed) const {
  return ports_.seal ? ports_.seal(sealed) : std::string();
}

// A call that waited before, and is the same, goes on waiting.
ParkedCall ApprovalDesk::parked_call(const ApprovalRequest& request) const {
  const Approvals& approvals = recorder_.state().approvals;
  const ParkedCall* before = approvals.find(request.call.id);
  const bool is_same = before != nullptr && changed_since_shown(approvals, request).empty() &&
                       parse_time(before->since);
  const auto since = is_same ? *parse_time(before->since) : ports_.clock.wall();
  const auto& deadline = recorder_.state().plan.approval_deadline;
  return {.request = request,
          .since = format_time(since),
          .deadline = deadline ? format_time(later(since, *deadline)) : "",
          .can_be_approved = !request.call.arguments.contains(k_redacted) &&
                             (!ports_.keeps_whole || ports_.keeps_whole(request.call.arguments))};
}

Ending ApprovalDesk::park(std::span<const ApprovalRequest> requests,
                          std::span<const WaitingCall> others,
                          const Error& why) {
  const State& state = recorder_.state();
  RunParked parked{.turn = state.turns,
                   .cwd = request_.started.cwd,
                   .calls = {},
                   .others = {others.begin(), others.end()}};
  std::set<std::string_view> known;
  for (const ApprovalRequest& request : requests) {
    known.insert(request.call.id);
    parked.calls.push_back(parked_call(request));
  }
  for (const WaitingCall& call : others) {
    known.insert(call.call_id);
  }
  for (const ToolCall& call : state.open_calls) {  // whose turn to be judged has not come
    if (!known.contains(call.id) && !state.results.contains(call.id)) {
      parked.others.push_back(
          {.call_id = call.id, .name = call.name, .verdict = "unjudged", .reason = {}});
    }
  }
  recorder_.record(std::move(parked));
  recorder_.commit();
  Ending ending = stopped_at(why.code, 0, 0, why.message);
  ending.error->help = why.help;
  ending.stop->detail += why.help.empty() ? "" : "; " + why.help;
  return ending;
}

void ApprovalDesk::settle_unused_answers() {
  const State& state = recorder_.state();
  std::vector<std::string> unused;
  for (const ToolCall& call : state.open_calls) {
    if (given(call.id) != nullptr && !looked_at_.contains(call.id) &&
        !state.results.contains(call.id) && !state.approvals.said.contains(call.id)) {
      unused.push_back(call.id);
    }
  }
  for (const std::string& call_id : unused) {
    if (denial(call_id)) {
      continue;  // a no holds whenever the call would run
    }
    recorder_.record(Warning{
        .message = fmt::format("the answer to `{}` was not used, for the run ended before it, and "
                               "is not kept",
                               one_line(call_id, 100)),
        .help = "give it again when the run is carried on"});
  }
}

std::optional<Ending> ApprovalDesk::overdue() {
  const auto& allowed = recorder_.state().plan.approval_deadline;
  if (!allowed) {
    return std::nullopt;
  }
  const auto now = ports_.clock.wall();
  for (const ParkedCall* call : recorder_.state().approvals.pending()) {
    if (!is_overdue(*call, *allowed, now)) {
      continue;
    }
    const auto since = parse_time(call->since);
    const auto waited = since ? std::chrono::floor<Milliseconds>(now - *since) : *allowed;
    const auto seconds = [](Milliseconds time) { return static_cast<double>(time.count()) / 1000; };
    return stopped_at(Code::durable_signal_timeout,
                      seconds(waited),
                      seconds(*allowed),
                      fmt::format("`{}` ({}) waited {} for approval",
                                  one_line(call->request.call.name, 100),
                                  one_line(call->request.call.id, 100),
                                  format_duration(*allowed)));
  }
  return std::nullopt;
}

std::string approving_command(std::string command,
                              std::string_view run_id,
                              const Approvals& approvals) {
  const auto pending = approvals.pending();
  if (command.empty() || pending.size() > k_most_in_a_command) {
    return command;
  }
  for (const ParkedCall* call : pending) {
    const std::string& id = call->request.call.id;
    if (can_be_approved(*call)) {
      command +=
          " --approve " + shell_word(id.starts_with('-') ? fmt::format("{}:{}", run_id, id) : id);
    }
  }
  return command;
}

}  // namespace agent

#include "tools/runner/runner.h"

#include "agent/approvals.h"
#include "agent/text.h"
#include "tools/builtin/command_tool.h"
#include "tools/builtin/registry.h"
#include "tools/files/regular_file.h"
#include "tools/permissions/permissions.h"
#include "tools/runner/approval.h"
#include "tools/runner/call_validation.h"
#include "tools/runner/fence.h"
#include "tools/runner/live_output.h"
#include "tools/runner/possible_call.h"
#include "tools/runner/reach.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr std::string_view k_reader = "read_file";
constexpr std::size_t k_max_side_by_side = 8;
constexpr int k_max_model_retries = 3;
constexpr agent::Milliseconds k_retry_delay{500};

// Tools do not throw; a library in one of them may.
Output call_once(Tool& tool, const agent::Json& arguments, const CallContext& context) {
  try {
    return tool.call(arguments, context);
  } catch (const std::exception& error) {
    return failure(Code::tool_failed, fmt::format("the tool broke down: {}", error.what()));
  } catch (...) {
    return failure(Code::tool_failed, "the tool broke down for an unknown reason");
  }
}

bool deserves_retry(const Tool& tool, const Output& output) {
  return tool.idempotent() && output.code &&
         agent::row(*output.code).domain == agent::Domain::system;
}

Done call_tool(Tool& tool,
               const agent::Json& arguments,
               const CallContext& context,
               agent::Clock& clock) {
  const auto begin = clock.now();
  Output output = call_once(tool, arguments, context);
  if (deserves_retry(tool, output) && clock.sleep_for(k_retry_delay, context.stop)) {
    output = call_once(tool, arguments, context);
  }
  output.idempotent = tool.idempotent();
  const auto time = std::chrono::duration_cast<agent::Milliseconds>(clock.now() - begin);
  return {.output = std::move(output), .duration_ms = time.count()};
}

// As far as that is known before it has changed it.
std::string changes_by(const Tool& tool, const agent::Json& arguments, const CallContext& context) {
  try {
    return tool.changes(arguments, context).value_or(std::string());
  } catch (const std::exception&) {  // then nothing is shown
    return {};
  }
}

Output unknown_tool(std::string_view name, const std::set<std::string, std::less<>>& names) {
  const std::vector<std::string_view> all(names.begin(), names.end());
  const auto meant = agent::nearest(agent::prefix(name, 100), all);
  return failure(Code::tool_not_found,
                 agent::is_blank(name)
                     ? std::string("a call without a name")
                     : fmt::format("there is no tool `{}`{}",
                                   agent::prefix(name, 100),
                                   meant ? fmt::format("; did you mean `{}`?", *meant) : ""),
                 names.empty() ? "You have no tools; answer without one."
                               : fmt::format("Use one of: {}.", fmt::join(names, ", ")));
}

Output not_started() {
  return failure(
      Code::tool_cancelled, "not started: the run is being stopped", "Nothing was done.");
}

}  // namespace

Result<ConfiguredTool> configure_tool(const agent::ToolSpec& spec) {
  if (spec.kind == agent::ToolSpec::Kind::command) {
    return ConfiguredTool{
        .tool = make_command_tool(spec), .on_error = spec.on_error, .is_untrusted = spec.untrusted};
  }
  const auto row = std::ranges::find(builtins(), spec.name, &Builtin::name);
  if (row == builtins().end()) {
    return fail(Code::config_invalid,
                fmt::format("there is no built-in tool `{}`", spec.name),
                fmt::format("one of: {}", fmt::join(builtin_names(), ", ")));
  }
  return ConfiguredTool{.tool = make_builtin(spec),
                        .on_error = spec.on_error,
                        .is_untrusted = spec.untrusted || row->is_from_outside};
}

// The calls of one reply on their way.
class Runner::Round {
 public:
  Round(Runner& runner,
        std::span<const agent::ToolCall> calls,
        agent::ToolWatcher& watcher,
        std::stop_token stop,
        std::stop_token kill)
      : runner_(runner),
        watcher_(watcher),
        stop_(std::move(stop)),
        kill_(std::move(kill)),
        results_(calls.size()) {
    for (const agent::ToolCall& call : calls) {
      calls_.push_back(prepare(call));
      calls_.back().number = ++runner_.calls_;
    }
  }

  std::vector<agent::ToolResult> perform() {
    ask_for_approval();
    for (std::size_t begin = 0; begin < calls_.size();) {
      const std::size_t end = end_of_batch(begin);
      judge_again(begin, end);
      if (waits()) {
        park(begin);
        break;
      }
      run_batch(begin, end);
      begin = end;
    }
    return std::move(results_);
  }

 private:
  struct Prepared {
    agent::ToolCall call;  // with the repaired name and the arguments as parsed
    std::string written_name = {};
    std::uint64_t number = 0;  // in the run
    Entry* entry = nullptr;    // null: no such tool
    agent::Json arguments;
    std::optional<Output> rejected = std::nullopt;  // why it cannot run
    agent::HookDecision decision = {};              // of hooks and guardrails
    Access::Kind access = Access::Kind::nothing;    // of the files that it names
    std::optional<agent::ApprovalRequest> needs_yes = std::nullopt;
    std::optional<agent::ApprovalRequest> has_yes = std::nullopt;  // a person's, to this request
    std::optional<agent::ApprovalRequest> unanswered = std::nullopt;

    bool is_exclusive() const { return !rejected && !entry->configured.tool->parallel(); }
  };

  Prepared prepare(const agent::ToolCall& call) {
    Prepared prepared{.call = call, .arguments = {}};
    if (is_refused_ || stop_.stop_requested()) {
      prepared.rejected = not_started();
      return prepared;
    }
    const auto name = repair_name(call.name, runner_.names_);
    if (!name) {
      prepared.rejected = unknown_tool(call.name, runner_.seen_names());
      return prepared;
    }
    const auto at = std::ranges::find(runner_.names_, *name) - runner_.names_.begin();
    prepared.entry = &runner_.entries_[static_cast<std::size_t>(at)];
    prepared.call.name = *name;
    if (*name == call.name) {
      add(std::span(&*name, 1), "called");
    }
    if (*name != call.name && is_told_apart(call.name, *name)) {
      return misnamed(call);
    }
    if (const auto done = take_arguments(prepared, call.arguments); !done) {
      prepared.rejected = failure(done.error());
      return prepared;
    }
    if (consult(prepared)) {
      permit(prepared);
    }
    if (*name != call.name && (prepared.rejected || prepared.needs_yes)) {
      return misnamed(call);
    }
    prepared.written_name = call.name;
    return prepared;
  }

  // Tells of those that are the model's only now.
  void add(std::span<const std::string> names, std::string_view reason) {
    std::vector<agent::AddedTool> added;
    for (const std::string& name : names) {
      const auto found = runner_.searched_.find(name);
      if (found != runner_.searched_.end() && runner_.added_.insert(name).second) {
        added.push_back({.name = name, .bytes = bytes_of(found->second)});
      }
    }
    if (!added.empty()) {
      watcher_.added(added, reason);
    }
  }

  bool is_told_apart(std::string_view written, std::string_view meant) const {
    const Permissions* const permissions = runner_.options_.permissions;
    return permissions != nullptr && (permissions->tells_apart(written, meant) ||
                                      permissions->tells_apart(without_namespace(written), meant));
  }

  Prepared misnamed(const agent::ToolCall& call) const {
    return {
        .call = call, .arguments = {}, .rejected = unknown_tool(call.name, runner_.seen_names())};
  }

  static Result<void> take_arguments(Prepared& prepared, std::string_view text) {
    TRY_ASSIGN(prepared.arguments, parse_arguments(text));
    prepared.call.arguments = agent::dump(prepared.arguments);
    return check_fit(
        *prepared.entry->configured.tool, prepared.entry->schema_of_call(), prepared.arguments);
  }

  // Whether the call is still to be, as far as hooks and guardrails go.
  bool consult(Prepared& prepared) {
    prepared.decision = watcher_.judge(prepared.call);
    const agent::HookDecision& decision = prepared.decision;
    if (decision.ending) {
      is_refused_ = true;
      prepared.rejected = not_started();
    } else if (decision.refusal) {
      prepared.rejected = denied(*decision.refusal);
    } else if (decision.text) {
      if (const auto done = take_arguments(prepared, *decision.text); !done) {
        prepared.rejected = denied("a hook changed the call to one that the tool does not take: " +
                                   done.error().message);
      }
    }
    return !prepared.rejected;
  }

  void permit(Prepared& prepared) const {
    const Permissions* permissions = runner_.options_.permissions;
    if (permissions == nullptr) {
      return;
    }
    const Access access = prepared.entry->configured.tool->access(prepared.arguments);
    prepared.access = access.kind;
    PermissionDecision decision = permissions->judge(prepared.call.name, access, prepared.decision);
    if (decision.verdict == Verdict::deny) {
      prepared.rejected = denied(std::move(decision.reason));
    } else if (decision.verdict == Verdict::ask && !has_yes_to(prepared, decision)) {
      prepared.needs_yes = {
          .call = prepared.call,
          .reason = std::move(decision.reason),
          .rule = std::move(decision.yes_rule),
          .may_always = decision.may_always,
          .by_hook = prepared.decision.question.has_value(),
          .may_whole_tool = access.kind == Access::Kind::server,
          .tool_sha256 = access.kind == Access::Kind::server
                             ? agent::definition_sha256(prepared.entry->configured.tool->info())
                             : ""};
    }
  }

  // The rule has the path as it really is: where that is another one now, nobody said yes to it.
  static bool has_yes_to(const Prepared& prepared, const PermissionDecision& decision) {
    return prepared.has_yes && prepared.has_yes->rule == decision.yes_rule &&
           prepared.has_yes->reason == decision.reason;
  }

  void ask_for_approval() {
    for (Prepared& prepared : calls_) {
      if (prepared.needs_yes) {
        ask_for(prepared, &prepared == &calls_.front());
      }
    }
  }

  // Judges it by what is so now: the yes to a call before may be one to this.
  // `is_next`: none will run before it.
  void ask_for(Prepared& prepared, bool is_next) {
    if (is_refused_ || stop_.stop_requested()) {
      return;
    }
    prepared.needs_yes.reset();
    permit(prepared);
    if (is_next && makes_another_change(prepared)) {
      prepared.needs_yes = std::exchange(prepared.has_yes, std::nullopt);
    }
    refuse_unasked(prepared, is_next);
    if (prepared.needs_yes) {
      show_changes(prepared, *prepared.needs_yes);
      settle(prepared, watcher_.ask(*prepared.needs_yes));
    }
  }

  // Than the one that a person was shown, and has said yes to: the calls before it have changed the
  // file.
  bool makes_another_change(const Prepared& prepared) const {
    if (prepared.rejected || prepared.needs_yes || !prepared.has_yes ||
        prepared.has_yes->changes.empty()) {
      return false;
    }
    agent::ApprovalRequest now{.call = prepared.call};
    show_changes(prepared, now);
    return agent::changed_lines(now.changes) != agent::changed_lines(prepared.has_yes->changes);
  }

  // Nobody is asked for what would be refused after a yes. Of files that is not known while other
  // calls are to run before it, which may change where they lead.
  void refuse_unasked(Prepared& prepared, bool is_next) const {
    const bool is_known = is_next || prepared.access == Access::Kind::fetches ||
                          prepared.access == Access::Kind::server;
    if (!prepared.needs_yes || !is_known) {
      return;
    }
    const auto possible =
        check_possible(*prepared.entry->configured.tool, prepared.arguments, context_to_look());
    if (!possible) {
      prepared.needs_yes.reset();
      prepared.rejected = failure(possible.error());
    }
  }

  // Right before they start: what the calls before them have changed counts (a link, a folder of
  // another name). What was refused stays so.
  void judge_again(std::size_t begin, std::size_t end) {
    for (Prepared& prepared : std::span(calls_).subspan(begin, end - begin)) {
      if (prepared.rejected || prepared.unanswered || is_refused_ || suspended_ ||
          stop_.stop_requested()) {
        continue;
      }
      if (prepared.written_name == prepared.call.name) {
        ask_for(prepared, true);
        continue;
      }
      permit(prepared);
      if (prepared.rejected || prepared.needs_yes) {
        agent::ToolCall call = std::move(prepared.call);
        call.name = prepared.written_name;
        const std::uint64_t number = prepared.number;
        prepared = misnamed(call);
        prepared.number = number;
      }
    }
  }

  void show_changes(const Prepared& prepared, agent::ApprovalRequest& request) const {
    try {
      auto changes =
          prepared.entry->configured.tool->changes(prepared.arguments, context_to_look());
      if (changes) {
        request.changes = *std::move(changes);
      } else {
        request.changes_unknown = std::move(changes).error().message;
      }
    } catch (const std::exception& error) {
      request.changes_unknown = error.what();
    }
  }

  CallContext context_to_look() const {
    const RunnerOptions& options = runner_.options_;
    return {.cwd = options.cwd,
            .temporary = options.temporary,
            .environment = options.environment,
            .policy = options.policy,
            .stop = stop_,
            .kill = kill_,
            .on_output = {},
            .is_programs_own = options.is_programs_own};
  }

  // Unless the run ends for another reason.
  bool waits() const {
    return !is_refused_ && std::ranges::any_of(calls_, [](const Prepared& prepared) {
      return prepared.unanswered.has_value();
    });
  }

  // From `begin` on no call has a result.
  void park(std::size_t begin) {
    std::vector<agent::ApprovalRequest> requests;
    std::vector<agent::WaitingCall> others;
    for (std::size_t index = begin; index < calls_.size(); ++index) {
      const Prepared& prepared = calls_[index];
      const agent::ToolCall& call = prepared.call;
      if (prepared.unanswered) {
        requests.push_back(*prepared.unanswered);
      } else {
        others.push_back({.call_id = call.id,
                          .name = call.name,
                          .verdict = prepared.rejected    ? "rejected"
                                     : prepared.needs_yes ? "unjudged"
                                                          : "runs",
                          .reason = prepared.rejected ? prepared.rejected->message : ""});
      }
      results_[index] = {
          .call_id = call.id, .name = call.name, .status = agent::ToolStatus::not_run};
    }
    watcher_.parked(requests, others, nobody_there(requests));
  }

  void settle(Prepared& prepared, agent::Answer answer) {
    const agent::ApprovalRequest request = *std::exchange(prepared.needs_yes, std::nullopt);
    switch (answer) {
      case agent::Answer::once:
        prepared.has_yes = request;
        return;
      case agent::Answer::run:
      case agent::Answer::tool:
      case agent::Answer::always:
        prepared.has_yes = request;
        if (const auto granted =
                runner_.options_.permissions->grant(agent::granted_rule(answer, request.rule));
            !granted) {
          prepared.rejected = failure(granted.error());
        }
        return;
      case agent::Answer::no:
        prepared.rejected = denied("a person denied this call");
        return;
      case agent::Answer::stop:
        is_refused_ = true;
        prepared.rejected = failure(
            Code::run_declined,
            fmt::format("a person stopped the run when asked about `{}`", request.call.name));
        return;
      case agent::Answer::nobody:
        if (stop_.stop_requested()) {
          is_refused_ = true;
          prepared.rejected = not_started();
        } else {
          prepared.unanswered = request;
        }
        return;
    }
  }

  // Neighbours that may run side by side; an exclusive call is a batch of its own.
  std::size_t end_of_batch(std::size_t begin) const {
    std::size_t end = begin + 1;
    if (!calls_[begin].is_exclusive()) {
      while (end < calls_.size() && !calls_[end].is_exclusive()) {
        ++end;
      }
    }
    return end;
  }

  // Of a call that runs.
  struct Running {
    LiveText live;
    std::jthread thread = {};
  };

  void run_batch(std::size_t begin, std::size_t end) {
    CallUpdateQueue updates;
    std::map<std::size_t, Running> running;  // joined before the queue goes
    for (std::size_t next = begin; next < end || !running.empty();) {
      for (; next < end && running.size() < k_max_side_by_side; ++next) {
        start(next, updates, running);
      }
      if (running.empty()) {
        continue;
      }
      for (CallUpdate& update : updates.collect()) {
        if (deliver(update, running.at(update.sender).live)) {
          running.erase(update.sender);
        }
      }
    }
  }

  // What will not run has its result at once.
  void start(std::size_t index, CallUpdateQueue& updates, std::map<std::size_t, Running>& running) {
    Prepared& prepared = calls_[index];
    if (suspended_) {
      suspend(index);
      return;
    }
    if (prepared.rejected && (prepared.decision.refusal || !stop_.stop_requested())) {
      conclude(index, {.output = std::move(*prepared.rejected)});
      return;
    }
    if (is_refused_ || stop_.stop_requested()) {  // what nobody has refused is judged once more
      conclude(index, {.output = not_started()});
      return;
    }
    if (!watcher_.started(prepared.call)) {
      is_refused_ = true;
      conclude(index, {.output = not_started()});
      return;
    }
    prepared.entry->configured.tool->line_up(prepared.call.id);
    const auto work = [this, index, &updates] {
      try {
        updates.finish(index, call(index, updates));
      } catch (const std::exception& exception) {  // of memory or threads there may be too little
        updates.finish(index, {.output = failure(agent::error_of(exception))});
      }
    };
    Running& entry =
        running.emplace(index, Running{.live = LiveText(runner_.watcher_redactor())}).first->second;
    try {
      entry.thread = std::jthread(work);
    } catch (const std::system_error&) {
      work();  // no more threads: then one after the other
    }
  }

  // A path was judged by its name: what it has turned out to be is judged when it is open.
  std::optional<std::string> refuses_file(const Prepared& prepared,
                                          const std::filesystem::path& real) const {
    const Permissions* permissions = runner_.options_.permissions;
    if (permissions == nullptr) {
      return std::nullopt;
    }
    const Access access{.kind = prepared.access, .target = real.string()};
    const std::string& tool = prepared.call.name;
    PermissionDecision decision = permissions->judge(tool, access, prepared.decision);
    const bool has_yes = decision.verdict == Verdict::ask && prepared.has_yes &&
                         permissions->covers(prepared.has_yes->rule, tool, access);
    return decision.verdict == Verdict::allow || has_yes
               ? std::nullopt
               : std::optional(std::move(decision.reason));
  }

  // On another host the yes to this call counts for nothing.
  std::optional<std::string> refuses_redirect(std::string_view tool,
                                              const std::string& url,
                                              bool is_same_host) const {
    const Permissions* permissions = runner_.options_.permissions;
    if (permissions == nullptr) {
      return std::nullopt;
    }
    const PermissionDecision decision =
        permissions->judge(tool, {.kind = Access::Kind::fetches, .target = url});
    const bool needs_own_yes = decision.verdict == Verdict::ask &&
                               (!is_same_host || !decision.may_always || decision.may_be_denied);
    return decision.verdict == Verdict::deny || needs_own_yes ? std::optional(decision.reason)
                                                              : std::nullopt;
  }

  Done call(std::size_t index, CallUpdateQueue& updates) {
    const RunnerOptions& options = runner_.options_;
    const Prepared& prepared = calls_[index];
    const CallContext context{
        .cwd = options.cwd,
        .temporary = options.temporary,
        .environment = options.environment,
        .program_runner = options.program_runner,
        .git_runner = options.git_runner,
        .policy = options.policy,
        .stop = stop_,
        .kill = kill_,
        .on_output = [&updates, index](std::string_view bytes) { updates.post(index, bytes); },
        .may_read =
            [permissions = options.permissions](const std::filesystem::path& file) {
              return permissions == nullptr || permissions->may_read(file);
            },
        .may_write =
            [permissions = options.permissions,
             &tool = prepared.call.name](const std::filesystem::path& file) {
              return permissions == nullptr || permissions->may_write(file, tool);
            },
        .refuses_file =
            [&](const std::filesystem::path& real) { return refuses_file(prepared, real); },
        .seen = runner_.guards_unseen_ ? &runner_.seen_ : nullptr,
        .questioner = options.questioner,
        .http = options.http,
        .refuses_redirect = [&](const std::string& url,
                                bool is_same_host) -> std::optional<std::string> {
          return refuses_redirect(prepared.call.name, url, is_same_host);
        },
        .redactor = options.redact_secrets ? runner_.watcher_redactor() : nullptr,
        .earlier_result = [this](std::int64_t number) { return watcher_.earlier_result(number); },
        .result_page = options.result_page,
        .call_id = prepared.call.id,
        .sub_agent =
            [&] {
              agent::SubAgentRecord record;
              updates.perform(index, [&] { record = watcher_.sub_agent(calls_[index].call.id); });
              return record;
            },
        .on_began =
            [&](const agent::MemberStarted& member) {
              bool is_recorded = false;
              updates.perform(index, [&] { is_recorded = watcher_.began(member); });
              return is_recorded;
            },
        .on_ended =
            [&](const agent::MemberFinished& member) {
              updates.perform(index, [&] { watcher_.ended(member); });
            },
        .conversation =
            [&] {
              agent::Conversation said;
              updates.perform(index, [&] { said = watcher_.conversation(); });
              return said;
            }};
    if (prepared.access == Access::Kind::writes && options.program_runner != nullptr) {
      if (const auto noted = options.program_runner->before_writing(); !noted) {
        const agent::Error& why = noted.error();
        return {.output = failure(why.code, why.message, why.help)};
      }
    }
    Tool& tool = *prepared.entry->configured.tool;
    std::string changes =
        options.shows_changes ? changes_by(tool, prepared.arguments, context) : std::string();
    Done done = call_tool(tool, prepared.arguments, context, *options.clock);
    done.changes = done.output.code ? std::string() : std::move(changes);
    return done;
  }

  // So are the calls behind it, whether they have begun or not.
  void suspend(std::size_t index) {
    const agent::ToolCall& call = calls_[index].call;
    results_[index] = {.call_id = call.id, .name = call.name, .status = agent::ToolStatus::not_run};
    watcher_.suspended(call, *suspended_);
  }

  // True: that was the end of the call.
  bool deliver(CallUpdate& update, LiveText& live) {
    for (std::packaged_task<void()>& task : update.tasks) {
      task();
    }
    std::string text = live.feed(update);
    if (update.done) {
      text += live.finish();
    }
    if (!text.empty()) {
      watcher_.output(calls_[update.sender].call, text);
    }
    if (update.done) {
      conclude(update.sender, std::move(*update.done));
    }
    return update.done.has_value();
  }

  void conclude(std::size_t index, Done done) {
    const Prepared& prepared = calls_[index];
    if (done.output.suspended) {
      suspended_ = std::move(done.output.suspended);
      suspend(index);
      return;
    }
    if (prepared.entry != nullptr) {
      cap_model_retries(*prepared.entry, done.output);
    }
    const bool is_untrusted = is_from_outside(prepared);
    const std::optional<Fence> fence =
        is_untrusted
            ? std::optional<Fence>(
                  std::in_place, runner_.options_.seed, prepared.number, prepared.call.name)
            : std::nullopt;
    const bool is_the_end = done.output.is_fatal;
    add(done.output.found_tools, "found");
    agent::ToolResult result = runner_.results_.make(
        prepared.call.id, prepared.call.name, std::move(done.output), fence ? &*fence : nullptr);
    runner_.has_kept_untrusted_ |= is_untrusted && !result.full_output.empty();
    result.duration_ms = done.duration_ms;
    result.changes = std::move(done.changes);
    result.fatal = is_the_end || is_fatal(prepared, result) || ends_run(result);
    results_[index] = std::move(result);
    results_[index].seen = runner_.seen_.take_news();
    watcher_.finished(results_[index]);
  }

  // What was too long for a result stays somebody else's words when it is read from the run's
  // folder.
  bool is_from_outside(const Prepared& prepared) const {
    return prepared.entry != nullptr &&
           (prepared.entry->configured.is_untrusted ||
            (runner_.has_kept_untrusted_ && reaches_what_is_kept(prepared)));
  }

  // A file tool by where its paths lead, and what is below that; any tool by its words.
  bool reaches_what_is_kept(const Prepared& prepared) const {
    const RunnerOptions& options = runner_.options_;
    if (prepared.call.arguments.contains(options.temporary.string())) {
      return true;
    }
    const Access access = prepared.entry->configured.tool->access(prepared.arguments);
    if (access.kind != Access::Kind::reads && access.kind != Access::Kind::names) {
      return false;
    }
    const std::string kept = true_path(options.temporary).string() + "/";
    const auto reaches = [&](const std::string& target) {
      const std::string real = true_path(options.cwd / target).string();
      return kept.starts_with(real.ends_with('/') ? real : real + "/") || real.starts_with(kept);
    };
    return reaches(access.target) || std::ranges::any_of(access.further, reaches);
  }

  static void cap_model_retries(Entry& entry, Output& output) {
    if (output.code != Code::tool_model_retry || ++entry.model_retries <= k_max_model_retries) {
      return;
    }
    output.code = Code::tool_failed;
    output.message +=
        fmt::format(" (it asked for a corrected call {} times before)", entry.model_retries - 1);
    output.suggestion = "Go another way; corrected calls did not help.";
  }

  bool ends_run(const agent::ToolResult& result) const {
    return result.code == Code::run_declined ||
           (result.code == Code::tool_policy_blocked && runner_.options_.fail_on_denied);
  }

  // Wrong arguments and cancellation are not the tool's failure.
  static bool is_fatal(const Prepared& prepared, const agent::ToolResult& result) {
    const bool has_failed =
        result.status == agent::ToolStatus::failed || result.status == agent::ToolStatus::timed_out;
    return has_failed && result.code != Code::tool_model_retry && prepared.entry != nullptr &&
           prepared.entry->configured.on_error == agent::ToolSpec::OnError::fatal;
  }

  Runner& runner_;
  agent::ToolWatcher& watcher_;
  std::stop_token stop_;
  std::stop_token kill_;
  std::vector<Prepared> calls_;
  std::vector<agent::ToolResult> results_;
  bool is_refused_ = false;
  std::optional<agent::Ending> suspended_;  // a call waits for the next process
};

Result<std::vector<ConfiguredTool>> configure_tools(const std::vector<agent::ToolSpec>& specs,
                                                    const agent::SandboxSpec* sandbox) {
  std::vector<ConfiguredTool> configured;
  for (const agent::ToolSpec& spec : specs) {
    TRY_ASSIGN(ConfiguredTool tool, configure_tool(spec));
    if (sandbox != nullptr) {
      tool.reach = reach_of(spec, *sandbox);
    }
    configured.push_back(std::move(tool));
  }
  return configured;
}

Result<std::unique_ptr<Runner>> Runner::create(const std::vector<agent::ToolSpec>& tools,
                                               RunnerOptions options) {
  TRY_ASSIGN(std::vector<ConfiguredTool> configured, configure_tools(tools, options.sandbox));
  return create(std::move(configured), std::move(options));
}

Result<std::unique_ptr<Runner>> Runner::create(std::vector<ConfiguredTool> tools,
                                               RunnerOptions options) {
  std::ranges::sort(tools, {}, [](const ConfiguredTool& tool) { return tool.tool->info().name; });
  std::vector<Entry> entries;
  for (ConfiguredTool& configured : tools) {
    const agent::ToolInfo& info = configured.tool->info();
    if (!entries.empty() && entries.back().configured.tool->info().name == info.name) {
      return fail(Code::registry_duplicate, fmt::format("the tool `{}` appears twice", info.name));
    }
    TRY_ASSIGN(Entry entry, entry_of(std::move(configured)));
    entries.push_back(std::move(entry));
  }
  return std::unique_ptr<Runner>(new Runner(std::move(entries), std::move(options)));
}

Result<Runner::Entry> Runner::entry_of(ConfiguredTool configured) {
  Entry entry{.configured = std::move(configured)};
  if (!entry.configured.has_foreign_schema) {
    TRY(entry.read_schema());
  }
  return entry;
}

Result<void> Runner::Entry::read_schema() {
  const agent::ToolInfo& info = configured.tool->info();
  using Draft = agent::JsonSchema::Draft;
  auto read = agent::JsonSchema::compile(
      agent::parse_json(info.parameters).value_or(agent::Json()),
      configured.has_foreign_schema ? Draft::draft_2020_12 : Draft::draft_7);
  if (!read) {
    return fail(std::move(read).error().while_(
        fmt::format("reading the parameters of the tool `{}`", info.name)));
  }
  schema = std::move(*read);
  return {};
}

const agent::JsonSchema& Runner::Entry::schema_of_call() {
  if (!schema && !read_schema()) {
    schema = *agent::JsonSchema::compile(agent::Json{{"type", "object"}});
  }
  return *schema;
}

bool Runner::is_denied(const Entry& entry) const {
  return options_.permissions != nullptr && options_.permissions->always_denies(entry.name());
}

Runner::Runner(std::vector<Entry> entries, RunnerOptions options)
    : options_(std::move(options)),
      entries_(std::move(entries)),
      guessing_(options_.redactor != nullptr ? std::optional(options_.redactor->guessing())
                                             : std::nullopt),
      results_(options_.temporary, options_.redact_secrets ? watcher_redactor() : nullptr) {
  for (const std::string& name : options_.scrub) {
    options_.environment.erase(name);
  }
  for (const Entry& entry : entries_) {
    const agent::ToolInfo& info = entry.configured.tool->info();
    names_.push_back(info.name);
    if (is_denied(entry)) {
      continue;
    }
    if (entry.configured.is_searched) {
      searched_.emplace(info.name, info);
    } else {
      infos_.push_back(info);
      infos_.back().idempotent |= entry.configured.tool->idempotent();
      infos_.back().writes = writes_files(info.name);
      if (!entry.configured.reach.empty()) {
        infos_.back().description += " " + entry.configured.reach;
      }
      offered_.push_back(info.name);
    }
  }
  const bool can_read = std::ranges::find(offered_, k_reader) != offered_.end();
  guards_unseen_ = options_.guards_unseen && can_read;
}

std::set<std::string, std::less<>> Runner::seen_names() const {
  std::set<std::string, std::less<>> names(offered_.begin(), offered_.end());
  names.insert(added_.begin(), added_.end());
  return names;
}

std::vector<agent::ToolInfo> Runner::added_tools(std::span<const agent::AddedTool> tools) const {
  std::vector<agent::ToolInfo> infos;
  for (const agent::AddedTool& tool : tools) {
    if (const auto found = searched_.find(tool.name); found != searched_.end()) {
      infos.push_back(found->second);
    }
  }
  return infos;
}

agent::ToolNews Runner::take_news(std::stop_token stop) {
  if (!options_.list_anew) {
    return {};
  }
  ListedTools listed = options_.list_anew(std::move(stop));
  agent::ToolNews news{.added = {}, .warnings = std::move(listed.warnings)};
  std::vector<Entry> entries;
  for (ConfiguredTool& tool : listed.tools) {
    auto entry = entry_of(std::move(tool));
    if (!entry) {
      news.warnings.push_back(entry.error().message);
    } else if (std::ranges::binary_search(names_, entry->name())) {
      news.warnings.push_back(
          fmt::format("the tool `{}` is there already: another one is not taken", entry->name()));
    } else {
      entries.push_back(*std::move(entry));
    }
  }
  for (Entry& entry : entries) {
    if (auto added = offer_later(entry)) {
      news.added.push_back(*std::move(added));
    }
    entries_.push_back(std::move(entry));
  }
  std::ranges::sort(entries_, {}, &Entry::name);
  names_.clear();
  std::ranges::transform(entries_, std::back_inserter(names_), &Entry::name);
  return news;
}

// What the model is told of it, where it is to see it.
std::optional<agent::AddedTool> Runner::offer_later(const Entry& entry) {
  const agent::ToolInfo& info = entry.configured.tool->info();
  if (is_denied(entry)) {
    return std::nullopt;
  }
  searched_.emplace(info.name, info);
  if (entry.configured.is_searched || !added_.insert(info.name).second) {
    return std::nullopt;
  }
  offered_.push_back(info.name);
  return agent::AddedTool{.name = info.name, .bytes = bytes_of(info)};
}

void Runner::recall(const agent::State& past) {
  for (const agent::AddedTool& tool : past.added_tools) {
    added_.insert(tool.name);
  }
  for (const auto& [path, file] : past.seen_files) {
    seen_.recall(file);
  }
  calls_ = static_cast<std::uint64_t>(past.tool_calls);
  has_kept_untrusted_ = true;  // for all that is known
  std::map<std::string_view, const agent::ToolCall*> calls;
  for (const agent::Message& message : past.conversation.messages) {
    if (const auto* said = std::get_if<agent::AssistantMessage>(&message)) {
      for (const agent::ToolCall& call : said->reply->tool_calls) {
        calls.insert_or_assign(call.id, &call);
      }
      continue;
    }
    const auto* result = std::get_if<agent::ToolMessage>(&message);
    const auto call = result == nullptr ? calls.end() : calls.find(result->call_id);
    if (call == calls.end() || result->is_error) {
      continue;
    }
    const auto entry = std::ranges::find_if(entries_, [&](const Entry& one) {
      return one.configured.tool->info().name == result->name;
    });
    const auto arguments = agent::parse_json(call->second->arguments);
    if (entry != entries_.end() && arguments) {
      entry->configured.tool->recall(*arguments);
    }
  }
}

std::vector<agent::Leftover> Runner::tidy_up() {
  std::vector<agent::Leftover> left;
  if (options_.program_runner != nullptr) {
    left = options_.program_runner->tidy_up();
  }
  if (options_.tidy_up) {
    std::ranges::move(options_.tidy_up(), std::back_inserter(left));
  }
  return left;
}

std::vector<agent::ToolResult> Runner::run(std::span<const agent::ToolCall> calls,
                                           agent::ToolWatcher& watcher,
                                           std::stop_token stop,
                                           std::stop_token kill) {
  return Round(*this, calls, watcher, std::move(stop), std::move(kill)).perform();
}

}  // namespace tools

#include "tools/hooks/hooks.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tools/hooks/name_matcher.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::HookContext;
using agent::HookDecision;
using agent::HookPoint;
using agent::HookSpec;
using agent::Result;
using Decision = HookAnswer::Decision;

constexpr std::size_t k_max_context =
    30'000;  // as much as the model gets to see of a tool's result

// Nothing is left to end, or nothing has to do with it.
bool only_tells(HookPoint point) {
  switch (point) {
    case HookPoint::notification:
    case HookPoint::run_end:
      return true;
    case HookPoint::run_start:
    case HookPoint::pre_model:
    case HookPoint::post_model:
    case HookPoint::pre_tool_use:
    case HookPoint::post_tool_use:
    case HookPoint::pre_compact:
    case HookPoint::stop:
      return false;
  }
  std::unreachable();
}

bool is_settled(const HookDecision& decision) {
  return decision.ending || decision.refusal;
}

}  // namespace

std::string hook_command(const agent::HooksSpec& spec,
                         const HookSpec& hook,
                         const std::filesystem::path& cwd) {
  const HookDialect* dialect = hook_dialect(spec.dialect);
  std::string command = hook.command;
  if (dialect == nullptr || dialect->folder_variable.empty()) {
    return command;
  }
  for (const std::string& variable : {fmt::format("${{{}}}", dialect->folder_variable),
                                      fmt::format("${}", dialect->folder_variable)}) {
    for (std::size_t at = command.find(variable); at != std::string::npos;
         at = command.find(variable, at + cwd.native().size())) {
      command.replace(at, variable.size(), cwd.native());
    }
  }
  return command;
}

struct Hooks::Hook {
  HookSpec spec;
  NameMatcher matcher;
  UserPrograms programs;
  agent::Environment environment;
  UserCommand command;
};

// What is asked at one point.
class Hooks::Round {
 public:
  Round(Hooks& hooks,
        const HookContext& hook_context,
        const agent::Emit& emit,
        std::stop_token stop)
      : hooks_(hooks), hook_context_(hook_context), emit_(emit), stop_(std::move(stop)) {
    if (hook_context.call != nullptr) {
      call_ = *hook_context.call;
      hook_context_.call = &call_;
    }
    if (hook_context.result != nullptr) {
      result_ = *hook_context.result;
      hook_context_.result = &result_;
    }
  }

  HookDecision perform() {
    for (const Hook& hook : hooks_.hooks_) {
      const bool is_meant = hook.spec.point == hook_context_.point && fits(hook);
      if (is_meant && (!is_settled(decision_) || hook.spec.kind == HookSpec::Kind::observe)) {
        ask(hook);
      }
    }
    return std::move(decision_);
  }

 private:
  bool fits(const Hook& hook) const {
    return !is_about_a_call(hook_context_.point) ||
           is_about(hooks_.dialect_, hook.matcher, call_.name);
  }

  void ask(const Hook& hook) {
    agent::Clock& clock = *hooks_.options_.clock;
    const auto begin = clock.now();
    agent::HookRan event{.turn = hook_context_.turn,
                         .point = hook_context_.point,
                         .hook = hook.spec.command,
                         .call_id = call_.id,
                         .outcome = "ok"};
    auto answer = run(hook, event);
    event.duration_ms =
        std::chrono::duration_cast<agent::Milliseconds>(clock.now() - begin).count();
    if (!answer) {
      event.outcome = "failed";
      event.reason = answer.error().message;
      break_down(hook.spec, answer.error().message);
    } else {
      event.message = answer->message;
      heed(hook.spec, *std::move(answer), event);
    }
    emit_(std::move(event));
  }

  Result<HookAnswer> run(const Hook& hook, agent::HookRan& event) {
    const HookOptions& options = hooks_.options_;
    const auto done = hook.command.run(
        hook.programs,
        hook.environment,
        hook_input(hooks_.dialect_, hook_context_, options.world, options.clock->wall()),
        hook.spec.timeout,
        stop_);
    if (!done) {
      return agent::fail(Code::hook_failed, done.error());
    }
    event.exit_status = done->exit_status;
    if (!done->is_whole) {
      return agent::fail(
          Code::hook_failed,
          fmt::format("its answer is longer than {} bytes", UserCommand::k_most_output));
    }
    const bool counts =
        hook.spec.kind != HookSpec::Kind::observe && !only_tells(hook_context_.point);
    auto answer = read_hook_answer(
        hooks_.dialect_, hook_context_, done->exit_status, done->output, done->errors, counts);
    if (answer && options.redactor != nullptr) {  // before anything of it is cut
      answer->reason = options.redactor->apply(answer->reason);
      answer->context = options.redactor->apply(answer->context);
      if (answer->output) {
        answer->output = options.redactor->apply(*answer->output);
      }
    }
    return answer;
  }

  // A guard that breaks ends the run; what a transformer was to change is not handed on unchanged.
  void break_down(const HookSpec& hook, const std::string& why) {
    if (hook.may_fail || hook.kind == HookSpec::Kind::observe || only_tells(hook_context_.point)) {
      return;
    }
    std::string message = fmt::format(
        "the hook `{}` ({}) broke down: {}", hook.command, agent::to_string(hook.point), why);
    if (hook.kind == HookSpec::Kind::transform && is_about_a_call(hook_context_.point)) {
      decision_.refusal = std::move(message);
      return;
    }
    decision_.ending = agent::Error{
        .code = Code::hook_failed,
        .message = std::move(message),
        .help = "Fix the hook; with `on_error: ignore` the run goes on when it breaks."};
  }

  void heed(const HookSpec& hook, HookAnswer answer, agent::HookRan& event) {
    const bool says_something = answer.stops || answer.decision != Decision::none ||
                                answer.arguments || answer.output || !answer.context.empty();
    if (hook.kind == HookSpec::Kind::observe || only_tells(hook_context_.point)) {
      if (says_something && hook.kind == HookSpec::Kind::observe &&
          !only_tells(hook_context_.point)) {
        event.reason =
            "its answer does not count: it is an observer (`kind: guard` or `transform`)";
      }
      return;
    }
    const std::string reason = answer.reason.empty()
                                   ? fmt::format("the hook `{}` gave no reason", hook.command)
                                   : answer.reason;
    if (answer.stops) {
      end(hook, reason, event);
      return;
    }
    // Between a reply and the results of its calls there is no room for more.
    if (!answer.context.empty() && hook_context_.point != HookPoint::post_model) {
      decision_.context.emplace_back(agent::head_and_tail(answer.context, k_max_context));
    }
    change(answer, event);
    switch (answer.decision) {
      case Decision::deny:
        deny(hook, reason, event);
        return;
      case Decision::ask:
        decision_.question = reason;
        event.outcome = "asked";
        event.reason = reason;
        return;
      case Decision::allow:
        decision_.is_allowed = true;
        event.outcome = event.outcome == "ok" ? "allowed" : event.outcome;
        event.reason = answer.reason;
        return;
      case Decision::none:
        return;
    }
  }

  void end(const HookSpec& hook, const std::string& reason, agent::HookRan& event) {
    event.outcome = "stopped";
    event.reason = reason;
    decision_.ending = agent::Error{.code = Code::hook_terminated,
                                    .message = fmt::format("the hook `{}` ({}) stopped the run: {}",
                                                           hook.command,
                                                           agent::to_string(hook.point),
                                                           reason),
                                    .help = {}};
  }

  void deny(const HookSpec& hook, const std::string& reason, agent::HookRan& event) {
    event.outcome = "denied";
    event.reason = reason;
    switch (hook_context_.point) {
      case HookPoint::pre_tool_use:
        decision_.refusal = reason;
        return;
      case HookPoint::post_tool_use:
        if (hooks_.dialect_.replaces_denied_result) {
          decision_.refusal = reason;
        } else {
          decision_.context.push_back(reason);
        }
        return;
      case HookPoint::stop:
        if (hook_context_.again) {
          event.outcome = "ok";
          event.reason = "the run was sent on once before: " + reason;
        } else {
          decision_.refusal = reason;
        }
        return;
      case HookPoint::run_start:
      case HookPoint::pre_model:
      case HookPoint::post_model:
      case HookPoint::pre_compact:
        end(hook, reason, event);
        return;
      case HookPoint::notification:
      case HookPoint::run_end:
        return;
    }
  }

  void change(HookAnswer& answer, agent::HookRan& event) {
    if (answer.arguments && *answer.arguments != call_.arguments) {
      call_.arguments = *std::move(answer.arguments);
      decision_.text = call_.arguments;
      event.outcome = "changed";
    }
    if (answer.output && *answer.output != result_.content) {
      result_.content = *std::move(answer.output);
      decision_.text = result_.content;
      event.outcome = "changed";
    }
  }

  Hooks& hooks_;
  HookContext hook_context_;
  const agent::Emit& emit_;
  std::stop_token stop_;
  agent::ToolCall call_;      // as the hooks so far have made it
  agent::ToolResult result_;  // the same
  HookDecision decision_;
};

Hooks::Hooks(const agent::HooksSpec& spec, HookOptions options)
    : dialect_(*hook_dialect(spec.dialect)), options_(std::move(options)) {
  for (const HookSpec& hook : spec.hooks) {
    UserPrograms programs = options_.programs_of(hook.sandbox);
    programs.may_more = programs.may_more || !hook.env.empty();
    agent::Environment environment = user_environment(programs, hook.env);
    if (!dialect_.folder_variable.empty()) {
      environment.emplace(dialect_.folder_variable, options_.world.cwd.string());
    }
    UserCommand command(
        hook.command, hook_command(spec, hook, options_.world.cwd), programs, environment);
    hooks_.push_back({.spec = hook,
                      .matcher = NameMatcher(hook.matcher),
                      .programs = std::move(programs),
                      .environment = std::move(environment),
                      .command = std::move(command)});
  }
}

Hooks::~Hooks() = default;

HookDecision Hooks::judge(const HookContext& hook_context,
                          const agent::Emit& emit,
                          std::stop_token stop) {
  const bool is_asked =
      !hook_context.is_partial && std::ranges::any_of(hooks_, [&](const Hook& hook) {
        return hook.spec.point == hook_context.point;
      });
  return is_asked ? Round(*this, hook_context, emit, std::move(stop)).perform() : HookDecision();
}

}  // namespace tools

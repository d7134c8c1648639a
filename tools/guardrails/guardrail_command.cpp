// Checks by a command of the user's: the text as JSON on stdin, the answer as exit status or JSON.
#include "agent/json.h"
#include "agent/text.h"
#include "tools/guardrails/guardrail_check.h"
#include "tools/hooks/user_command.h"
#include "tools/hooks/verdict.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace tools {
namespace {

using agent::GuardrailSpec;
using agent::Json;

constexpr int k_found = 2;  // the exit status
constexpr std::size_t k_longest_reason = 1'000;

Finding broken(std::string reason) {
  return {.kind = Finding::Kind::broken, .reason = std::move(reason)};
}

std::string reason_from(std::string_view text) {
  const std::string_view reason = agent::trimmed(text);
  return reason.empty() ? "the command says so"
                        : agent::to_valid_utf8(agent::excerpt(reason, k_longest_reason));
}

Finding found(std::string_view reason, std::optional<GuardrailSpec::Action> at_most = {}) {
  return {.kind = Finding::Kind::found, .reason = reason_from(reason), .at_most = at_most};
}

Finding decided(const Json& answer) {
  using Action = GuardrailSpec::Action;
  constexpr auto k_decisions = std::to_array<std::pair<std::string_view, Action>>(
      {{"warn", Action::warn}, {"deny", Action::deny}, {"kill", Action::kill}});
  constexpr auto k_members = std::to_array<std::string_view>({"decision", "reason"});
  if (const std::string strange = strange_member(answer, k_members); !strange.empty()) {
    return broken("its answer: " + strange);
  }
  if (const Json* reason = agent::find(answer, "reason");
      reason != nullptr && !reason->is_string()) {
    return broken("its answer: `reason` is not a text");
  }
  const std::string_view decision = agent::text_at(answer, "decision");
  if (decision == "allow") {
    return {};
  }
  for (const auto& [word, action] : k_decisions) {
    if (word == decision) {
      return found(agent::text_at(answer, "reason"), action);
    }
  }
  return broken("its answer has no `decision` of allow, warn, deny or kill");
}

Finding read_answer(const UserCommand::Done& done) {
  if (agent::trimmed(done.output).empty()) {
    return {};
  }
  if (!done.is_whole) {
    return broken(fmt::format("its stdout is longer than {} bytes", UserCommand::k_most_output));
  }
  const auto answer = read_verdict(done.output);
  return answer ? decided(*answer)
                : broken("its stdout is neither empty nor one JSON object: " + answer.error());
}

class CommandCheck final : public GuardrailCheck {
 public:
  CommandCheck(GuardrailSpec spec, const UserPrograms& programs)
      : spec_(std::move(spec)),
        programs_(programs),
        environment_(user_environment(programs_, spec_.env)),
        command_(spec_.what, spec_.what, programs_, environment_) {}

  Finding look(const Subject& subject, std::stop_token stop) override {
    const auto done = command_.run(programs_,
                                   environment_,
                                   agent::dump(question(subject)) + "\n",
                                   spec_.timeout,
                                   std::move(stop));
    if (!done) {
      return broken(done.error());
    }
    if (done->exit_status == k_found) {
      return found(done->errors);
    }
    if (done->exit_status != 0) {
      const std::string_view errors = agent::trimmed(done->errors);
      return broken(fmt::format("exit status {}{}{}",
                                done->exit_status,
                                errors.empty() ? "" : ": ",
                                agent::excerpt(errors, k_longest_reason)));
    }
    return read_answer(*done);
  }

 private:
  static Json question(const Subject& subject) {
    Json json{{"point", to_string(subject.of)}, {"text", subject.text}};
    if (subject.call != nullptr) {
      json["tool_name"] = subject.call->name;
      json["tool_input"] = agent::parse_json(subject.call->arguments).value_or(Json());
    }
    return json;
  }

  GuardrailSpec spec_;
  UserPrograms programs_;
  agent::Environment environment_;
  UserCommand command_;
};

}  // namespace

std::unique_ptr<GuardrailCheck> make_command_check(const GuardrailSpec& spec,
                                                   const UserPrograms& programs) {
  UserPrograms own = programs;
  own.may_more = own.may_more || !spec.env.empty();
  return std::make_unique<CommandCheck>(spec, own);
}

}  // namespace tools

#include "cli/given_answers.h"

#include "agent/message.h"
#include "agent/refusal.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "tools/builtin/registry.h"
#include "tools/builtin/shown_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

using agent::Answer;
using agent::Result;

constexpr std::size_t k_shown_calls = 5;
constexpr std::size_t k_shown_bytes = 80;
constexpr std::size_t k_shortest_prefix = 4;

std::string ticked(std::string_view id) {
  return "`" + agent::one_line(id, 100) + "`";
}

// Of a run in which nothing waits: who does, or what goes on with it.
std::string who_waits(const RecordedRun& run) {
  const auto waiting = agent::store::waiting_runs(run.store, run.run_id, "");
  if (waiting) {
    for (const agent::store::WaitingRun& member : *waiting) {
      if (member.approvals.are_pending()) {
        return fmt::format(
            "a member of it waits: `errand resume {} --approve CALL`; `errand runs "
            "pending {}` shows all that do",
            member.row.run_id,
            run.run_id);
      }
    }
  }
  return "nothing waits for approval in it; `errand runs pending` lists what does, and what can be "
         "carried on";
}

std::unexpected<agent::Error> refused(const RecordedRun& run, std::string message) {
  const std::string pending = pending_words(run);
  return agent::fail(agent::Code::cli_usage,
                     std::move(message),
                     pending.empty()
                         ? who_waits(run)
                         : "waiting: " + pending + "; `errand runs pending` shows all of it");
}

// The calls of one run, as a command line names them.
class CallNames {
 public:
  explicit CallNames(const RecordedRun& run) : run_(run) {
    for (const agent::Message& message : run.past.state.conversation.messages) {
      if (const auto* said = std::get_if<agent::AssistantMessage>(&message)) {
        for (const agent::ToolCall& call : said->reply->tool_calls) {
          ids_.insert(call.id);
        }
      }
    }
  }

  // CALL, or RUN:CALL.
  std::optional<std::string> find(const std::string& word) const {
    if (ids_.contains(word)) {
      return word;
    }
    for (std::size_t colon = word.find(':'); colon != std::string::npos;
         colon = word.find(':', colon + 1)) {
      std::string id = word.substr(colon + 1);
      if (is_run(word.substr(0, colon)) && ids_.contains(id)) {
        return id;
      }
    }
    return std::nullopt;
  }

 private:
  bool is_run(std::string_view word) const {
    return word == run_.begun.session ||
           (word.size() >= k_shortest_prefix && run_.run_id.starts_with(word));
  }

  const RecordedRun& run_;
  std::set<std::string, std::less<>> ids_;
};

bool is_open(const RecordedRun& run, const std::string& id) {
  const agent::State& state = run.past.state;
  return std::ranges::find(state.open_calls, id, &agent::ToolCall::id) != state.open_calls.end() &&
         !state.results.contains(id) && !state.started_calls.contains(id);
}

// In the words in which the model has read it, where the call did not run or failed.
std::string what_came_of(const RecordedRun& run, const std::string& id) {
  const agent::State& state = run.past.state;
  if (const auto known = state.results.find(id); known != state.results.end()) {
    return known->second.status == agent::ToolStatus::ok ? "" : known->second.content;
  }
  for (const agent::Message& message : state.conversation.messages | std::views::reverse) {
    const auto* result = std::get_if<agent::ToolMessage>(&message);
    if (result != nullptr && result->call_id == id) {
      return result->is_error ? result->content : "";
    }
  }
  return "";
}

// Whether somebody can say this to the call; what was said before can be said again.
Result<void> check_call(const RecordedRun& run, const std::string& id, Answer answer) {
  const agent::Approvals& approvals = run.past.state.approvals;
  const agent::ParkedCall* parked = approvals.find(id);
  const auto said = approvals.said.find(id);
  const auto& finished = run.past.state.finished;
  if (!is_open(run, id) && finished &&
      finished->exit_code == agent::row(agent::Code::durable_signal_timeout).exit_code) {
    return refused(run,
                   fmt::format("the deadline of its approval has closed the call {} of the run {}",
                               ticked(id),
                               run.run_id));
  }
  if (!is_open(run, id)) {
    const std::string came = what_came_of(run, id);
    return refused(run,
                   fmt::format("the call {} of the run {} has begun, or has its result{}{}",
                               ticked(id),
                               run.run_id,
                               came.empty() ? "" : ": ",
                               agent::one_line(came, 200)));
  }
  if (said != approvals.said.end()) {
    return answer == Answer::once && said->second.answer == Answer::no
               ? refused(run, fmt::format("the call {} is denied already", ticked(id)))
               : Result<void>();
  }
  if (parked == nullptr) {
    return refused(run,
                   approvals.parked.empty()
                       ? fmt::format("the run {} is not parked", run.run_id)
                       : fmt::format("the call {} does not wait for approval", ticked(id)));
  }
  if (answer == Answer::once && !agent::can_be_approved(*parked)) {
    return agent::fail(
        agent::Code::cli_usage,
        fmt::format("the call {} cannot be approved: a secret in its arguments is not in the "
                    "journal",
                    ticked(id)),
        "`errand resume` without it has the model make the call again: on a terminal you are "
        "asked then, and `--allow RULE` says yes beforehand");
  }
  return {};
}

bool is_tool(const RecordedRun& run, const std::string& word) {
  const std::vector<std::string> builtins = tools::builtin_names();
  return std::ranges::find(run.begun.tools, word) != run.begun.tools.end() ||
         std::ranges::find(builtins, word) != builtins.end();
}

bool is_tool_of_member(const RecordedRun& run,
                       const std::string& word,
                       const agent::Environment& environment,
                       std::set<std::string>& seen) {  // a record may lie
  const agent::State& state = run.past.state;
  const auto has_it = [&](const agent::MemberRecord& member) {
    if (member.run_id.empty() || !seen.insert(member.run_id).second) {
      return false;
    }
    const auto own = recall(run.store, member.run_id, environment);
    return own && (is_tool(*own, word) || is_tool_of_member(*own, word, environment, seen));
  };
  return std::ranges::any_of(std::views::values(state.members), has_it) ||
         std::ranges::any_of(
             std::views::values(state.sub_agents), has_it, &agent::SubAgentRecord::record);
}

// A tool that a rule denies whole is none of the run's any more.
bool was_given_before(const RecordedRun& run, const std::string& word) {
  const auto before = recorded_options(run);
  const auto rules = before ? before->all("--deny") : std::vector<std::string>();
  return std::ranges::find(rules, word) != rules.end();
}

bool can_be_rule(const RecordedRun& run,
                 const Parsed& parsed,
                 const std::string& word,
                 const agent::Environment& environment) {
  std::set<std::string> seen;
  return is_tool(run, word) || word.find_first_of("(*?") != std::string::npos ||
         word.starts_with("mcp__") || parsed.has("--agent") || was_given_before(run, word) ||
         is_tool_of_member(run, word, environment, seen);
}

Result<void> add(const RecordedRun& run,
                 const std::string& id,
                 agent::GivenAnswer answer,
                 std::map<std::string, agent::GivenAnswer>& answers) {
  TRY(check_call(run, id, answer.answer));
  const auto [known, is_new] = answers.try_emplace(id, answer);
  if (!is_new && known->second.answer != answer.answer) {
    return refused(run, fmt::format("the call {} is both approved and denied", ticked(id)));
  }
  return {};
}

Result<void> check_reason(const Parsed& parsed, bool has_denial) {
  const auto reason = parsed.value("--reason");
  if (!reason) {
    return {};
  }
  if (!has_denial) {
    return agent::fail(agent::Code::cli_usage,
                       "`--reason` says why calls are denied, and none is",
                       "`--deny CALL --reason TEXT`");
  }
  if (const auto why = agent::why_not_text(*reason)) {
    return agent::fail(
        agent::Code::cli_usage, "the reason is not valid text: " + *why, "give it as UTF-8");
  }
  return {};
}

}  // namespace

std::string pending_words(const RecordedRun& run) {
  const auto pending = run.past.state.approvals.pending();
  std::string words;
  for (std::size_t at = 0; at < std::min(pending.size(), k_shown_calls); ++at) {
    const agent::ToolCall& call = pending[at]->request.call;
    words += fmt::format(
        "{}{} ({})",
        at == 0 ? "" : ", ",
        ticked(call.id),
        agent::one_line(tools::shown_call(agent::one_line(call.name, 60), call.arguments),
                        k_shown_bytes));
  }
  return pending.size() > k_shown_calls
             ? fmt::format("{}, and {} more", words, pending.size() - k_shown_calls)
             : words;
}

Result<std::map<std::string, agent::GivenAnswer>> given_answers(
    const RecordedRun& run, Parsed& parsed, const agent::Environment& environment) {
  std::map<std::string, agent::GivenAnswer> answers;
  if (parsed.has("--approve") || parsed.has("--deny")) {
    TRY_ASSIGN(const auto now, agent::store::run_info(run.store, run.run_id));
    if (now.status == agent::store::RunStatus::running) {
      return agent::store::taken(run.run_id, now.owner);
    }
  }
  const CallNames names(run);
  const auto unknown = [&](const std::string& word) {
    return refused(run, fmt::format("the run {} has no call {}", run.run_id, ticked(word)));
  };
  for (const std::string& word : parsed.all("--approve")) {
    const auto id = names.find(word);
    if (!id) {
      return unknown(word);
    }
    TRY(add(run, *id, {.answer = Answer::once, .reason = {}}, answers));
  }
  std::vector<std::string> rules;
  for (const std::string& word : parsed.all("--deny")) {
    const auto id = names.find(word);
    if (id && *id == word && is_tool(run, word)) {
      return agent::fail(agent::Code::cli_usage,
                         fmt::format("{} is a tool, and a call of this run", ticked(word)),
                         fmt::format("the call: `--deny {}:{}`; the tool: `--deny '{}*'`",
                                     run.run_id,
                                     agent::one_line(word, 100),
                                     agent::one_line(word, 100)));
    }
    if (id) {
      TRY(add(run,
              *id,
              {.answer = Answer::no, .reason = parsed.value("--reason").value_or("")},
              answers));
    } else if (can_be_rule(run, parsed, word, environment)) {
      rules.push_back(word);
    } else {
      return unknown(word);
    }
  }
  TRY(check_reason(parsed, std::ranges::any_of(answers, [](const auto& one) {
                     return one.second.answer == Answer::no;
                   })));
  if (rules.empty()) {
    parsed.values.erase("--deny");
  } else {
    parsed.values["--deny"] = std::move(rules);
  }
  return answers;
}

}  // namespace cli

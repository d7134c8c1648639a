// Folds runs of a journal, and says where the state that comes of one is not the one that the run
// ended with. Usage: journal_fold FILE RUN…; exit code 1 where one differs.
#include "agent/event.h"
#include "agent/json.h"
#include "agent/log_fold.h"
#include "agent/state.h"
#include "agent/store/runs.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

// What the loop adds to a result besides is not in the state: times, numbers, why it ended.
constexpr std::array<std::string_view, 12> k_of_the_state = {"exit_code",
                                                             "usage",
                                                             "cost_usd",
                                                             "turns",
                                                             "tool_calls",
                                                             "denials",
                                                             "model",
                                                             "fallbacks",
                                                             "over_budget",
                                                             "models",
                                                             "usage_estimated",
                                                             "output"};

agent::Ending ending_of(const agent::RunResult& result) {
  const bool by_signal = agent::status_of(result.exit_code) == agent::Status::cancelled;
  return {.error = result.error, .signal = by_signal ? result.exit_code - 128 : 0};
}

bool agree(const std::string& run,
           std::string_view what,
           const agent::Json& a,
           const agent::Json& b) {
  if (a == b) {
    return true;
  }
  std::printf("%s: the log folds to %.*s %s, and the run ended with %s\n",
              run.c_str(),
              static_cast<int>(what.size()),
              what.data(),
              agent::dump(a).c_str(),
              agent::dump(b).c_str());
  return false;
}

bool folds(const std::string& run, const std::vector<agent::Event>& events) {
  agent::LogFold log;
  bool agrees = true;
  for (const agent::Event& event : events) {
    if (const auto* end = std::get_if<agent::RunFinished>(&event.body)) {
      const agent::Ending ending = ending_of(end->result);
      const agent::Json folded = agent::to_json(agent::make_result(log.state(), ending));
      const agent::Json ended = agent::to_json(end->result);
      const bool is_flow = log.state().plan.is_flow;  // whose answer is a member's
      for (const std::string_view key : k_of_the_state) {
        if (is_flow && key == "output") {
          continue;
        }
        agrees &= agree(run, key, folded[std::string(key)], ended[std::string(key)]);
      }
      // The pieces of an answer that never came whole are not kept.
      agrees &= end->result.exit_code != 0 || is_flow ||
                agree(run, "text", folded["text"], ended["text"]);
    }
    if (const auto why = log.add(event); !why.empty()) {
      std::printf("%s: event %ld: %s\n", run.c_str(), static_cast<long>(event.seq), why.c_str());
      return false;
    }
  }
  return agrees;  // of a run that was killed there is no end
}

}  // namespace

int main(int count, char** arguments) {
  bool all_fold = count > 2;
  for (int at = 2; at < count; ++at) {
    const auto events = agent::store::read_run(arguments[1], arguments[at]);
    if (!events) {
      std::printf("%s: %s\n", arguments[at], events.error().message.c_str());
    }
    all_fold &= events && folds(arguments[at], *events);
  }
  return all_fold ? 0 : 1;
}

#include "agent/compaction.h"

#include "agent/budget.h"
#include "agent/context_view.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

namespace agent {
namespace {

constexpr std::int64_t k_percent = 100;
constexpr std::int64_t k_last_resort = 85;  // percent, where no summary is asked for
constexpr std::int64_t k_most_recent = 3;   // the newest turns may have one part of so many
constexpr int k_most_failures = 2;          // of summaries, in a row

std::int64_t share_of(std::int64_t window, std::int64_t percent) {
  return window * std::clamp<std::int64_t>(percent, 0, k_percent) / k_percent;
}

class Compactor {
 public:
  Compactor(const State& state, std::int64_t window)
      : state_(state),
        plan_(state.plan.context),
        whole_(state.conversation.messages),
        window_(window),
        fill_(estimated_input(state)),
        bytes_(
            std::max<std::int64_t>(state.fixed_bytes + weight(seen_by_model(state).messages), 1)) {}

  std::optional<ContextCompacted> plan() const {
    if (plan_.clear_at > 0 && fill_ >= share(plan_.clear_at)) {
      if (auto cleared = worth_it(clear(plan_.keep_results, 0))) {
        return cleared;
      }
    }
    if (fill_ < share(plan_.summarize_at > 0 ? plan_.summarize_at : k_last_resort)) {
      return std::nullopt;
    }
    if (plan_.summarize_at > 0 && state_.failed_summaries < k_most_failures) {
      if (auto summarized = summarize()) {
        return summarized;
      }
    }
    if (auto cleared = worth_it(clear(0, target()))) {
      return cleared;
    }
    if (auto left_out = worth_it(leave_out())) {
      return left_out;
    }
    return last_chance();
  }

 private:
  std::int64_t share(std::int64_t percent) const { return share_of(window_, percent); }
  std::int64_t target() const { return share(plan_.clear_at > 0 ? plan_.clear_at : 60); }
  std::int64_t tokens(std::int64_t bytes) const {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * static_cast<double>(fill_) /
                                     static_cast<double>(bytes_));
  }

  ContextCompacted pass(const char* action) const {
    return {.turn = state_.turns,
            .action = action,
            .reason = "fill",
            .model = state_.model,
            .window = window_,
            .before = fill_,
            .pinned = state_.view.pinned};
  }

  std::optional<ContextCompacted> worth_it(ContextCompacted pass) const {
    pass.after = estimated_input(state_, view_after(state_, pass));
    return frees_enough(pass) ? std::optional(std::move(pass)) : std::nullopt;
  }

  // Of each tool whose last word stays, where that is.
  std::vector<std::size_t> kept_results() const {
    std::vector<std::size_t> kept;
    for (const std::string& tool : plan_.kept_tools) {
      for (std::size_t at = state_.results_at.size(); at > 0; --at) {
        const auto& result = std::get<ToolMessage>(whole_[state_.results_at[at - 1]]);
        if (result.name == tool && !result.is_error) {
          kept.push_back(at);
          break;
        }
      }
    }
    return kept;
  }

  // Old results, but for the newest `keep`; with a `target`, no more than it takes.
  ContextCompacted clear(std::int64_t keep, std::int64_t target) const {
    ContextCompacted cleared = pass("cleared");
    const auto& places = state_.results_at;
    const auto first = std::ranges::lower_bound(places, state_.view.covered()) - places.begin();
    const auto last = static_cast<std::int64_t>(places.size()) - std::max<std::int64_t>(keep, 0);
    const auto kept = kept_results();
    std::int64_t freed = 0;
    for (std::int64_t number = first + 1; number <= last; ++number) {
      if (target > 0 && fill_ - tokens(freed) <= target) {
        break;
      }
      if (state_.view.cleared.contains(number) ||
          std::ranges::find(kept, static_cast<std::size_t>(number)) != kept.end()) {
        continue;
      }
      const auto& result =
          std::get<ToolMessage>(whole_[places[static_cast<std::size_t>(number) - 1]]);
      const auto gain = static_cast<std::int64_t>(result.content.size()) -
                        static_cast<std::int64_t>(placeholder(result, number, plan_.reader).size());
      if (gain > 0) {
        freed += gain;
        cleared.results.push_back(number);
      }
    }
    return cleared;
  }

  // Where the newest turn begins, which always stays: the model has yet to read its results.
  std::size_t newest_turn() const {
    for (std::size_t at = whole_.size(); at > 0; --at) {
      if (std::holds_alternative<AssistantMessage>(whole_[at - 1])) {
        return at - 1;
      }
    }
    return 0;
  }

  // As the model sees it.
  std::int64_t weight_at(std::size_t at, std::int64_t number) const {
    const auto* const result = std::get_if<ToolMessage>(&whole_[at]);
    return result != nullptr && state_.view.cleared.contains(number)
               ? static_cast<std::int64_t>(placeholder(*result, number, plan_.reader).size())
               : weight(whole_[at]);
  }

  // From there on the turns stay, as they fit into what is kept of them.
  std::size_t recent_turns() const {
    const std::int64_t most = std::min(plan_.keep_recent, window_ / k_most_recent);
    auto number = static_cast<std::int64_t>(state_.results_at.size());
    std::int64_t sum = 0;
    std::size_t at = whole_.size();
    for (; at > state_.view.covered(); --at) {
      sum += weight_at(at - 1, number);
      if (tokens(sum) > most) {
        break;
      }
      number -= std::holds_alternative<ToolMessage>(whole_[at - 1]) ? 1 : 0;
    }
    while (at < whole_.size() && std::holds_alternative<ToolMessage>(whole_[at])) {
      ++at;  // the call of it does not fit
    }
    return std::min(at, newest_turn());
  }

  // Only where it would free a fifth with a summary of half the length that is allowed.
  std::optional<ContextCompacted> summarize() const {
    ContextCompacted summarized = pass("summarized");
    const std::size_t place = boundary(whole_, recent_turns());
    if (place <= state_.view.summarized) {
      return std::nullopt;
    }
    summarized.messages = static_cast<std::int64_t>(place);
    const std::int64_t expected = summary_limit(window_) / 2 * k_bytes_per_token;
    ContextCompacted imagined = summarized;
    imagined.summary.assign(static_cast<std::size_t>(expected), '.');
    return worth_it(std::move(imagined)) ? std::optional(std::move(summarized)) : std::nullopt;
  }

  ContextCompacted leave_out() const {
    ContextCompacted out = pass("left_out");
    const std::size_t most = newest_turn();
    const std::int64_t to_free = fill_ - target();
    auto number = std::ranges::lower_bound(state_.results_at, state_.view.covered()) -
                  state_.results_at.begin();
    std::int64_t freed = 0;
    std::size_t at = state_.view.covered();
    for (; at < most; ++at) {
      const bool is_result = std::holds_alternative<ToolMessage>(whole_[at]);
      if (tokens(freed) >= to_free && !is_result) {
        break;
      }
      number += is_result ? 1 : 0;
      const auto* const said = std::get_if<UserMessage>(&whole_[at]);
      freed += said != nullptr && !said->is_programs ? 0 : weight_at(at, number);
    }
    out.messages = static_cast<std::int64_t>(at);
    return out;
  }

  // What does not free much may be just enough.
  std::optional<ContextCompacted> last_chance() const {
    if (fill_ < window_) {
      return std::nullopt;
    }
    for (ContextCompacted pass : {clear(0, 0), leave_out()}) {
      pass.after = estimated_input(state_, view_after(state_, pass));
      if (pass.after < window_) {
        return pass;
      }
    }
    return std::nullopt;
  }

  const State& state_;
  const ContextPlan& plan_;
  const std::vector<Message>& whole_;
  std::int64_t window_;
  std::int64_t fill_;
  std::int64_t bytes_;  // of the next request
};

}  // namespace

std::int64_t summary_limit(std::int64_t window) {
  return std::clamp<std::int64_t>(window / 8, 200, 8'000);
}

std::int64_t window_of(const State& state) {
  const auto known = state.plan.context.windows.find(state.model);
  if (known == state.plan.context.windows.end()) {
    return 0;
  }
  const auto refused = state.least_refused.find(state.model);
  const std::int64_t least = refused == state.least_refused.end() ? known->second : refused->second;
  return std::clamp<std::int64_t>(std::min(known->second, least), 0, k_most_tokens);
}

std::optional<ContextCompacted> next_compaction(const State& state) {
  const std::int64_t window = window_of(state);
  const ContextPlan& plan = state.plan.context;
  const std::int64_t first = plan.clear_at > 0       ? plan.clear_at
                             : plan.summarize_at > 0 ? plan.summarize_at
                                                     : k_last_resort;
  if (window <= 0 || estimated_input(state) < share_of(window, std::min(first, k_last_resort))) {
    return std::nullopt;  // without a look at the conversation
  }
  return Compactor(state, window).plan();
}

std::optional<ContextCompacted> compaction_after_overflow(const State& state) {
  if (window_of(state) <= 0) {
    return std::nullopt;
  }
  auto plan = Compactor(state, std::min(window_of(state), estimated_input(state))).plan();
  if (plan) {
    plan->reason = "overflow";
  }
  return plan;
}

}  // namespace agent

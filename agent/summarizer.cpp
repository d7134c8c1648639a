#include "agent/summarizer.h"

#include "agent/compaction.h"
#include "agent/duration.h"
#include "agent/side_question.h"
#include "agent/summary.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace agent {
namespace {

constexpr std::int64_t k_bytes_of_a_token = 3;  // of logs, with care

struct Sizes {
  std::int64_t window;  // of the model that is asked
  std::int64_t limit;   // of the summary
};

Sizes sizes_of(const ContextCompacted& pass, const ContextPlan& plan, bool is_own) {
  const auto known = plan.windows.find(plan.summarizer);
  const std::int64_t window = known == plan.windows.end() || is_own ? pass.window : known->second;
  return {.window = window, .limit = summary_limit(std::min(window, pass.window))};
}

SideQuestion::Words words_of(const ContextCompacted& pass, const State& state, const Sizes& sizes) {
  // After one that was too long, or cut, a shorter one is asked for.
  const std::int64_t asked = state.failed_summaries > 0 ? sizes.limit / 4 : sizes.limit;
  return {.instructions = summary_instructions(),
          .text = summary_question(state,
                                   static_cast<std::size_t>(pass.messages),
                                   static_cast<std::size_t>(sizes.window / 2 * k_bytes_of_a_token),
                                   asked),
          // Thoughts count as output, too; the summary itself is measured when it is there.
          .most_output = std::min(4 * sizes.limit, sizes.window * 3 / 8)};
}

Error why_none_came(const SideQuestion& question,
                    const Error& error,
                    std::chrono::milliseconds timeout) {
  if (question.at_limit()) {
    return error;
  }
  if (question.is_late()) {
    return {.code = Code::context_compaction_failed,
            .message = fmt::format("no summary came within {}", format_duration(timeout))};
  }
  return {.code = Code::context_compaction_provider,
          .message = "the summary failed: " + error.message,
          .help = {},
          .cause = Cause{error.code, error.message}};
}

}  // namespace

void sum_up(ContextCompacted& pass,
            const State& state,
            const SummaryPorts& ports,
            std::stop_token stop) {
  const ContextPlan& plan = state.plan.context;
  const Sizes sizes = sizes_of(pass, plan, ports.is_own);
  SideQuestion question({.provider = ports.provider,
                         .prices = ports.is_own ? state.plan.prices : plan.summarizer_prices,
                         .budget = &ports.budget,
                         .clock = ports.clock,
                         .conversation = ports.question},
                        ports.is_own ? state.model : plan.summarizer,
                        plan.summarize_timeout,
                        std::move(stop));
  // No piece of it is an answer of the run.
  const auto reply = question.ask(words_of(pass, state, sizes), [&](EventBody body) {
    if (std::holds_alternative<ModelRetrying>(body)) {
      ports.emit(std::move(body));
    }
  });
  pass.summarizer = question.use();
  pass.error = reply ? why_no_summary(*reply, sizes.limit)
                     : why_none_came(question, reply.error(), plan.summarize_timeout);
  if (!pass.error) {
    pass.summary = std::string(trimmed(reply->text));
    return;
  }
  pass.action = "failed";
  pass.messages = 0;
}

}  // namespace agent

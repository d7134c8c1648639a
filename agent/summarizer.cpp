#include "agent/summarizer.h"

#include "agent/compaction.h"
#include "agent/duration.h"
#include "agent/summary.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

namespace agent {
namespace {

constexpr std::int64_t k_bytes_of_a_token = 3;  // of logs, with care

class SummaryRequest {
 public:
  SummaryRequest(const ContextCompacted& pass, const State& state, const SummaryPorts& ports)
      : ports_(ports),
        plan_(state.plan.context),
        prices_(ports.is_own ? state.plan.prices : plan_.summarizer_prices),
        model_(ports.is_own ? state.model : plan_.summarizer),
        use_{.model = model_, .usage = {}} {
    const auto known = plan_.windows.find(model_);
    window_ = known == plan_.windows.end() || ports.is_own ? pass.window : known->second;
    limit_ = summary_limit(std::min(window_, pass.window));
    // After one that was too long, or cut, a shorter one is asked for.
    const std::int64_t asked = state.failed_summaries > 0 ? limit_ / 4 : limit_;
    question_ = summary_question(state,
                                 static_cast<std::size_t>(pass.messages),
                                 static_cast<std::size_t>(window_ / 2 * k_bytes_of_a_token),
                                 asked);
    question_bytes_ = question_.size();
  }

  std::int64_t limit() const { return limit_; }

  // Once.
  Result<Reply> ask(std::stop_token stop) {
    auto room = room_for();
    if (!room) {
      return fail(*std::move(room).error().error);
    }
    const std::stop_callback forward(std::move(stop), [&] { ending_.request_stop(); });
    std::atomic<bool> is_late = false;
    const std::jthread deadline([&](std::stop_token done) {
      if (ports_.clock.sleep_for(plan_.summarize_timeout, std::move(done))) {
        is_late = true;
        ending_.request_stop();
      }
    });
    // Thoughts count as output, too; the summary itself is measured when it is there.
    const std::int64_t most = std::min(4 * limit_, window_ * 3 / 8);
    ports_.question.messages.assign(1, UserMessage{.text = std::move(question_)});
    ++ports_.question.revision;  // the provider keeps what it has encoded of a conversation
    auto reply = ports_.provider.complete(
        {.instructions = summary_instructions(),
         .tools = {},
         .conversation = ports_.question,
         .max_output_tokens = std::min(room->value_or(most), most)},
        [&](EventBody body) { hear(std::move(body)); },
        ending_.get_token());
    if (reply) {
      use_.model = reply->origin.empty() ? use_.model : reply->origin;
      count(reply->counted(), reply->estimated.has_value(), reply->cost);
      return reply;
    }
    if (at_limit_) {
      return fail(*std::move(at_limit_));
    }
    if (is_late) {
      return fail(
          Code::context_compaction_failed,
          fmt::format("no summary came within {}", format_duration(plan_.summarize_timeout)));
    }
    const Error& cause = reply.error();
    return fail(Error{.code = Code::context_compaction_provider,
                      .message = "the summary failed: " + cause.message,
                      .help = {},
                      .cause = Cause{cause.code, cause.message}});
  }

  // Empty where nothing was asked.
  std::optional<ModelUse> use() const {
    return use_.usage.total() > 0 || !use_.cost ? std::optional(use_) : std::nullopt;
  }

 private:
  std::expected<std::optional<std::int64_t>, Ending> room_for() const {
    const auto bytes = summary_instructions().size() + question_bytes_;
    return ports_.budget.room_for({.model = model_,
                                   .prices = prices_,
                                   .input = tokens_of(static_cast<std::int64_t>(bytes)),
                                   .unrecorded = use_});
  }

  // No piece of it is an answer of the run.
  void hear(EventBody body) {
    if (const auto* const broken = std::get_if<ModelBroken>(&body)) {
      count(broken->counted(), broken->estimated.has_value(), broken->cost);
    }
    const auto* const fallback = std::get_if<ModelFallback>(&body);
    const bool is_retried = std::holds_alternative<ModelRetrying>(body);
    if (fallback != nullptr) {
      model_ = fallback->to;
    }
    if (is_retried) {
      ports_.emit(std::move(body));
    }
    if (fallback != nullptr || is_retried) {
      if (auto room = room_for(); !room && !at_limit_) {
        at_limit_ = std::move(room).error().error;
        ending_.request_stop();
      }
    }
  }

  void count(const Usage& usage, bool is_estimated, std::optional<Money> cost) {
    use_.usage += usage;
    use_.usage_estimated = use_.usage_estimated || is_estimated;
    use_.cost = use_.cost && cost ? std::optional(*use_.cost + *cost) : std::nullopt;
  }

  const SummaryPorts& ports_;
  const ContextPlan& plan_;
  const std::map<std::string, Price>& prices_;
  std::string model_;
  ModelUse use_;
  std::int64_t window_ = 0;
  std::int64_t limit_ = 0;
  std::string question_;
  std::size_t question_bytes_ = 0;
  std::stop_source ending_;
  std::optional<Error> at_limit_;
};

}  // namespace

void sum_up(ContextCompacted& pass,
            const State& state,
            const SummaryPorts& ports,
            std::stop_token stop) {
  SummaryRequest request(pass, state, ports);
  auto reply = request.ask(std::move(stop));
  pass.summarizer = request.use();
  if (!reply) {
    pass.error = std::move(reply).error();
  } else if (pass.error = why_no_summary(*reply, request.limit()); !pass.error) {
    pass.summary = std::string(trimmed(reply->text));
    return;
  }
  pass.action = "failed";
  pass.messages = 0;
}

}  // namespace agent

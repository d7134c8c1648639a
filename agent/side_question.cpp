#include "agent/side_question.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace agent {

SideQuestion::SideQuestion(Ports ports,
                           std::string model,
                           std::chrono::milliseconds timeout,
                           std::stop_token stop)
    : ports_(ports),
      use_{.model = std::move(model), .usage = {}},
      forward_(std::move(stop), [this] { ending_.request_stop(); }),
      deadline_([this, timeout](std::stop_token done) {
        if (ports_.clock.sleep_for(timeout, std::move(done))) {
          is_late_ = true;
          ending_.request_stop();
        }
      }) {}

Result<Reply> SideQuestion::ask(Words words, const Emit& hear) {
  const std::size_t bytes =
      words.instructions.size() + words.text.size() + words.output_schema.size();
  Asked asked{.model = use_.model, .input = tokens_of(static_cast<std::int64_t>(bytes))};
  const auto left = room(asked);
  if (at_limit_) {
    return fail(*at_limit_->error);
  }
  const auto& most = words.most_output;
  ports_.conversation.messages.assign(1, UserMessage{.text = std::move(words.text)});
  ++ports_.conversation.revision;  // the provider keeps what it has encoded of a conversation
  auto reply = ports_.provider.complete(
      {.instructions = words.instructions,
       .tools = {},
       .conversation = ports_.conversation,
       .max_output_tokens = left && most ? std::min(left, most)
                            : left       ? left
                                         : most,
       .output_schema = words.output_schema},
      [&](EventBody body) {
        listen(asked, body);
        if (hear) {
          hear(std::move(body));
        }
      },
      ending_.get_token());
  if (reply) {
    use_.model = reply->origin.empty() ? use_.model : reply->origin;
    use_ += use_in(*reply);
  } else if (at_limit_) {
    return fail(*at_limit_->error);
  }
  return reply;
}

std::optional<ModelUse> SideQuestion::use() const {
  const bool was_used = use_.turns > 0 || use_.usage.total() > 0 || !use_.cost;
  return was_used ? std::optional(use_) : std::nullopt;
}

std::optional<std::int64_t> SideQuestion::room(const Asked& asked) {
  if (ports_.budget == nullptr) {
    return std::nullopt;
  }
  auto left = ports_.budget->room_for(
      {.model = asked.model, .prices = ports_.prices, .input = asked.input, .unrecorded = use_});
  if (left) {
    return *left;
  }
  at_limit_ = std::move(left).error();
  ending_.request_stop();
  return std::nullopt;
}

void SideQuestion::listen(Asked& asked, const EventBody& body) {
  if (const auto* broken = std::get_if<ModelBroken>(&body)) {
    use_ += use_in(*broken);
  }
  const auto* fallback = std::get_if<ModelFallback>(&body);
  if (fallback != nullptr) {
    asked.model = fallback->to;
  }
  if (fallback != nullptr || std::holds_alternative<ModelRetrying>(body)) {
    room(asked);  // it is asked once more
  }
}

}  // namespace agent

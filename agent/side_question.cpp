#include "agent/side_question.h"

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
  Asked asked{.model = use_.model,
              .input = tokens_of(static_cast<std::int64_t>(bytes)),
              .most_output = words.most_output};
  ModelRequest request{.instructions = words.instructions,
                       .tools = {},
                       .conversation = ports_.conversation,
                       .max_output_tokens = words.most_output,
                       .output_schema = words.output_schema};
  make_room(asked, request);
  if (at_limit_) {
    return fail(*at_limit_->error);
  }
  ports_.conversation.messages.assign(1, UserMessage{.text = std::move(words.text)});
  ++ports_.conversation.revision;  // the provider keeps what it has encoded of a conversation
  auto reply = ports_.provider.complete(
      request,
      [&](EventBody body) {
        listen(asked, request, body);
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

void SideQuestion::make_room(const Asked& asked, ModelRequest& request) {
  if (ports_.budget == nullptr) {
    return;
  }
  auto left = ports_.budget->room_for(
      {.model = asked.model, .prices = ports_.prices, .input = asked.input, .unrecorded = use_});
  if (left) {
    request.max_output_tokens = least(*left, asked.most_output);
    return;
  }
  at_limit_ = std::move(left).error();
  ending_.request_stop();
}

void SideQuestion::listen(Asked& asked, ModelRequest& request, const EventBody& body) {
  if (const auto* broken = std::get_if<ModelBroken>(&body)) {
    use_ += use_in(*broken);
  }
  if (const auto* fallback = std::get_if<ModelFallback>(&body)) {
    asked.model = fallback->to;
  }
  if (asks_again(body)) {
    make_room(asked, request);
  }
}

}  // namespace agent

#include "providers/recording/script_provider.h"

#include "agent/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace providers {
namespace {

using agent::Code;

constexpr std::size_t k_shown_bytes = 400;  // of the messages, in an error
constexpr std::size_t k_most_pieces = 1000;
constexpr std::size_t k_longest_word = 24;

// What was said to the model since it last spoke.
std::string newest_messages(const agent::Conversation& conversation) {
  const auto& messages = conversation.messages;
  const auto last = std::find_if(messages.rbegin(), messages.rend(), [](const auto& message) {
    return std::holds_alternative<agent::AssistantMessage>(message);
  });
  std::string all;
  for (auto message = last.base(); message != messages.end(); ++message) {
    if (!all.empty()) {
      all += '\n';
    }
    if (const auto* user = std::get_if<agent::UserMessage>(&*message)) {
      all += user->text;
    } else if (const auto* tool = std::get_if<agent::ToolMessage>(&*message)) {
      all += tool->content;
    }
  }
  return all;
}

std::size_t calls_so_far(const agent::Conversation& conversation) {
  std::size_t calls = 0;
  for (const auto& message : conversation.messages) {
    if (const auto* assistant = std::get_if<agent::AssistantMessage>(&message)) {
      calls += assistant->reply->tool_calls.size();
    }
  }
  return calls;
}

agent::Error at_step(const agent::ReplayScript& script, int line, std::string message) {
  return {.code = Code::replay_miss,
          .message = std::move(message),
          .where = agent::Where{.file = script.file, .line = line},
          .provider = "replay"};
}

agent::Result<void> check_expectations(const agent::ReplayScript& script,
                                       const agent::ReplayStep& step,
                                       const agent::Conversation& conversation) {
  if (step.expect.empty()) {
    return {};
  }
  const auto newest = newest_messages(conversation);
  for (const auto& wanted : step.expect) {
    if (newest.find(wanted) == std::string::npos) {
      auto error = at_step(script,
                           step.line,
                           fmt::format("the replay step at {}:{} expects {:?} in the newest "
                                       "message, which is: {}",
                                       script.file,
                                       step.line,
                                       wanted,
                                       agent::head_and_tail(newest, k_shown_bytes)));
      error.help = "Correct the step's `expect`, or what the agent sends.";
      return agent::fail(std::move(error));
    }
  }
  return {};
}

// One word with the space behind it, but never less than `least` bytes, and no half characters.
std::string_view next_piece(std::string_view text, std::size_t least) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
  std::size_t end = 0;
  while (end < text.size()) {
    const bool is_start = !agent::is_continuation(text[end]);
    const bool is_after_word = end > 0 && is_space(text[end - 1]) && !is_space(text[end]);
    if (is_start && end >= least && end > 0 && (is_after_word || end >= least + k_longest_word)) {
      break;
    }
    ++end;
  }
  return text.substr(0, end);
}

agent::Error to_error(const agent::ReplayFault& fault) {
  return {.code = fault.code,
          .message = fault.message.empty()
                         ? fmt::format("the replay script says {}", agent::row(fault.code).name)
                         : fault.message,
          .retry_after = fault.retry_after,
          .http_status = fault.http_status,
          .provider = "replay"};
}

// Fills in what a server would always say.
agent::Reply finished(agent::Reply reply, const agent::Conversation& conversation) {
  if (reply.stop_reason == agent::StopReason::unknown && reply.stop_reason_raw.empty()) {
    reply.stop_reason =
        reply.tool_calls.empty() ? agent::StopReason::end_turn : agent::StopReason::tool_use;
  }
  if (reply.stop_reason_raw.empty()) {
    reply.stop_reason_raw = agent::to_string(reply.stop_reason);
  }
  auto number = calls_so_far(conversation);
  for (auto& call : reply.tool_calls) {
    ++number;
    if (call.id.empty()) {
      call.id = fmt::format("call_{}", number);
    }
    if (call.arguments.empty() && reply.stop_reason != agent::StopReason::max_tokens) {
      call.arguments = "{}";
    }
  }
  if (reply.protocol.empty()) {
    reply.protocol = "replay";
  }
  return reply;
}

}  // namespace

agent::Result<agent::Reply> ScriptProvider::complete(const agent::ModelRequest& request,
                                                     const agent::Emit& emit,
                                                     std::stop_token stop) {
  if (next_ >= script_.steps.size()) {
    return agent::fail(at_step(
        script_,
        0,
        fmt::format("the replay script {} has no reply left: all of its {} steps have been played",
                    script_.file,
                    script_.steps.size())));
  }
  const auto& step = script_.steps[next_];
  TRY(check_expectations(script_, step, request.conversation));
  ++played_;
  if (script_.progress && step.repeat > 0) {
    --script_.progress->left;
  }
  if (step.repeat > 0 && played_ >= step.repeat) {
    ++next_;
    played_ = 0;
  }
  TRY(wait(step.delay, stop));
  if (is_streamed_) {
    TRY(stream(step, emit, stop));
  }
  if (step.fault) {
    return agent::fail(to_error(*step.fault));
  }
  agent::Reply reply = finished(step.reply, request.conversation);
  reply.origin = origin_;
  return reply;
}

agent::Result<void> ScriptProvider::wait(agent::Milliseconds time, std::stop_token stop) {
  const bool is_over =
      time > agent::Milliseconds{0} ? clock_.sleep_for(time, stop) : !stop.stop_requested();
  if (!is_over) {
    return agent::fail(Code::run_cancelled, "the model call was cancelled");
  }
  return {};
}

agent::Result<void> ScriptProvider::stream(const agent::ReplayStep& step,
                                           const agent::Emit& emit,
                                           std::stop_token stop) {
  using Kind = agent::ModelDelta::Kind;
  const std::string_view text = step.reply.text;
  const std::string_view reasoning = step.reply.reasoning;
  TRY(pieces(reasoning, Kind::reasoning, step.chunk_delay, emit, stop));
  if (!reasoning.empty() && !text.empty()) {
    TRY(wait(step.chunk_delay, stop));
  }
  return pieces(text, Kind::text, step.chunk_delay, emit, stop);
}

agent::Result<void> ScriptProvider::pieces(std::string_view text,
                                           agent::ModelDelta::Kind kind,
                                           agent::Milliseconds chunk_delay,
                                           const agent::Emit& emit,
                                           std::stop_token stop) {
  const auto least = text.size() / k_most_pieces;
  while (!text.empty()) {
    const auto piece = next_piece(text, least);
    emit(agent::ModelDelta{kind, std::string(piece)});
    text.remove_prefix(piece.size());
    if (!text.empty()) {
      TRY(wait(chunk_delay, stop));
    }
  }
  return {};
}

}  // namespace providers

#include "providers/wire/bedrock_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "agent/text.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace providers {
namespace {

using agent::Heard;
using agent::Json;
using agent::StopReason;

constexpr auto k_stop_words = std::to_array<StopWord>({
    {"end_turn", StopReason::end_turn},
    {"tool_use", StopReason::tool_use},
    {"max_tokens", StopReason::max_tokens},
    {"stop_sequence", StopReason::stop_sequence},
    {"guardrail_intervened", StopReason::guardrail_intervened},
    {"content_filtered", StopReason::content_filter},
    {"malformed_model_output", StopReason::malformed_tool_call},
    {"malformed_tool_use", StopReason::malformed_tool_call},
    {"model_context_window_exceeded", StopReason::context_window},
});

// What was read from a cache, or written to it, is counted beside the rest.
TokenSum input_sum(const Json& usage) {
  return token_sum(usage, {"inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"});
}

agent::Usage normal_usage(const Json& usage) {
  return {.input = input_sum(usage).tokens,
          .output = token_count(usage, "outputTokens"),
          .cache_read = token_count(usage, "cacheReadInputTokens"),
          .cache_write = token_count(usage, "cacheWriteInputTokens")};
}

// Arguments of a stream are text; those of a whole answer are the object itself. Null takes their
// place.
std::string take_arguments(Json& call) {
  Json* member = agent::find(call, "input");
  if (member == nullptr) {
    return {};
  }
  Json input = std::exchange(*member, nullptr);
  return input.is_string() ? std::move(input.get_ref<std::string&>()) : agent::dump(input);
}

std::string_view reasoning_in(const Json& block) {
  const Json* thought = agent::find(block, "reasoningContent");
  const Json* said = thought == nullptr ? nullptr : agent::find(*thought, "reasoningText");
  return said == nullptr ? std::string_view() : agent::text_at(*said, "text");
}

// All that it says is empty text.
bool is_empty_delta(const Json& delta) {
  if (delta.is_object()) {
    return std::ranges::all_of(delta, is_empty_delta);
  }
  return delta.is_string() && delta.get_ref<const std::string&>().empty();
}

class BedrockDecoder final : public AnswerDecoder {
 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(Json& document, const agent::Emit& emit) override;
  void take_done() override {}
  bool is_complete() const override { return has_stopped_; }
  bool is_over() const override { return is_over_; }
  Ending ending() const override {
    return {stop_reason_of(k_stop_words, stop_reason_), stop_reason_};
  }
  agent::Reply reply() override;
  bool lacks_input() const override { return lacks_input_; }

 private:
  void begin_call(long long index, Json call);
  bool has_call_at(long long index) const;
  Heard take_piece(long long index, Json* delta, const agent::Emit& emit);
  void take_delta(Json& block, const Json& delta, const agent::Emit& emit);
  void take_block(Json block, const agent::Emit& emit);
  bool is_plain(std::size_t calls) const;
  std::string content_to_send_back(std::span<const agent::ToolCall> calls);

  std::vector<Json> blocks_;  // as they began; a call's input is text until the end
  std::unordered_map<long long, std::size_t> places_;  // of the last one with an index
  std::unordered_set<long long> ended_;                // by index
  std::string stop_reason_;
  bool lacks_input_ = false;
  bool has_stopped_ = false;
  bool is_over_ = false;
};

void BedrockDecoder::take_usage(const Json& data) {
  if (const Json* usage = agent::find(data, "usage")) {
    lacks_input_ = input_sum(*usage).lacks_some;
    count(normal_usage(*usage));
  }
}

Heard BedrockDecoder::take_event(std::string_view name, Json& data, const agent::Emit& emit) {
  const long long index = place_in(data, "contentBlockIndex").value_or(0);
  if (name == "contentBlockStart") {
    Json* start = object_in(data, "start");
    if (Json* call = start == nullptr ? nullptr : object_in(*start, "toolUse")) {
      begin_call(index, std::move(*call));
    }
  } else if (name == "contentBlockDelta") {
    return take_piece(index, object_in(data, "delta"), emit);
  } else if (name == "contentBlockStop") {
    ended_.insert(index);
  } else if (name == "messageStop") {
    take_stop_word(k_stop_words, said(data, "stopReason"), stop_reason_);
    has_stopped_ = true;
  } else if (name == "metadata") {
    is_over_ = is_complete();
  }
  return Heard::answer;
}

Heard BedrockDecoder::take_piece(long long index, Json* delta, const agent::Emit& emit) {
  if (delta == nullptr) {
    refuse("a `contentBlockDelta` without a `delta`");
    return Heard::nothing;
  }
  if (object_in(*delta, "toolUse") != nullptr && !has_call_at(index)) {
    refuse("a piece of a call that has not begun");
    return Heard::nothing;
  }
  if (ended_.contains(index) && !is_empty_delta(*delta)) {
    refuse("a piece of a block that has ended");
  }
  const auto place = places_.try_emplace(index, blocks_.size()).first->second;
  blocks_.resize(std::max(blocks_.size(), place + 1));
  take_delta(blocks_[place], *delta, emit);
  return heard_if(!is_empty_delta(*delta));
}

// Another call under the same index is one of its own; the same one is not.
void BedrockDecoder::begin_call(long long index, Json call) {
  const std::string_view id = said(call, "toolUseId");
  said(call, "name");
  const auto known = places_.find(index);
  const Json* before =
      known == places_.end() ? nullptr : agent::find(blocks_[known->second], "toolUse");
  if (before != nullptr && !id.empty() && agent::text_at(*before, "toolUseId") == id) {
    return;
  }
  ended_.erase(index);
  places_.insert_or_assign(index, blocks_.size());
  blocks_.push_back({{"toolUse", std::move(call)}});
}

bool BedrockDecoder::has_call_at(long long index) const {
  const auto place = places_.find(index);
  return place != places_.end() && agent::find(blocks_[place->second], "toolUse") != nullptr;
}

void BedrockDecoder::take_delta(Json& block, const Json& delta, const agent::Emit& emit) {
  if (delta.contains("text")) {
    const auto piece = needed(delta, "text");
    append_text(block, "text", piece);
    add_text(piece, emit);
  } else if (const Json* call = agent::find(delta, "toolUse")) {
    append_text(object_at(block, "toolUse"), "input", needed(*call, "input"));
  } else if (const Json* thought = agent::find(delta, "reasoningContent")) {
    Json& reasoning = object_at(block, "reasoningContent");
    for (const std::string_view key : {"text", "signature"}) {
      if (const auto piece = agent::text_at(*thought, key); !piece.empty()) {
        append_text(object_at(reasoning, "reasoningText"), key, piece);
      }
    }
    if (const auto sealed = agent::text_at(*thought, "redactedContent"); !sealed.empty()) {
      append_text(reasoning, "redactedContent", sealed);
    }
    add_reasoning(agent::text_at(*thought, "text"), emit);
  }
}

bool BedrockDecoder::take_document(Json& document, const agent::Emit& emit) {
  Json* output = agent::find(document, "output");
  Json* message = output == nullptr ? nullptr : agent::find(*output, "message");
  Json* content = message == nullptr ? nullptr : agent::find(*message, "content");
  stop_reason_ = agent::text_at(document, "stopReason");
  has_stopped_ = true;
  if (content != nullptr && content->is_array()) {
    for (Json& block : *content) {
      take_block(std::move(block), emit);
    }
  }
  return message != nullptr;
}

void BedrockDecoder::take_block(Json block, const agent::Emit& emit) {
  if (block.is_object()) {
    add_text(agent::text_at(block, "text"), emit);
    add_reasoning(reasoning_in(block), emit);
    if (const Json* call = object_in(block, "toolUse")) {
      said(*call, "name");
    }
    blocks_.push_back(std::move(block));
  }
}

agent::Reply BedrockDecoder::reply() {
  agent::Reply reply;
  const StopReason reason = ending().reason;
  ToolCallAssembler assembler;
  for (Json& block : blocks_) {
    if (Json* call = agent::find(block, "toolUse")) {
      assembler.add_call(
          agent::text_at(*call, "toolUseId"), agent::text_at(*call, "name"), take_arguments(*call));
    }
  }
  note_blanks(assembler.blanks());
  for (AssembledCall& call :
       std::move(assembler).finish(text(), reason == StopReason::max_tokens)) {
    reply.tool_calls.push_back({.id = std::move(call.id),
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
  const bool calls = reason == StopReason::end_turn && !reply.tool_calls.empty();
  reply.stop_reason = calls ? StopReason::tool_use : reason;
  if (!is_plain(reply.tool_calls.size())) {
    reply.raw = content_to_send_back(reply.tool_calls);
  }
  blocks_.clear();
  reply.protocol = "bedrock";
  return reply;
}

// The answer's text, and its calls behind it.
bool BedrockDecoder::is_plain(std::size_t calls) const {
  std::string_view text;
  std::size_t seen = 0;
  for (const Json& block : blocks_) {
    const Json* call = agent::find(block, "toolUse");
    if (++seen == 1 && call == nullptr && has_only(block, {"text"})) {
      text = agent::text_at(block, "text");
    } else if (call != nullptr && has_only(block, {"toolUse"}) &&
               has_only(*call, {"toolUseId", "name", "input"})) {
      --calls;
    } else {
      return false;
    }
  }
  return calls == 0 && text == this->text();
}

// The blocks as the server wants them: no text that is blank, calls under the ids that they have
// here, with arguments that are objects.
std::string BedrockDecoder::content_to_send_back(std::span<const agent::ToolCall> calls) {
  Json content = Json::array();
  for (Json& block : blocks_) {
    if (block.contains("toolUse")) {
      if (calls.empty()) {
        continue;
      }
      Json& call = object_at(block, "toolUse");
      call["toolUseId"] = calls.front().id;
      call["input"] = *agent::parse_json(history_arguments(calls.front().arguments));
      calls = calls.subspan(1);
    } else if (block.contains("text") && agent::is_blank(agent::text_at(block, "text"))) {
      continue;
    }
    content.push_back(std::move(block));
  }
  return content.empty() ? std::string() : agent::dump(content);
}

}  // namespace

std::unique_ptr<Decoder> make_bedrock_decoder() {
  return std::make_unique<BedrockDecoder>();
}

}  // namespace providers

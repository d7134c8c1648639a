#include "providers/wire/anthropic_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
    {"pause_turn", StopReason::pause},
    {"refusal", StopReason::refusal},
    {"model_context_window_exceeded", StopReason::context_window},
});

TokenSum input_sum(const Json& usage) {
  return token_sum(usage,
                   {"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"});
}

agent::Usage normal_usage(const Json& usage) {
  agent::Usage result;
  result.cache_read = token_count(usage, "cache_read_input_tokens");
  result.cache_write = token_count(usage, "cache_creation_input_tokens");
  if (const Json* writes = agent::find(usage, "cache_creation")) {
    result.cache_write_1h = token_count(*writes, "ephemeral_1h_input_tokens");
  }
  result.input = input_sum(usage).tokens;
  result.output = token_count(usage, "output_tokens");
  if (const Json* details = agent::find(usage, "output_tokens_details")) {
    result.reasoning = token_count(*details, "thinking_tokens");
  }
  return result;
}

// Whether the server has made a summary of the conversation on its way: what follows is of that.
bool is_compacted(const Json& usage) {
  const Json* const iterations = agent::find(usage, "iterations");
  return iterations != nullptr && iterations->is_array() &&
         std::ranges::any_of(*iterations, [](const Json& one) {
           return agent::text_at(one, "type") == "compaction";
         });
}

bool is_blank_text(const Json& block) {
  return agent::text_at(block, "type") == "text" && agent::is_blank(agent::text_at(block, "text"));
}

bool is_tool_use(const Json& block) {
  return agent::text_at(block, "type") == "tool_use";
}

// All that it has beside its type is empty text.
bool is_empty_delta(const Json& delta) {
  return delta.size() != 1 && std::ranges::all_of(delta.items(), [](const auto& member) {
           return member.key() == "type" || member.value() == "";
         });
}

class AnthropicDecoder final : public AnswerDecoder {
 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(agent::Json& document, const agent::Emit& emit) override;
  // Only imitators send it, behind or in place of message_stop.
  void take_done() override { is_over_ = is_over_ || !stop_reason_.empty(); }
  bool is_complete() const override { return is_over_; }
  bool is_over() const override { return is_over_; }
  Ending ending() const override {
    return {stop_reason_of(k_stop_words, stop_reason_), stop_reason_};
  }
  agent::Reply reply() override;
  bool lacks_input() const override { return input_sum(usage_).lacks_some; }
  std::size_t call_bytes() const override {
    std::size_t bytes = 0;
    for (const Block& block : blocks_) {
      bytes += block.input.size();
    }
    return bytes;
  }

 private:
  struct Block {
    agent::Json json;   // as content_block_start had it, deltas applied
    std::string input;  // pieces of a tool's input
    bool has_input = false;
    bool is_open = true;
  };

  void take_message(const agent::Json& message);
  void take_stop(const agent::Json& delta);
  void start_block(long long index, agent::Json block, const agent::Emit& emit);
  void extend_block(Block& block, const agent::Json& delta, const agent::Emit& emit);
  static bool has_whole_input(const Block& block);
  static std::string input_of(Block& block);
  bool is_plain(std::size_t calls) const;
  std::string content_to_send_back(std::span<const AssembledCall> calls);

  std::vector<Block> blocks_;                          // as they began
  std::unordered_map<long long, std::size_t> places_;  // of the last one with an index
  std::string id_;
  std::string model_;
  std::string stop_reason_;
  agent::Json usage_;
  bool is_over_ = false;
};

Heard AnthropicDecoder::take_event(std::string_view name, Json& data, const agent::Emit& emit) {
  const std::string_view type = kind_of(data, name);
  const auto index = place_in(data, "index");
  if (type == "message_start") {
    if (const Json* message = object_in(data, "message")) {
      if (!blocks_.empty()) {
        refuse("another message begins in it");
      }
      take_message(*message);
    }
  } else if (type == "content_block_start") {
    if (Json* block = object_in(data, "content_block")) {
      start_block(index.value_or(0), std::move(*block), emit);
    }
  } else if (type == "content_block_delta") {
    const Json* delta = object_in(data, "delta");
    if (delta == nullptr) {
      refuse("a `content_block_delta` without a `delta`");
      return Heard::nothing;
    }
    if (is_empty_delta(*delta)) {
      return Heard::nothing;
    }
    const auto block = places_.find(index.value_or(0));
    if (block == places_.end()) {
      refuse("a `content_block_delta` of a block that has not begun");
      return Heard::nothing;
    }
    if (!index && block->second + 1 != blocks_.size()) {
      refuse("a `content_block_delta` that does not say of which block it is");
      return Heard::nothing;
    }
    extend_block(blocks_[block->second], *delta, emit);
  } else if (type == "content_block_stop") {
    if (const auto block = places_.find(index.value_or(0)); block != places_.end()) {
      blocks_[block->second].is_open = false;
    }
  } else if (type == "message_delta") {
    if (const Json* delta = agent::find(data, "delta")) {
      take_stop(*delta);
    }
  } else if (type == "message_stop") {
    is_over_ = true;
  } else if (type == "ping") {
    return Heard::keep_alive;
  } else {
    return Heard::nothing;
  }
  return Heard::answer;
}

bool AnthropicDecoder::take_document(Json& document, const agent::Emit& emit) {
  Json* content = list_in(document, "content");
  if (content == nullptr) {
    return false;
  }
  take_message(document);
  for (Json& block : *content) {
    if (!block.is_object()) {
      refuse("a block of `content` is no object: " + excerpt(agent::dump(block)));
    } else {
      start_block(static_cast<long long>(blocks_.size()), std::move(block), emit);
    }
  }
  is_over_ = true;
  return true;
}

void AnthropicDecoder::take_message(const Json& message) {
  id_ = agent::text_at(message, "id");
  model_ = agent::text_at(message, "model");
  take_stop(message);
}

void AnthropicDecoder::take_stop(const Json& delta) {
  take_stop_word(k_stop_words, said(delta, "stop_reason"), stop_reason_);
}

void AnthropicDecoder::take_usage(const Json& data) {
  const Json* message = agent::find(data, "message");
  for (const Json* place : {message, &data}) {
    const Json* usage = place == nullptr ? nullptr : agent::find(*place, "usage");
    if (usage != nullptr && usage->is_object()) {
      merge_usage(usage_, *usage);
      if (is_compacted(*usage)) {
        count_anew();
      }
      count(normal_usage(usage_));
    }
  }
}

// Another block under the same index, or under none, is one of its own; the same call is not.
void AnthropicDecoder::start_block(long long index, Json block, const agent::Emit& emit) {
  said(block, "type");
  const std::string_view id = is_tool_use(block) ? said(block, "id") : std::string_view();
  if (is_tool_use(block)) {
    said(block, "name");
  }
  if (const auto known = places_.find(index); known != places_.end()) {
    const Block& before = blocks_[known->second];
    if (!id.empty() && agent::text_at(before.json, "id") == id) {
      return;
    }
    if (before.is_open && is_tool_use(before.json) && !has_whole_input(before)) {
      refuse("a block begins where a call is under way");
    }
  }
  add_text(said(block, "text"), emit);
  add_reasoning(agent::text_at(block, "thinking"), emit);
  add_sealed(agent::text_at(block, "data").size());  // of a `redacted_thinking`
  places_.insert_or_assign(index, blocks_.size());
  blocks_.push_back({.json = std::move(block)});
}

void AnthropicDecoder::extend_block(Block& block, const Json& delta, const agent::Emit& emit) {
  const std::string_view type = needed(delta, "type");
  const std::string_view kind = agent::text_at(block.json, "type");
  if (!block.is_open) {
    refuse(fmt::format("a `{}` of a block that has ended", type));
  } else if ((type == "text_delta" && kind != "text") ||
             (type == "input_json_delta" && kind == "text")) {
    refuse(fmt::format("a `{}` in a block of type `{}`", type, kind));
  } else if (type == "text_delta") {
    append_text(block.json, "text", needed(delta, "text"));
    add_text(agent::text_at(delta, "text"), emit);
  } else if (type == "input_json_delta") {
    block.input += needed(delta, "partial_json");
    block.has_input = block.has_input || !block.input.empty();
  } else if (type == "thinking_delta") {
    append_text(block.json, "thinking", agent::text_at(delta, "thinking"));
    add_reasoning(agent::text_at(delta, "thinking"), emit);
  } else if (type == "signature_delta") {
    block.json["signature"] = agent::text_at(delta, "signature");
  } else if (type == "citations_delta") {
    if (const Json* citation = agent::find(delta, "citation")) {
      Json& citations = block.json["citations"];
      citations = citations.is_array() ? citations : Json::array();
      citations.push_back(*citation);
    }
  } else if (type == "compaction_delta") {
    append_text(block.json, "content", agent::text_at(delta, "content"));
  }
}

agent::Reply AnthropicDecoder::reply() {
  agent::Reply reply;
  const bool is_cut = ending().reason == StopReason::max_tokens;
  ToolCallAssembler assembler;
  for (Block& block : blocks_) {
    if (is_tool_use(block.json)) {
      assembler.add_call(
          agent::text_at(block.json, "id"), agent::text_at(block.json, "name"), input_of(block));
    }
  }
  note_blanks(assembler.blanks());
  auto calls = std::move(assembler).finish(id_, is_cut);
  if (!is_plain(calls.size())) {
    reply.raw = content_to_send_back(calls);
  }
  blocks_.clear();
  for (AssembledCall& call : calls) {
    reply.tool_calls.push_back({.id = std::move(call.id),
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
  const StopReason reason = ending().reason;
  const bool calls_on = reason == StopReason::end_turn && !reply.tool_calls.empty();
  reply.stop_reason = calls_on ? StopReason::tool_use : reason;
  reply.model = model_;
  reply.protocol = "anthropic_messages";
  return reply;
}

bool AnthropicDecoder::has_whole_input(const Block& block) {
  const Json* given = agent::find(block.json, "input");
  return block.has_input ? agent::parse_json(block.input).has_value()
                         : given != nullptr && given->is_object() && !given->empty();
}

// Moved out of the block, which has null in its place.
std::string AnthropicDecoder::input_of(Block& block) {
  if (block.has_input) {
    return std::move(block.input);
  }
  Json* given = agent::find(block.json, "input");
  if (given == nullptr || (given->is_object() && given->empty())) {
    return {};
  }
  return agent::dump(std::exchange(*given, nullptr));
}

// The answer's text, and its calls behind it.
bool AnthropicDecoder::is_plain(std::size_t calls) const {
  std::string_view text;
  std::size_t seen = 0;
  for (const Block& block : blocks_) {
    if (++seen == 1 && agent::text_at(block.json, "type") == "text" &&
        has_only(block.json, {"type", "text"})) {
      text = agent::text_at(block.json, "text");
    } else if (is_tool_use(block.json) && has_only(block.json, {"type", "id", "name", "input"})) {
      --calls;
    } else {
      return false;
    }
  }
  return calls == 0 && text == this->text();
}

std::string AnthropicDecoder::content_to_send_back(std::span<const AssembledCall> calls) {
  Json content = Json::array();
  for (Block& block : blocks_) {
    if (is_tool_use(block.json) && !calls.empty()) {
      block.json["id"] = calls.front().id;
      block.json["input"] = *agent::parse_json(history_arguments(calls.front().arguments));
      calls = calls.subspan(1);
    } else if (block.has_input) {
      block.json["input"] = *agent::parse_json(history_arguments(block.input));
    }
    // A text block that is blank is refused when it is sent back.
    if (!is_blank_text(block.json)) {
      content.push_back(std::move(block.json));
    }
  }
  return content.empty() ? std::string() : agent::dump(content);
}

}  // namespace

std::unique_ptr<Decoder> make_anthropic_decoder() {
  return std::make_unique<AnthropicDecoder>();
}

}  // namespace providers

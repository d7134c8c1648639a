#include "providers/wire/ollama_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace providers {
namespace {

using agent::Heard;
using agent::Json;
using agent::StopReason;

constexpr auto k_stop_words = std::to_array<StopWord>({
    {"stop", StopReason::end_turn},
    {"", StopReason::end_turn},  // of old servers
    {"length", StopReason::max_tokens},
});

// A stream is one object a line, and an answer in one piece is a stream of one line.
class OllamaDecoder final : public AnswerDecoder {
 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(Json& document, const agent::Emit& emit) override {
    take_event({}, document, emit);
    return is_done_;
  }
  void take_done() override {}
  bool streams_json() const override { return true; }
  bool is_complete() const override { return is_done_; }
  bool is_over() const override { return is_done_; }
  Ending ending() const override { return {stop_reason_of(k_stop_words, reason_), reason_}; }
  agent::Reply reply() override;

 private:
  void take_call(Json& call);
  Json raw_message(std::span<const AssembledCall> calls) const;

  std::string model_;
  std::string created_;  // seeds the ids of calls that have none
  std::vector<Json> calls_;
  std::string reason_;
  bool is_done_ = false;
};

void OllamaDecoder::take_usage(const Json& data) {
  if (agent::bool_at(data, "done") || agent::find(data, "error") != nullptr) {
    count({.input = token_count(data, "prompt_eval_count"),
           .output = token_count(data, "eval_count")});
  }
}

void OllamaDecoder::take_call(Json& call) {
  const Json* const function = is_part(call, "tool_calls") ? object_in(call, "function") : nullptr;
  if (function == nullptr) {
    refuse("a call of `tool_calls` has no `function`");
    return;
  }
  said(*function, "name");
  calls_.push_back(std::move(call));
}

Heard OllamaDecoder::take_event(std::string_view /*name*/, Json& data, const agent::Emit& emit) {
  const auto before = text().size() + reasoning().size() + calls_.size();
  model_ = agent::text_at(data, "model", model_);
  created_ = agent::text_at(data, "created_at", created_);
  if (data.contains("message") && agent::find(data, "message") == nullptr &&
      !agent::bool_at(data, "done")) {
    refuse("`message` is null before the end");
  }
  if (Json* message = object_in(data, "message")) {
    add_reasoning(agent::text_at(*message, "thinking"), emit);
    add_text(said(*message, "content"), emit);
    if (Json* calls = list_in(*message, "tool_calls")) {
      for (Json& call : *calls) {
        take_call(call);
      }
    }
  }
  if (agent::bool_at(data, "done")) {
    is_done_ = true;
    reason_ = said(data, "done_reason");
  }
  return heard_if(is_done_ || text().size() + reasoning().size() + calls_.size() != before);
}

// The message as the server keeps it: in one piece, the arguments as objects.
Json OllamaDecoder::raw_message(std::span<const AssembledCall> calls) const {
  Json raw = {{"role", "assistant"}, {"content", text()}, {"thinking", reasoning()}};
  for (const AssembledCall& call : calls) {
    raw["tool_calls"].push_back(
        {{"id", call.id},
         {"function",
          {{"name", call.name},
           {"arguments", *agent::parse_json(history_arguments(call.arguments))}}}});
  }
  return raw;
}

agent::Reply OllamaDecoder::reply() {
  agent::Reply reply;
  const StopReason reason = ending().reason;
  ToolCallAssembler assembler;
  for (Json& call : calls_) {
    assembler.add_call(std::exchange(call, nullptr));
  }
  note_blanks(assembler.blanks());
  auto assembled = std::move(assembler).finish(created_, reason == StopReason::max_tokens);
  if (!reasoning().empty()) {
    reply.raw = agent::dump(raw_message(assembled));
  }
  for (AssembledCall& call : assembled) {
    reply.tool_calls.push_back({.id = std::move(call.id),
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
  const bool calls = reason == StopReason::end_turn && !reply.tool_calls.empty();
  reply.stop_reason = calls ? StopReason::tool_use : reason;
  reply.model = model_;
  reply.protocol = "ollama";
  return reply;
}

}  // namespace

std::unique_ptr<Decoder> make_ollama_decoder() {
  return std::make_unique<OllamaDecoder>();
}

}  // namespace providers

#include "providers/wire/openai_chat_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "agent/text.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/error_body.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
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
    {"stop", StopReason::end_turn},
    {"end_turn", StopReason::end_turn},
    {"eos", StopReason::end_turn},
    {"eos_token", StopReason::end_turn},
    {"complete", StopReason::end_turn},
    {"completed", StopReason::end_turn},
    {"normal", StopReason::end_turn},
    {"stop_sequence", StopReason::stop_sequence},
    {"length", StopReason::max_tokens},
    {"max_tokens", StopReason::max_tokens},
    {"max_output_tokens", StopReason::max_tokens},
    {"model_length", StopReason::max_tokens},
    {"tool_calls", StopReason::tool_use},
    {"tool_use", StopReason::tool_use},
    {"function_call", StopReason::tool_use},
    {"content_filter", StopReason::content_filter},
    {"sensitive", StopReason::content_filter},
    {"safety", StopReason::content_filter},
    {"recitation", StopReason::content_filter},
    {"blocklist", StopReason::content_filter},
    {"prohibited_content", StopReason::content_filter},
    {"spii", StopReason::content_filter},
    {"refusal", StopReason::refusal},
    {"model_context_window_exceeded", StopReason::context_window},
    {"function_call_filter", StopReason::malformed_tool_call},
    {"malformed_function_call", StopReason::malformed_tool_call},
    {"unexpected_tool_call", StopReason::malformed_tool_call},
});

// As "content_filter: RECITATION" too. No word is none that is unknown: some servers end an answer
// by its end mark alone.
StopReason reason_of(std::string_view word) {
  return word.empty()
             ? StopReason::unknown
             : stop_reason_of(k_stop_words, agent::to_lower(word.substr(0, word.find(':'))));
}

// Of an answer that is whole, or says nothing of it.
bool is_ordinary(StopReason reason) {
  return reason == StopReason::end_turn || reason == StopReason::tool_use ||
         reason == StopReason::unknown;
}

long long first_integer(const Json& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (agent::find(object, key) != nullptr) {
      return token_count(object, key);
    }
  }
  return 0;
}

long long detail_of(const Json& usage, std::string_view group, std::string_view key) {
  const Json* details = agent::find(usage, group);
  return details == nullptr ? 0 : first_integer(*details, {key});
}

agent::Usage normal_usage(const Json& usage) {
  agent::Usage result;
  result.input = first_integer(usage, {"prompt_tokens", "input_tokens"});
  result.output = first_integer(usage, {"completion_tokens", "output_tokens"});
  result.cache_read = detail_of(usage, "prompt_tokens_details", "cached_tokens");
  if (result.cache_read == 0) {
    result.cache_read = first_integer(usage, {"prompt_cache_hit_tokens", "cached_tokens"});
  }
  result.cache_write = detail_of(usage, "prompt_tokens_details", "cache_write_tokens");
  result.reasoning = detail_of(usage, "completion_tokens_details", "reasoning_tokens");
  if (result.reasoning == 0) {
    result.reasoning = first_integer(usage, {"reasoning_tokens"});
  }
  // xAI counts reasoning beside the completion; only its total tells.
  const bool is_beside =
      result.reasoning > 0 &&
      first_integer(usage, {"total_tokens"}) == result.input + result.output + result.reasoning;
  result.output += is_beside ? result.reasoning : 0;
  return result;
}

// The text of a content part, or of a list of them.
std::string part_text(const Json& part) {
  if (part.is_string()) {
    return part.get<std::string>();
  }
  if (part.is_array()) {
    std::string text;
    for (const Json& item : part) {
      text += part_text(item);
    }
    return text;
  }
  return std::string(agent::text_at(part, "text"));
}

class OpenaiChatDecoder final : public AnswerDecoder {
 public:
  explicit OpenaiChatDecoder(const Quirks& quirks)
      : sends_reasoning_(quirks.send_reasoning), sends_details_(quirks.send_reasoning_details) {}

 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(agent::Json& document, const agent::Emit& emit) override;
  void take_done() override { is_done_ = true; }
  bool is_complete() const override { return is_done_ || !finish_reason_.empty(); }
  bool is_over() const override { return is_done_; }
  Ending ending() const override { return {reason_of(finish_reason_), finish_reason_}; }
  agent::Reply reply() override;
  std::size_t call_bytes() const override { return calls_.size(); }

 private:
  std::size_t size() const;
  void take_chunk(agent::Json& chunk,
                  std::string_view first,
                  std::string_view second,
                  const agent::Emit& emit);
  void take_finish_reason(std::string_view reason);
  void take_common(const agent::Json& chunk);
  void take_message(agent::Json& message, bool is_whole, const agent::Emit& emit);
  void take_content(const agent::Json& content, bool is_whole, const agent::Emit& emit);
  void take_reasoning(const agent::Json& message, bool is_whole, const agent::Emit& emit);
  void take_tool_calls(agent::Json& message, bool is_whole);
  void merge_detail(const agent::Json& detail);
  agent::StopReason stop_reason(bool has_calls) const;
  bool is_plain(std::span<const AssembledCall> calls) const;
  agent::Json raw_message(const std::vector<AssembledCall>& calls) const;

  bool sends_reasoning_;
  bool sends_details_;
  bool is_done_ = false;
  std::string id_;
  std::string model_;
  bool has_plain_reasoning_ = false;
  std::string refusal_;
  std::string finish_reason_;
  std::string native_reason_;
  agent::Json usage_;
  agent::Json details_ = agent::Json::array();  // reasoning_details, merged by index
  std::unordered_map<std::string, std::size_t> detail_places_;  // by index and type
  agent::Json parts_;  // a whole message's content, where it is an array
  bool has_parts_ = false;
  std::size_t details_size_ = 0;  // bytes of text, and elements, that went into details_
  ToolCallAssembler calls_;
};

Heard OpenaiChatDecoder::take_event(std::string_view /*name*/,
                                    Json& chunk,
                                    const agent::Emit& emit) {
  const auto before = size();
  take_chunk(chunk, "delta", "message", emit);
  return heard_if(size() != before);
}

// Of what the answer consists of: all of it only grows, and an empty delta adds nothing.
std::size_t OpenaiChatDecoder::size() const {
  return text().size() + reasoning().size() + refusal_.size() + finish_reason_.size() +
         calls_.size() + details_size_;
}

// Servers that send both a delta and a message mean the delta in a stream, the message out of it.
void OpenaiChatDecoder::take_chunk(Json& chunk,
                                   std::string_view first,
                                   std::string_view second,
                                   const agent::Emit& emit) {
  take_common(chunk);
  Json* choices = list_in(chunk, "choices");
  if (choices == nullptr) {
    return;
  }
  bool has_text = false;  // some gateways have the calls in a choice of their own
  for (Json& choice : *choices) {
    if (!is_part(choice, "choices") || place_in(choice, "index").value_or(0) != 0) {
      continue;
    }
    const bool has_first = agent::find(choice, first) != nullptr;
    const std::string_view key = has_first ? first : second;
    const std::size_t before = text().size();
    if (Json* message = object_in(choice, key)) {
      take_message(*message, key == "message", emit);
    }
    if (text().size() > before && std::exchange(has_text, true)) {
      refuse("two of its `choices` are said to be the first, and each has a text");
    }
    if (has_failed(choice)) {
      return;
    }
    take_finish_reason(said(choice, "finish_reason"));
    if (const auto reason = agent::text_at(choice, "native_finish_reason"); !reason.empty()) {
      native_reason_ = reason;
    }
  }
}

void OpenaiChatDecoder::take_finish_reason(std::string_view reason) {
  if (!reason.empty() && may_be_taken_back(reason_of(finish_reason_))) {
    finish_reason_ = reason;
  }
}

bool OpenaiChatDecoder::take_document(Json& document, const agent::Emit& emit) {
  const Json* choices = agent::find(document, "choices");
  if (choices == nullptr || !choices->is_array()) {
    return false;
  }
  take_chunk(document, "message", "delta", emit);
  is_done_ = true;
  return true;
}

void OpenaiChatDecoder::take_common(const Json& chunk) {
  if (id_.empty()) {
    id_ = agent::text_at(chunk, "id");
  }
  if (model_.empty()) {
    model_ = agent::text_at(chunk, "model");
  }
}

void OpenaiChatDecoder::take_usage(const Json& data) {
  const Json* usage = agent::find(data, "usage");
  if (usage == nullptr) {
    const Json* groq = agent::find(data, "x_groq");
    usage = groq != nullptr ? agent::find(*groq, "usage") : nullptr;
  }
  if (usage != nullptr && usage->is_object()) {
    merge_usage(usage_, *usage);
    count(normal_usage(usage_), reported_cost(usage_));
  }
}

void OpenaiChatDecoder::take_message(Json& message, bool is_whole, const agent::Emit& emit) {
  take_reasoning(message, is_whole, emit);
  if (const Json* content = agent::find(message, "content")) {
    take_content(*content, is_whole, emit);
  }
  const std::string_view refusal = said(message, "refusal");
  refusal_ += refusal;
  add_refusal(refusal.size());
  take_tool_calls(message, is_whole);
}

void OpenaiChatDecoder::take_content(const Json& content, bool is_whole, const agent::Emit& emit) {
  if (content.is_string()) {
    add_text(content.get_ref<const std::string&>(), emit);
    return;
  }
  if (!content.is_array()) {
    refuse("`content` is neither text nor a list: " + excerpt(agent::dump(content)));
    return;
  }
  has_parts_ = true;
  if (is_whole) {
    parts_ = content;
  }
  for (const Json& part : content) {
    if (!part.is_object() && !part.is_string() && !part.is_array()) {
      refuse("a part of `content` is no object: " + excerpt(agent::dump(part)));
    }
    if (const Json* thinking = agent::find(part, "thinking")) {
      add_reasoning(part_text(*thinking), emit);
    } else {
      add_text(part_text(part), emit);
    }
  }
}

// The same words may come under several names at once: the details' text counts only in answers
// that have it nowhere else.
void OpenaiChatDecoder::take_reasoning(const Json& message,
                                       bool is_whole,
                                       const agent::Emit& emit) {
  std::string words(agent::text_at(message, "reasoning_content"));
  if (words.empty()) {
    words = agent::text_at(message, "reasoning");
  }
  has_plain_reasoning_ = has_plain_reasoning_ || !words.empty();
  const Json* details = agent::find(message, "reasoning_details");
  if (details != nullptr && details->is_array()) {
    for (const Json& detail : *details) {
      if (is_whole) {
        details_.push_back(detail);
      } else {
        merge_detail(detail);
      }
      if (!has_plain_reasoning_) {
        words += agent::text_at(detail, "text", agent::text_at(detail, "summary"));
      }
    }
  }
  add_reasoning(words, emit);
}

// Pieces of one detail carry the same index and type.
void OpenaiChatDecoder::merge_detail(const Json& detail) {
  if (!detail.is_object()) {
    return;
  }
  const Json* index = agent::find(detail, "index");
  std::size_t place = details_.size();
  if (index != nullptr) {
    const std::string key =
        agent::dump(*index) + '\n' + std::string(agent::text_at(detail, "type"));
    place = detail_places_.try_emplace(key, place).first->second;
  }
  if (place == details_.size()) {
    details_.push_back(detail);
    ++details_size_;
    return;
  }
  for (const auto& [key, value] : detail.items()) {
    Json& member = details_[place][key];
    const bool is_piece = key == "text" || key == "summary" || key == "data";
    if (is_piece && member.is_string() && value.is_string()) {
      member.get_ref<std::string&>() += value.get_ref<const std::string&>();
      details_size_ += value.get_ref<const std::string&>().size();
    } else if (!value.is_null()) {
      member = value;
    }
  }
}

void OpenaiChatDecoder::take_tool_calls(Json& message, bool is_whole) {
  if (Json* calls = list_in(message, "tool_calls")) {
    for (Json& call : *calls) {
      if (!is_part(call, "tool_calls")) {
        return;
      }
      const Json* const function = object_in(call, "function");
      if (function != nullptr) {
        said(*function, "name");
      }
      const auto index = place_in(call, "index");
      if (!is_whole && !calls_.add_piece(call, index)) {
        refuse("a piece of `tool_calls` is of no call that has begun, or of two");
      } else if (!is_whole) {
        continue;
      } else if (function != nullptr || object_in(call, "custom") != nullptr) {
        calls_.add_call(call);
      } else {
        refuse("a call of `tool_calls` has no `function`");
      }
    }
  }
  if (const Json* call = agent::find(message, "function_call")) {
    calls_.add_function_call(*call);
  }
}

// The finish reason alone is not believed: calls may come with any of them, and a gateway may
// report "tool_calls" where its upstream was cut.
StopReason OpenaiChatDecoder::stop_reason(bool has_calls) const {
  const StopReason reason = reason_of(finish_reason_);
  if (is_ordinary(reason) && reason_of(native_reason_) == StopReason::max_tokens) {
    return StopReason::max_tokens;
  }
  if (is_ordinary(reason) && has_calls) {
    return StopReason::tool_use;
  }
  return is_ordinary(reason) && !refusal_.empty() ? StopReason::refusal : reason;
}

// Neither parts nor words beside its text, and no calls but of functions.
bool OpenaiChatDecoder::is_plain(std::span<const AssembledCall> calls) const {
  const bool has_own_content = has_parts_ && (!parts_.is_null() || !reasoning().empty());
  const bool sends_thoughts =
      (sends_details_ && !details_.empty()) || (sends_reasoning_ && !reasoning().empty());
  return !has_own_content && !sends_thoughts && refusal_.empty() &&
         std::ranges::none_of(calls, [](const AssembledCall& call) {
           return call.is_custom || !call.extra_content.empty();
         });
}

Json OpenaiChatDecoder::raw_message(const std::vector<AssembledCall>& calls) const {
  Json message = {{"role", "assistant"}, {"content", nullptr}};
  if (has_parts_ && !parts_.is_null()) {
    message["content"] = parts_;
  } else if (has_parts_ && !reasoning().empty()) {
    message["content"] = {
        {{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", reasoning()}}}}}};
    if (!text().empty()) {
      message["content"].push_back({{"type", "text"}, {"text", text()}});
    }
  } else if (!text().empty()) {
    message["content"] = text();
  }
  if (!refusal_.empty()) {
    message["refusal"] = refusal_;
  }
  if (sends_details_ && !details_.empty()) {
    message["reasoning_details"] = details_;
  } else if (sends_reasoning_ && !reasoning().empty()) {
    message["reasoning_content"] = reasoning();
  }
  for (const AssembledCall& call : calls) {
    Json json = {{"id", call.id}, {"type", call.is_custom ? "custom" : "function"}};
    if (call.is_custom) {
      json["custom"] = {{"name", call.name}, {"input", call.input}};
    } else {
      json["function"] = {{"name", call.name}, {"arguments", history_arguments(call.arguments)}};
    }
    if (!call.extra_content.empty()) {
      json["extra_content"] = *agent::parse_json(call.extra_content);
    }
    message["tool_calls"].push_back(std::move(json));
  }
  return message;
}

agent::Reply OpenaiChatDecoder::reply() {
  agent::Reply reply;
  reply.stop_reason = stop_reason(!calls_.empty());
  note_blanks(calls_.blanks());
  auto calls = std::move(calls_).finish(id_, reply.stop_reason == StopReason::max_tokens);
  if (!is_plain(calls) && (!text().empty() || !refusal_.empty() || !calls.empty())) {
    reply.raw = agent::dump(raw_message(calls));
  }
  for (AssembledCall& call : calls) {
    reply.tool_calls.push_back({.id = std::move(call.id),
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
  reply.model = model_;
  reply.protocol = "openai_chat";
  return reply;
}

}  // namespace

std::unique_ptr<Decoder> make_openai_chat_decoder(const Quirks& quirks) {
  return std::make_unique<OpenaiChatDecoder>(quirks);
}

}  // namespace providers

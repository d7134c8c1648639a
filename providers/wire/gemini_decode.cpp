#include "providers/wire/gemini_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "agent/text.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace providers {
namespace {

using agent::Heard;
using agent::Json;
using agent::StopReason;

constexpr auto k_stop_words = std::to_array<StopWord>({
    {"STOP", StopReason::end_turn},
    {"MAX_TOKENS", StopReason::max_tokens},
    {"SAFETY", StopReason::content_filter},
    {"RECITATION", StopReason::content_filter},
    {"BLOCKLIST", StopReason::content_filter},
    {"PROHIBITED_CONTENT", StopReason::content_filter},
    {"SPII", StopReason::content_filter},
    {"LANGUAGE", StopReason::content_filter},
    {"MODEL_ARMOR", StopReason::content_filter},
    {"IMAGE_SAFETY", StopReason::content_filter},
    {"IMAGE_PROHIBITED_CONTENT", StopReason::content_filter},
    {"IMAGE_RECITATION", StopReason::content_filter},
    {"JAILBREAK", StopReason::content_filter},
    {"MALFORMED_FUNCTION_CALL", StopReason::malformed_tool_call},
    {"UNEXPECTED_TOOL_CALL", StopReason::malformed_tool_call},
    {"TOO_MANY_TOOL_CALLS", StopReason::malformed_tool_call},
});

TokenSum input_sum(const Json& usage) {
  return token_sum(usage, {"promptTokenCount", "toolUsePromptTokenCount"});
}

// Thoughts are counted beside the answer.
TokenSum output_sum(const Json& usage) {
  return token_sum(usage, {"candidatesTokenCount", "thoughtsTokenCount"});
}

agent::Usage normal_usage(const Json& usage) {
  return {.input = input_sum(usage).tokens,
          .output = output_sum(usage).tokens,
          .cache_read = token_count(usage, "cachedContentTokenCount"),
          .reasoning = token_count(usage, "thoughtsTokenCount")};
}

bool is_thought(const Json& part) {
  return agent::bool_at(part, "thought");
}

// Text that may grow: a signature belongs to the part that it came on.
bool is_plain_text(const Json& part) {
  return part.is_object() && agent::find(part, "text") != nullptr &&
         part.size() == (agent::find(part, "thought") != nullptr ? 2u : 1u);
}

// All that it has beside the mark of a thought is empty text.
bool is_empty_part(const Json& part) {
  return part.is_object() && std::ranges::all_of(part.items(), [](const auto& member) {
           return member.key() == "thought" || member.value() == "" || member.value().is_null();
         });
}

// "$.a.b[0]" as a JSON pointer: "/a/b/0".
std::string pointer_of(std::string_view path) {
  std::string pointer;
  for (const char c : path.substr(path.starts_with('$') ? 1 : 0)) {
    if (c == '.' || c == '[') {
      pointer += '/';
    } else if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else if (c != ']' && c != '\'' && c != '"') {
      pointer += c;
    }
  }
  return pointer;
}

// A path may make whatever it names: no list of millions, no nesting without end.
bool is_modest(std::string_view pointer) {
  constexpr std::size_t k_longest_index = 4;
  constexpr auto k_most_levels = 100;
  std::size_t digits = 0;
  for (const char c : pointer) {
    digits = agent::is_digit(c) ? digits + 1 : 0;
    if (digits > k_longest_index) {
      return false;
    }
  }
  return std::ranges::count(pointer, '/') <= k_most_levels;
}

// Where the place is an item of a list, it is one of its items, or the next one.
bool has_no_hole(const Json& arguments, std::string_view pointer) {
  for (std::size_t end = pointer.find('/', 1); end != pointer.npos;
       end = pointer.find('/', end + 1)) {
    const Json::json_pointer list(std::string(pointer.substr(0, end)));
    const std::string_view item = pointer.substr(end + 1, pointer.find('/', end + 1) - end - 1);
    const bool is_number = !item.empty() && std::ranges::all_of(item, agent::is_digit);
    const bool is_there = arguments.contains(list);
    const std::size_t size = is_there && arguments[list].is_array() ? arguments[list].size() : 0;
    if (is_number && !(is_there && arguments[list].is_object()) &&
        std::stoul(std::string(item)) > size) {
      return false;
    }
  }
  return true;
}

// One piece of a call's arguments: a value, or text that goes on under the same path. False: it
// says no place, or none that can have that value.
bool apply_piece(Json& arguments, const Json& piece) {
  const std::string pointer = pointer_of(agent::text_at(piece, "jsonPath"));
  if (!pointer.starts_with('/') || pointer.contains("//") || !is_modest(pointer)) {
    return false;
  }
  const Json* const text = agent::find(piece, "stringValue");
  const Json* const number = agent::find(piece, "numberValue");
  const Json* const truth = agent::find(piece, "boolValue");
  const auto values =
      (text != nullptr ? 1 : 0) + (number != nullptr ? 1 : 0) + (truth != nullptr ? 1 : 0);
  if (values > 1 || (text != nullptr && !text->is_string())) {
    return false;
  }
  try {
    if (!has_no_hole(arguments, pointer)) {
      return false;
    }
    Json& target = arguments[Json::json_pointer(pointer)];
    if (target.is_string() && text != nullptr) {
      target.get_ref<std::string&>() += text->get_ref<const std::string&>();
    } else if (!target.is_null()) {
      return false;
    } else if (text != nullptr) {
      target = *text;
    } else if (const Json* const value = number != nullptr ? number : truth) {
      target = *value;
    }
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

// The protocol's word for a reason that nobody has given.
bool is_unset(std::string_view reason) {
  return reason.empty() || reason.ends_with("_UNSPECIFIED");
}

class GeminiDecoder final : public AnswerDecoder {
 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(agent::Json& document, const agent::Emit& emit) override;
  void take_done() override {}
  bool is_complete() const override { return !finish_reason_.empty(); }
  bool is_over() const override { return false; }  // usage may come behind the reason
  bool may_be_over() const override { return is_complete(); }
  Ending ending() const override {
    return {stop_reason_of(k_stop_words, finish_reason_), finish_reason_};
  }
  agent::Reply reply() override;
  bool lacks_input() const override { return input_sum(usage_).lacks_some; }
  bool lacks_output() const override { return output_sum(usage_).lacks_some; }

 private:
  bool take_candidate(Json& candidate, const agent::Emit& emit);
  bool take_part(Json part, const agent::Emit& emit);
  void take_call(agent::Json part);

  agent::Json parts_ = agent::Json::array();
  std::string id_;
  std::string model_;
  std::string finish_reason_;
  agent::Json usage_ = agent::Json::object();
  bool is_call_open_ = false;   // the last part is a call whose arguments come in pieces
  bool has_open_text_ = false;  // and a text among them goes on
};

void GeminiDecoder::take_usage(const Json& data) {
  if (data.is_array()) {  // a stream without SSE, as one document
    std::ranges::for_each(data, [this](const Json& event) { take_usage(event); });
    return;
  }
  if (const Json* usage = agent::find(data, "usageMetadata"); usage && usage->is_object()) {
    merge_usage(usage_, *usage);
    count(normal_usage(usage_));
  }
}

Heard GeminiDecoder::take_event(std::string_view /*name*/, Json& data, const agent::Emit& emit) {
  bool says_something = false;
  id_ = agent::text_at(data, "responseId", id_);
  model_ = agent::text_at(data, "modelVersion", model_);
  if (Json* candidates = list_in(data, "candidates")) {
    bool has_text = false;
    for (Json& candidate : *candidates) {
      if (!is_part(candidate, "candidates") || place_in(candidate, "index").value_or(0) != 0) {
        continue;
      }
      const std::size_t before = text().size();
      says_something = take_candidate(candidate, emit) || says_something;
      if (text().size() > before && std::exchange(has_text, true)) {
        refuse("two of its `candidates` are said to be the first, and each has a text");
      }
    }
  }
  // A prompt that was blocked, for whatever reason, has no candidate.
  if (const Json* feedback = agent::find(data, "promptFeedback")) {
    if (const auto reason = agent::text_at(*feedback, "blockReason"); !is_unset(reason)) {
      const bool is_filter = stop_reason_of(k_stop_words, reason) == StopReason::content_filter;
      take_stop_word(k_stop_words, is_filter ? reason : "PROHIBITED_CONTENT", finish_reason_);
      says_something = true;
    }
  }
  return heard_if(says_something);
}

// One answer, or all chunks of a stream in an array.
bool GeminiDecoder::take_document(Json& document, const agent::Emit& emit) {
  bool is_answer = false;
  const auto take = [&](Json& chunk) {
    if (chunk.is_object()) {
      take_event({}, chunk, emit);
      is_answer = is_answer || chunk.contains("candidates") || chunk.contains("promptFeedback");
    }
    return chunk.is_object();
  };
  const bool is_known = document.is_array() ? std::ranges::all_of(document, take) : take(document);
  return is_known && is_answer;
}

// Whether it says something; so of a part.
bool GeminiDecoder::take_candidate(Json& candidate, const agent::Emit& emit) {
  bool says_something = false;
  Json* content = object_in(candidate, "content");
  Json* parts = content == nullptr ? nullptr : list_in(*content, "parts");
  if (parts != nullptr) {
    for (Json& part : *parts) {
      says_something = take_part(std::move(part), emit) || says_something;
    }
  }
  if (const auto reason = said(candidate, "finishReason"); !is_unset(reason)) {
    take_stop_word(k_stop_words, reason, finish_reason_);
    if (is_call_open_ && ending().reason == StopReason::end_turn) {
      refuse("it ends while the arguments of a call are under way");
    }
    says_something = true;
  }
  return says_something;
}

bool GeminiDecoder::take_part(Json part, const agent::Emit& emit) {
  if (object_in(part, "functionCall") != nullptr) {
    take_call(std::move(part));
    return true;
  }
  if (is_call_open_ && !is_empty_part(part) && !is_thought(part)) {
    refuse("another part comes while the arguments of a call are under way");
  }
  if (!part.is_object()) {
    refuse("a part of `parts` is no object: " + excerpt(agent::dump(part)));
  }
  const std::string_view text = said(part, "text");
  const bool says_something = !is_empty_part(part);
  if (is_thought(part)) {
    add_reasoning(text, emit);
  } else {
    add_text(text, emit);
  }
  const bool goes_on = !parts_.empty() && is_plain_text(parts_.back()) && is_plain_text(part) &&
                       is_thought(parts_.back()) == is_thought(part);
  if (goes_on) {
    append_text(parts_.back(), "text", text);
  } else if (part.is_object()) {
    parts_.push_back(std::move(part));
  }
  return says_something;
}

// A call comes whole, or as its name, then pieces of its arguments, then an empty call.
void GeminiDecoder::take_call(Json part) {
  Json& call = part["functionCall"];
  const bool has_name = !said(call, "name").empty();
  const bool goes_on = agent::bool_at(call, "willContinue");
  const Json* args = agent::find(call, "args");
  Json* pieces = list_in(call, "partialArgs");
  const bool begins = has_name || !is_call_open_;
  if (has_name && is_call_open_) {
    refuse("a call begins while the arguments of another one are under way");
  } else if (args != nullptr && !args->empty() && (!begins || goes_on || pieces != nullptr)) {
    refuse("the arguments of a call come as a whole and in pieces");
  } else if (!has_name && !is_call_open_ && pieces != nullptr) {
    refuse("pieces of arguments of no call that has begun");
  } else if (begins && !has_name && pieces == nullptr && args == nullptr) {
    refuse("a `functionCall` has neither a name nor arguments");
  }
  const Json said_in_pieces = pieces == nullptr ? Json::array() : std::move(*pieces);
  if (begins) {  // one without a name is told to the model as any other that there is not
    call.erase("willContinue");
    call.erase("partialArgs");
    parts_.push_back(std::move(part));
    is_call_open_ = goes_on;
  }
  for (const Json& piece : said_in_pieces) {
    if (!apply_piece(object_at(parts_.back(), "functionCall")["args"], piece)) {
      refuse("a piece of `partialArgs` says no place in the arguments, or another value of one");
    }
    has_open_text_ = agent::bool_at(piece, "willContinue");
  }
  if (!goes_on) {
    is_call_open_ = false;
    if (std::exchange(has_open_text_, false)) {
      refuse("the arguments of a call end within a text");
    }
  }
}

agent::Reply GeminiDecoder::reply() {
  agent::Reply reply;
  const StopReason reason = ending().reason;
  ToolCallAssembler assembler;
  for (Json& part : parts_) {
    if (Json* call = agent::find(part, "functionCall"); call != nullptr && call->is_object()) {
      Json& given = (*call)["args"];
      std::string arguments = given.is_null() ? std::string() : agent::dump(given);
      if (!given.is_object()) {
        given = *agent::parse_json(history_arguments(arguments));
      }
      assembler.add_call(
          agent::text_at(*call, "id"), agent::text_at(*call, "name"), std::move(arguments));
    }
  }
  const bool is_plain = parts_.size() == 1 && has_only(parts_.front(), {"text"}) &&
                        agent::text_at(parts_.front(), "text") == text();
  if (!is_plain && !parts_.empty()) {
    reply.raw = agent::dump(parts_);
  }
  parts_.clear();
  note_blanks(assembler.blanks());
  for (AssembledCall& call : std::move(assembler).finish(id_, reason == StopReason::max_tokens)) {
    reply.tool_calls.push_back({.id = std::move(call.id),
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
  const bool calls = reason == StopReason::end_turn && !reply.tool_calls.empty();
  reply.stop_reason = calls ? StopReason::tool_use : reason;
  reply.model = model_;
  reply.protocol = "gemini";
  return reply;
}

}  // namespace

std::unique_ptr<Decoder> make_gemini_decoder() {
  return std::make_unique<GeminiDecoder>();
}

}  // namespace providers

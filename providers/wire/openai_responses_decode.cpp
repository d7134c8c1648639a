#include "providers/wire/openai_responses_decode.h"

#include "agent/json.h"
#include "agent/message.h"
#include "agent/text.h"
#include "providers/wire/answer_decoder.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
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

std::int64_t detail_of(const Json& usage, std::string_view group, std::string_view key) {
  const Json* details = agent::find(usage, group);
  return details == nullptr ? 0 : token_count(*details, key);
}

agent::Usage normal_usage(const Json& usage) {
  return {.input = token_count(usage, "input_tokens"),
          .output = token_count(usage, "output_tokens"),
          .cache_read = detail_of(usage, "input_tokens_details", "cached_tokens"),
          .cache_write = detail_of(usage, "input_tokens_details", "cache_write_tokens"),
          .reasoning = detail_of(usage, "output_tokens_details", "reasoning_tokens")};
}

// The parts of a list member that have this type, their `key` joined.
std::string joined_parts(const Json& item,
                         std::string_view list,
                         std::string_view type,
                         std::string_view key) {
  std::string text;
  if (const Json* parts = agent::find(item, list); parts != nullptr && parts->is_array()) {
    for (const Json& part : *parts) {
      if (agent::text_at(part, "type") == type) {
        text += agent::text_at(part, key);
      }
    }
  }
  return text;
}

std::string text_of(const Json& item) {
  return joined_parts(item, "content", "output_text", "text");
}

std::string reasoning_of(const Json& item) {
  return joined_parts(item, "summary", "summary_text", "text") +
         joined_parts(item, "content", "reasoning_text", "text");
}

constexpr auto k_stop_words = std::to_array<StopWord>({
    {"completed", StopReason::end_turn},
    {"incomplete:max_output_tokens", StopReason::max_tokens},
    {"incomplete:max_tokens", StopReason::max_tokens},
    {"incomplete:content_filter", StopReason::content_filter},
});

// The status of a call: the whole answer's status tells whether one that was begun has ended.
bool is_whole_call(std::string_view status) {
  return status.empty() || status == "completed" || status == "in_progress";
}

bool is_known_status(std::string_view status) {
  return is_whole_call(status) || status == "incomplete";
}

bool is_call(std::string_view type) {
  return type == "function_call" || type == "custom_tool_call";
}

std::string_view arguments_key(const Json& call) {
  return agent::text_at(call, "type") == "custom_tool_call" ? "input" : "arguments";
}

// For a message of which only the deltas came, or another text than they said.
Json message_of(std::string_view text) {
  return {{"type", "message"},
          {"role", "assistant"},
          {"content", {{{"type", "output_text"}, {"text", text}}}}};
}

// What goes back of an item: what the server sent, without the name under which it keeps it, for
// we ask it to keep nothing. Nothing of a thought of which only the name came, nor of an item that
// never came itself.
Json item_to_send(Json item) {
  if (!item.is_object()) {
    return nullptr;
  }
  const bool is_sealed = !agent::text_at(item, "encrypted_content").empty();
  if (agent::text_at(item, "type") == "reasoning" && !is_sealed && reasoning_of(item).empty()) {
    return nullptr;
  }
  if (!is_sealed) {
    item.erase("id");
  }
  return item;
}

// Nothing but the words of this text.
bool is_plain_message(const Json& item, std::string_view text) {
  const Json* content = agent::find(item, "content");
  if (!has_only(item, {"type", "role", "status", "content"}) || content == nullptr ||
      !content->is_array() || content->size() != 1 ||
      agent::text_at(item, "type", "message") != "message" ||
      agent::text_at(item, "role") != "assistant" ||
      agent::text_at(item, "status", "completed") != "completed") {
    return false;
  }
  const Json& part = content->front();
  const auto is_empty = [&](std::string_view key) {
    const Json* member = agent::find(part, key);
    return member == nullptr || member->empty();
  };
  return has_only(part, {"type", "text", "annotations", "logprobs"}) &&
         agent::text_at(part, "type") == "output_text" && agent::text_at(part, "text") == text &&
         is_empty("annotations") && is_empty("logprobs");
}

bool is_plain_call(const Json& item) {
  return agent::text_at(item, "type") == "function_call" &&
         has_only(item, {"type", "status", "call_id", "name", "arguments"}) &&
         agent::text_at(item, "status", "completed") == "completed";
}

// The answer's text, and its calls behind it.
bool is_plain(const Json& output, std::string_view text) {
  const bool has_text = !output.empty() && is_plain_message(output.front(), text);
  return (has_text || text.empty()) &&
         std::all_of(output.begin() + (has_text ? 1 : 0), output.end(), is_plain_call);
}

// The calls among the items, in their order.
void put_arguments(Json& output, std::span<const AssembledCall> calls) {
  for (Json& item : output) {
    if (is_call(agent::text_at(item, "type")) && !calls.empty()) {
      if (!calls.front().is_custom) {
        item["arguments"] = history_arguments(calls.front().arguments);
      }
      calls = calls.subspan(1);
    }
  }
}

class OpenaiResponsesDecoder final : public AnswerDecoder {
 protected:
  Heard take_event(std::string_view name, Json& data, const agent::Emit& emit) override;
  void take_usage(const agent::Json& data) override;
  bool take_document(agent::Json& document, const agent::Emit& emit) override;
  // Only gateways send it, behind the terminal event.
  void take_done() override {}
  bool is_complete() const override { return !status_.empty(); }
  bool is_over() const override { return !status_.empty(); }
  Ending ending() const override;
  agent::Reply reply() override;
  std::size_t call_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& [index, item] : items_) {
      bytes += item.pieces.size();
    }
    return bytes;
  }

 private:
  // Items are known by their place: some gateways change the ids on the way.
  struct Item {
    agent::Json json;
    std::string pieces;       // of a call's arguments or input, until the item is whole
    std::string text;         // of its deltas
    std::size_t refusal = 0;  // bytes of one that came in deltas
    bool was_shown = false;   // deltas of it came
    bool is_whole = false;
    bool is_cut = false;  // the server says so
    int parts = 0;        // of its text that are whole
  };

  long long place_of(std::string_view type, const agent::Json& event);
  long long place_without_index(std::string_view type, const agent::Json& event);
  void take_item(long long index, agent::Json item, bool is_whole, const agent::Emit& emit);
  void take_text(Item& known, const agent::Json& event, const agent::Emit& emit);
  void take_whole_part(Item& known,
                       long long part,
                       std::string_view whole,
                       const agent::Emit& emit);
  static void keep_arguments(Item& known, agent::Json& item);
  void check_whole_arguments(std::string_view pieces, std::string_view whole);
  void check_same(const Item& known, const agent::Json& item);
  void check_pieces();
  void settle_text(Item& known, std::string_view whole, const agent::Emit& emit);
  void take_response(const agent::Json& response);
  void take_output(agent::Json& response, const agent::Emit& emit);
  void add_calls(ToolCallAssembler& assembler);
  bool has_cut_item() const;
  StopReason stop_reason(bool has_cut_item, bool has_calls, bool has_refusal) const;

  std::map<long long, Item> items_;                    // by output_index
  std::unordered_map<std::string, long long> places_;  // of the last item with an id
  std::string id_;
  std::string model_;
  std::string status_;      // of the terminal event
  std::string incomplete_;  // why it is not complete
};

Heard OpenaiResponsesDecoder::take_event(std::string_view name,
                                         Json& data,
                                         const agent::Emit& emit) {
  const std::string_view type = kind_of(data, name);
  const long long index = place_of(type, data);
  const std::string_view delta = agent::text_at(data, "delta");
  if (type == "response.output_item.added" || type == "response.output_item.done") {
    if (Json* item = object_in(data, "item")) {
      take_item(index, std::move(*item), type.ends_with("done"), emit);
    }
  } else if (type == "response.output_text.delta") {
    take_text(items_[index], data, emit);
  } else if (type == "response.output_text.done") {
    take_whole_part(
        items_[index], place_in(data, "content_index").value_or(0), said(data, "text"), emit);
  } else if (type == "response.reasoning_summary_text.delta" ||
             type == "response.reasoning_text.delta") {
    items_[index].was_shown = true;
    add_reasoning(delta, emit);
  } else if (type == "response.refusal.delta") {
    items_[index].refusal += delta.size();
    add_refusal(delta.size());
  } else if (type == "response.function_call_arguments.delta" ||
             type == "response.custom_tool_call_input.delta") {
    items_[index].pieces += said(data, "delta");
  } else if (type == "response.function_call_arguments.done") {
    Item& known = items_[index];
    check_whole_arguments(known.pieces, said(data, "arguments"));
    if (known.pieces.empty() && !known.is_whole) {
      known.pieces = said(data, "arguments");
    }
  } else if (Json* response = object_in(data, "response")) {
    take_response(*response);
    if (type == "response.completed" || type == "response.incomplete") {
      take_output(*response, emit);
      check_pieces();
      const std::string_view event = type.substr(type.find('.') + 1);
      const std::string_view status = said(*response, "status");
      status_ = status.empty() || status == "completed" ? event : status;
      if (const Json* error = agent::find(*response, "error"); error != nullptr) {
        refuse("an answer that has ended has an error: " + excerpt(agent::dump(*error)));
      }
    }
  }
  // Said again and again while nothing of the answer comes.
  const bool is_waiting = type == "keepalive" || type == "response.queued";
  return is_waiting                 ? Heard::keep_alive
         : type.ends_with(".delta") ? heard_if(!delta.empty())
                                    : heard_if(type.starts_with("response."));
}

bool OpenaiResponsesDecoder::take_document(Json& document, const agent::Emit& emit) {
  const Json* output = agent::find(document, "output");
  if (output == nullptr || !output->is_array()) {
    return false;
  }
  take_response(document);
  take_output(document, emit);
  status_ = said(document, "status");
  return true;
}

// By its index, and by the item's id where that is known: both mean the same one. Ids may be given
// twice.
long long OpenaiResponsesDecoder::place_of(std::string_view type, const Json& event) {
  const auto index = place_in(event, "output_index");
  if (!index) {
    return place_without_index(type, event);
  }
  const std::string id(agent::text_at(event, "item_id"));
  const auto named = places_.find(id);
  if (named == places_.end()) {
    return *index;
  }
  const auto known = items_.find(*index);
  const bool has_id = known != items_.end() && agent::text_at(known->second.json, "id") == id;
  if (named->second != *index && !has_id) {
    refuse("a piece is said to be of two items");
  }
  return *index;
}

// By its id, which is that of the call where the item has none; else it is of the last one, or
// begins one behind that.
long long OpenaiResponsesDecoder::place_without_index(std::string_view type, const Json& event) {
  const Json* const item = agent::find(event, "item");
  const std::string id(item == nullptr
                           ? agent::text_at(event, "item_id")
                           : agent::text_at(*item, "id", agent::text_at(*item, "call_id")));
  if (const auto named = places_.find(id); named != places_.end()) {
    return named->second;
  }
  if (items_.empty()) {
    return 0;
  }
  const auto& [last, known] = *items_.rbegin();
  return last + (known.is_whole || type == "response.output_item.added" ? 1 : 0);
}

void OpenaiResponsesDecoder::take_item(long long index,
                                       Json item,
                                       bool is_whole,
                                       const agent::Emit& emit) {
  Item& known = items_[index];
  known.is_cut = known.is_cut || (is_whole && agent::text_at(item, "status") == "incomplete");
  check_same(known, item);
  if (is_whole) {
    settle_text(known, text_of(item), emit);
  }
  if (known.is_whole) {
    return;
  }
  if (is_whole && !known.was_shown) {
    add_reasoning(reasoning_of(item), emit);
  }
  if (is_whole) {
    const std::size_t refusal = joined_parts(item, "content", "refusal", "refusal").size();
    const bool has_content = agent::find(item, "content") != nullptr && !item["content"].empty();
    if (has_content && refusal < known.refusal) {
      refuse("an item lacks a refusal that came in pieces");
    }
    add_refusal(refusal - std::min(refusal, known.refusal));
    add_sealed(agent::text_at(item, "encrypted_content").size());
  }
  if (is_whole && is_call(agent::text_at(item, "type"))) {
    keep_arguments(known, item);
  }
  known.json = std::move(item);
  known.is_whole = is_whole;
  if (const std::string_view id =
          agent::text_at(known.json, "id", agent::text_at(known.json, "call_id"));
      !id.empty()) {
    places_.insert_or_assign(std::string(id), index);
  }
}

// Of a call that is whole: what it does not say once more is what its pieces said.
void OpenaiResponsesDecoder::keep_arguments(Item& known, Json& item) {
  const std::string_view key = arguments_key(item);
  const Json* const said_whole = agent::find(item, key);
  const bool says_none =
      said_whole == nullptr ||
      (said_whole->is_string() && said_whole->get_ref<const std::string&>().empty());
  if (says_none && !known.pieces.empty()) {
    item[std::string(key)] = std::move(known.pieces);
  }
  agent::give_up(known.pieces);
}

// What was said of it before is said again, as it was; a call's arguments come in pieces first.
void OpenaiResponsesDecoder::check_same(const Item& known, const Json& item) {
  const bool is_known = !known.json.is_null();
  const auto differs = [&](std::string_view key) {
    const std::string_view now = said(item, key);
    return is_known && agent::text_at(known.json, key, now) != now;
  };
  if (differs("type")) {
    refuse("an item of the answer is said to be of two types");
  }
  if (said(item, "type").empty() && agent::find(item, "content") == nullptr) {
    refuse("an item of the answer has neither a type nor content");
  }
  if (!is_call(agent::text_at(item, "type"))) {
    return;
  }
  if (!said(item, "call_id").empty() && differs("call_id")) {
    refuse("a call is said to have two ids");
  }
  const std::string_view key = arguments_key(item);
  const std::string_view before = known.is_whole ? agent::text_at(known.json, key) : known.pieces;
  check_whole_arguments(before, agent::text_at(item, key));
  if (differs("name")) {
    refuse("a call is said to be of two tools");
  }
}

// Of what is no call, or is whole without them.
void OpenaiResponsesDecoder::check_pieces() {
  for (const auto& [index, item] : items_) {
    const bool takes_pieces = is_call(agent::text_at(item.json, "type")) && !item.is_whole;
    if (!takes_pieces && !item.pieces.empty()) {
      refuse("pieces of a call's arguments are of none of its calls");
    }
  }
}

void OpenaiResponsesDecoder::check_whole_arguments(std::string_view pieces,
                                                   std::string_view whole) {
  if (!whole.empty() && !whole.starts_with(pieces)) {
    refuse("the arguments of a call are others than its pieces");
  }
}

void OpenaiResponsesDecoder::take_text(Item& known, const Json& event, const agent::Emit& emit) {
  const std::string_view delta = said(event, "delta");
  const bool is_of_whole_part =
      place_in(event, "content_index").value_or(known.parts) < known.parts;
  if (!delta.empty() && (known.is_whole || is_of_whole_part)) {
    refuse("a piece of a text comes behind what was said to be the whole of it");
  }
  known.was_shown = true;
  known.text += delta;
  add_text(delta, emit);
}

// Of a text in several parts only the first one can be told from the others.
void OpenaiResponsesDecoder::take_whole_part(Item& known,
                                             long long part,
                                             std::string_view whole,
                                             const agent::Emit& emit) {
  if (part == 0 && known.parts == 0) {
    settle_text(known, whole, emit);
  } else if (!known.text.ends_with(whole)) {
    refuse("the text of an item is another one than its pieces");
  }
  known.was_shown = true;
  ++known.parts;
}

// What the pieces have left out is the rest of it. Some say none of it once more, or without the
// blanks at its end.
void OpenaiResponsesDecoder::settle_text(Item& known,
                                         std::string_view whole,
                                         const agent::Emit& emit) {
  if (whole.starts_with(known.text)) {
    add_text(whole.substr(known.text.size()), emit);
    known.text = whole;
  } else if (!known.text.starts_with(whole)) {
    refuse("the text of an item is another one than its pieces");
  } else if (!whole.empty() &&
             !agent::is_blank(std::string_view(known.text).substr(whole.size()))) {
    refuse("a text that is said to be whole lacks some of its pieces");
  }
}

void OpenaiResponsesDecoder::take_response(const Json& response) {
  id_ = agent::text_at(response, "id", id_);
  model_ = agent::text_at(response, "model", model_);
  if (const Json* details = agent::find(response, "incomplete_details")) {
    incomplete_ = agent::text_at(*details, "reason");
  }
}

void OpenaiResponsesDecoder::take_usage(const Json& data) {
  const Json* response = agent::find(data, "response");
  for (const Json* place : {response, &data}) {
    const Json* usage = place == nullptr ? nullptr : agent::find(*place, "usage");
    if (usage != nullptr && usage->is_object()) {
      count(normal_usage(*usage), reported_cost(*usage));
    }
  }
}

// The last event has all items once more, or none of them: only what is missing is taken from it.
void OpenaiResponsesDecoder::take_output(Json& response, const agent::Emit& emit) {
  Json* output = list_in(response, "output");
  if (output == nullptr) {
    return;
  }
  for (std::size_t index = 0; index < output->size(); ++index) {
    if (is_part((*output)[index], "output")) {
      take_item(static_cast<long long>(index), std::move((*output)[index]), true, emit);
    }
  }
}

// The arguments are moved out of the items.
void OpenaiResponsesDecoder::add_calls(ToolCallAssembler& assembler) {
  for (auto& [index, item] : items_) {
    const std::string_view type = agent::text_at(item.json, "type");
    const std::string_view id = agent::text_at(item.json, "call_id");
    const std::string_view name = agent::text_at(item.json, "name");
    if (type == "custom_tool_call") {
      const std::string_view input =
          item.is_whole ? agent::text_at(item.json, "input") : std::string_view(item.pieces);
      assembler.add_call({{"id", id}, {"custom", {{"name", name}, {"input", input}}}});
    } else if (type == "function_call") {
      Json* given = agent::find(item.json, "arguments");
      const bool is_text = given == nullptr || given->is_string();
      const bool is_told_whole = item.is_whole || item.pieces.empty();
      std::string text = is_told_whole ? std::string() : std::move(item.pieces);
      if (given != nullptr && is_told_whole && is_text) {
        text = std::move(given->get_ref<std::string&>());
      }
      assembler.add_call(id, name, is_text ? std::move(text) : agent::dump(*given));
    }
  }
}

bool OpenaiResponsesDecoder::has_cut_item() const {
  return std::ranges::any_of(items_, [](const auto& one) {
    return one.second.is_cut || (is_call(agent::text_at(one.second.json, "type")) &&
                                 !is_whole_call(agent::text_at(one.second.json, "status")));
  });
}

AnswerDecoder::Ending OpenaiResponsesDecoder::ending() const {
  for (const auto& [index, item] : items_) {
    const std::string_view status = agent::text_at(item.json, "status");
    if (is_call(agent::text_at(item.json, "type")) && !is_known_status(status)) {
      return {StopReason::error, std::string(status)};
    }
  }
  const bool is_incomplete = status_ == "incomplete" || !incomplete_.empty();
  const std::string_view colon = incomplete_.empty() ? "" : ":";
  const std::string word =
      is_incomplete ? fmt::format("incomplete{}{}", colon, incomplete_) : status_;
  return {stop_reason_of(k_stop_words, word), word};
}

// There is no reason for tools: an answer that calls some is `completed`.
StopReason OpenaiResponsesDecoder::stop_reason(bool has_cut_item,
                                               bool has_calls,
                                               bool has_refusal) const {
  const StopReason reason = ending().reason;
  return reason != StopReason::end_turn ? reason
         : has_cut_item                 ? StopReason::max_tokens
         : has_calls                    ? StopReason::tool_use
         : has_refusal                  ? StopReason::refusal
                                        : StopReason::end_turn;
}

agent::Reply OpenaiResponsesDecoder::reply() {
  const bool is_any_cut = has_cut_item();
  ToolCallAssembler assembler;
  add_calls(assembler);
  note_blanks(assembler.blanks());
  auto calls = std::move(assembler).finish(id_, status_ == "incomplete");
  auto call = calls.begin();
  agent::Reply reply;
  bool has_refusal = false;
  Json output = Json::array();
  for (auto& [index, item] : items_) {
    Json& json = item.json;
    const bool is_message = agent::text_at(json, "type", "message") == "message";
    if (is_message && !item.text.empty() && text_of(json) != item.text) {
      json = message_of(item.text);
    }
    has_refusal = has_refusal || item.refusal > 0 ||
                  !joined_parts(json, "content", "refusal", "refusal").empty();
    if (is_call(agent::text_at(json, "type")) && call != calls.end()) {
      json["call_id"] = call->id;
      ++call;
    }
    if (Json sent = item_to_send(std::move(json)); sent.is_object()) {
      output.push_back(std::move(sent));
    }
  }
  items_.clear();
  if (!is_plain(output, text())) {
    put_arguments(output, calls);
    reply.raw = agent::dump(output);
  }
  reply.stop_reason = stop_reason(is_any_cut, !calls.empty(), has_refusal);
  reply.model = model_;
  for (AssembledCall& one : calls) {
    reply.tool_calls.push_back({.id = std::move(one.id),
                                .name = std::move(one.name),
                                .arguments = std::move(one.arguments)});
  }
  reply.protocol = "openai_responses";
  return reply;
}

}  // namespace

std::unique_ptr<Decoder> make_openai_responses_decoder() {
  return std::make_unique<OpenaiResponsesDecoder>();
}

}  // namespace providers

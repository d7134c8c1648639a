#include "providers/wire/answer_decoder.h"

#include "agent/lenient_json.h"
#include "agent/refusal.h"
#include "agent/sse.h"
#include "agent/take_apart.h"
#include "agent/text.h"
#include "providers/wire/classify.h"
#include "providers/wire/event_stream.h"
#include "providers/wire/json_lines.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/usage_estimate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::Heard;
using agent::Json;
using agent::ModelDelta;

constexpr std::string_view k_space = " \t\r\n";
constexpr std::size_t k_kept_for_messages = 1024;

// Whether the text starts as JSON and stops before its end.
bool is_cut_json(std::string_view text) {
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return false;
  }
  OpenBrackets brackets;
  brackets.take(text);
  return !brackets.are_closed();
}

// As an object, or a list of them, with a name: words in brackets do not.
bool begins_as_json(std::string_view text) {
  const auto skip = [&](char one) {
    text = agent::trimmed(text.substr(text.starts_with(one) ? 1 : 0));
  };
  skip('[');
  skip('{');
  return text.starts_with('"');
}

Error garbage(std::string_view body) {
  return Error{.code = Code::provider_bad_response,
               .message = fmt::format("the answer is not what the protocol says: {}",
                                      excerpt(agent::trimmed(body)))};
}

// Each of them has a result, whatever ends the run before it.
constexpr std::size_t k_most_calls = 50'000;

Error over_limit(std::string_view which) {
  return Error{.code = Code::provider_bad_response, .message = fmt::format("the answer {}", which)};
}

// The limit that correct JSON is over; empty: it is none.
std::string limit_of_json(std::string_view json) {
  const std::string why = agent::why_not_json(json);
  return why == "is not valid JSON" ? "" : why;
}

// `json` is what should be JSON, whole.
Error garbage_json(std::string_view json) {
  const std::string limit = limit_of_json(json);
  return limit.empty() ? garbage(json) : over_limit(limit);
}

// As servers write that there is none.
bool says_nothing(const Json& value) {
  const bool is_no_text = value.is_string() && value.get_ref<const std::string&>().empty();
  return is_no_text || value == false || value == 0 || value.empty();
}

std::unique_ptr<agent::StreamParser> parser_for(char first) {
  switch (first) {
    case '{':
    case '[':
      return std::make_unique<JsonLinesParser>();
    case '\0':  // of a frame's length
      return std::make_unique<EventStreamParser>();
    default:
      return std::make_unique<agent::SseParser>();
  }
}

// Count by count: what can be one counts before what cannot.
agent::Usage larger_of(const agent::Usage& a, const agent::Usage& b) {
  agent::Usage larger;
  for (const auto& [name, part] : agent::k_usage_counts) {
    larger.*part = is_count(a.*part) == is_count(b.*part) ? std::max(a.*part, b.*part)
                   : is_count(a.*part)                    ? a.*part
                                                          : b.*part;
  }
  return larger;
}

void emit_piece(ModelDelta::Kind kind, std::string_view text, const agent::Emit& emit) {
  if (!text.empty() && emit) {
    emit(ModelDelta{.kind = kind, .text = std::string(text)});
  }
}

}  // namespace

std::optional<agent::Money> reported_cost(const agent::Json& usage) {
  if (const auto* const ticks = agent::find(usage, "cost_in_usd_ticks")) {
    constexpr std::int64_t k_tick = 100;  // pico-dollars
    const auto count = agent::integer_at(usage, "cost_in_usd_ticks", -1);
    return ticks->is_number_integer() && count >= 0 && count <= agent::Money::max().picos() / k_tick
               ? std::optional(agent::Money::from_picos(count * k_tick))
               : std::nullopt;
  }
  if (const auto* const parts = agent::find(usage, "cost"); parts && parts->is_object()) {
    return agent::money_at(*parts, "total_cost");
  }
  const auto cost = agent::money_at(usage, "cost");
  if (!cost || !agent::bool_at(usage, "is_byok")) {
    return cost;
  }
  // With a key of one's own behind the gateway, `cost` is the gateway's fee alone.
  const auto* const details = agent::find(usage, "cost_details");
  const auto upstream =
      details != nullptr ? agent::money_at(*details, "upstream_inference_cost") : std::nullopt;
  return upstream ? std::optional(*cost + *upstream) : std::nullopt;
}

agent::StopReason stop_reason_of(std::span<const StopWord> words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &StopWord::word);
  return found == words.end() ? agent::StopReason::error : found->reason;
}

bool may_be_taken_back(agent::StopReason reason) {
  using enum agent::StopReason;
  return reason == end_turn || reason == tool_use || reason == stop_sequence || reason == unknown;
}

void take_stop_word(std::span<const StopWord> words, std::string_view word, std::string& known) {
  if (!word.empty() && (known.empty() || may_be_taken_back(stop_reason_of(words, known)))) {
    known = word;
  }
}

void merge_usage(Json& known, const Json& usage) {
  constexpr std::size_t k_most = 100;  // members: each is looked for among the others
  if (!known.is_object()) {
    known = Json::object();
  }
  for (const auto& [key, value] : usage.items()) {
    if (known.size() == k_most) {
      return;
    }
    if (!value.is_null()) {
      known[key] = value;
    }
  }
}

std::int64_t token_count(const Json& usage, std::string_view key) {
  constexpr double k_most = 1e12;
  const Json* count = agent::find(usage, key);
  if (count == nullptr) {
    return 0;
  }
  const double real = agent::is_number(*count) ? agent::real_of(*count) : -1;
  return std::trunc(real) == real ? static_cast<std::int64_t>(std::clamp(real, -k_most, k_most))
                                  : -1;
}

TokenSum token_sum(const Json& usage, std::initializer_list<std::string_view> keys) {
  TokenSum counts;
  std::int64_t said = 0;
  for (const std::string_view key : keys) {
    const std::int64_t tokens = token_count(usage, key);
    said += tokens;
    counts.tokens += is_count(tokens) ? tokens : 0;
    counts.lacks_some = counts.lacks_some || !is_count(tokens);
  }
  counts.tokens = counts.tokens > 0 ? counts.tokens : said;
  return counts;
}

bool has_only(const Json& object, std::initializer_list<std::string_view> keys) {
  return object.is_object() && std::ranges::all_of(object.items(), [&](const auto& member) {
           return std::ranges::find(keys, member.key()) != keys.end();
         });
}

namespace {

Json& member_at(Json& object, std::string_view key) {
  if (!object.is_object()) {
    object = Json::object();
  }
  return object[std::string(key)];
}

}  // namespace

Json& object_at(Json& object, std::string_view key) {
  Json& member = member_at(object, key);
  if (!member.is_object()) {
    member = Json::object();
  }
  return member;
}

void append_text(Json& object, std::string_view key, std::string_view text) {
  Json& member = member_at(object, key);
  if (!member.is_string()) {
    member = std::string();
  }
  member.get_ref<std::string&>() += text;
}

void AnswerDecoder::add_text(std::string_view text, const agent::Emit& emit) {
  emit_piece(ModelDelta::Kind::text, text, emit);
  text_ += text;
}

void AnswerDecoder::add_reasoning(std::string_view text, const agent::Emit& emit) {
  emit_piece(ModelDelta::Kind::reasoning, text, emit);
  reasoning_ += text;
}

void AnswerDecoder::count(const agent::Usage& usage, std::optional<agent::Money> cost) {
  counted_ = counted_ == agent::Usage{} ? usage : larger_of(counted_, usage);
  counted_cost_ = std::max(counted_cost_, cost);  // one that is not known is the smallest
}

void AnswerDecoder::refuse(std::string why) {
  if (flaw_.empty()) {
    flaw_ = std::move(why);
  }
}

std::string_view AnswerDecoder::said(const Json& object, std::string_view key) {
  const Json* member = agent::find(object, key);
  if (member != nullptr && !member->is_string()) {
    refuse(fmt::format("`{}` is not text: {}", key, excerpt(agent::dump(*member))));
  }
  return agent::text_at(object, key);
}

std::string_view AnswerDecoder::needed(const Json& object, std::string_view key) {
  if (agent::find(object, key) == nullptr) {
    refuse(fmt::format("`{}` is missing in {}", key, excerpt(agent::dump(object))));
  }
  return said(object, key);
}

std::string_view AnswerDecoder::kind_of(const Json& event, std::string_view name) {
  const bool has_own = name.empty() || agent::find(event, "type") != nullptr;
  return has_own && !event.empty() ? needed(event, "type") : name;
}

Json* AnswerDecoder::list_in(Json& object, std::string_view key) {
  return member_in(object, key, Json::value_t::array);
}

Json* AnswerDecoder::object_in(Json& object, std::string_view key) {
  return member_in(object, key, Json::value_t::object);
}

std::optional<long long> AnswerDecoder::place_in(const Json& object, std::string_view key) {
  constexpr std::int64_t k_most = 1'000'000;
  const Json* const place = agent::find(object, key);
  if (place == nullptr) {
    return std::nullopt;
  }
  const std::int64_t number = token_count(object, key);
  if (number < 0 || number > k_most) {
    refuse(fmt::format("`{}` is {}: {}",
                       key,
                       number < 0 ? "no whole number from 0 on" : "over 1000000",
                       excerpt(agent::dump(*place))));
    return std::nullopt;
  }
  return number;
}

bool AnswerDecoder::is_part(const Json& element, std::string_view list) {
  if (!element.is_object()) {
    refuse(fmt::format("a part of `{}` is no object: {}", list, excerpt(agent::dump(element))));
  }
  return element.is_object();
}

bool AnswerDecoder::has_failed(const Json& part) {
  const Json* const error = agent::find(part, "error");
  if (error != nullptr && !error_) {
    error_ = error_in({{"error", *error}});
  }
  return error_.has_value();
}

Json* AnswerDecoder::member_in(Json& object, std::string_view key, Json::value_t type) {
  Json* member = agent::find(object, key);
  if (member == nullptr || member->type() == type) {
    return member;
  }
  refuse(fmt::format("`{}` is not {}: {}",
                     key,
                     type == Json::value_t::array ? "a list" : "an object",
                     excerpt(agent::dump(*member))));
  return nullptr;
}

// JSON as servers send it: bytes that are no UTF-8 and lone surrogates become U+FFFD. What is cut
// is not parsed: to find that out takes parsers long, and much memory, of what is large.
std::optional<Json> AnswerDecoder::parse(std::string_view text) {
  if (is_cut_json(text)) {
    return std::nullopt;
  }
  agent::RepeatedNames repeated;
  auto json = agent::parse_json(text, repeated);
  if (!json) {
    json = agent::parse_lenient(text, repeated);
  }
  if (repeated.contradiction) {
    refuse(
        fmt::format("`{}` has two values in one object of it", excerpt(*repeated.contradiction)));
  }
  return json;
}

agent::Result<agent::Heard> AnswerDecoder::feed(std::string_view bytes, const agent::Emit& emit) {
  heard_ = Heard::nothing;
  const Heard heard = hear(bytes, emit);
  if (error_) {
    return agent::fail(*std::exchange(error_, std::nullopt));
  }
  if (form_ != Form::stream) {
    return heard;
  }
  return is_over() ? Heard::enough : may_be_over() ? Heard::last : heard;
}

Heard AnswerDecoder::hear(std::string_view bytes, const agent::Emit& emit) {
  if (form_ == Form::unknown) {
    body_ += bytes;
    find_form(body_);
    if (form_ == Form::stream) {
      const std::string first = body_;
      body_.resize(std::min(body_.size(), k_kept_for_messages));
      feed_stream(first, emit);
      return hear_unfinished();
    }
    if (form_ == Form::unknown && agent::trimmed(body_).empty()) {
      body_.clear();  // looked through once
    }
    return heard_if(form_ != Form::unknown);
  }
  if (form_ == Form::stream) {
    if (body_.size() < k_kept_for_messages) {
      body_ += bytes.substr(0, k_kept_for_messages - body_.size());
    }
    feed_stream(bytes, emit);
    return hear_unfinished();
  }
  if (form_ == Form::document || body_.size() < k_kept_for_messages) {
    body_ += bytes;
  }
  return heard_if(!agent::trimmed(bytes).empty());
}

// A long event on a slow line is no silence; a few bytes, and then a few more, are.
Heard AnswerDecoder::hear_unfinished() {
  constexpr std::size_t k_long = 4096;
  const std::size_t pending = parser_->pending();
  const bool has_grown = pending >= pending_ + k_long;
  if (has_grown || pending < pending_) {
    pending_ = pending;
  }
  const std::size_t known = std::exchange(comments_, parser_->comments());
  return std::max(heard_, comments_ != known || has_grown ? Heard::keep_alive : Heard::nothing);
}

// The first byte that is no space decides; what the content type says is too often wrong.
void AnswerDecoder::find_form(std::string_view bytes) {
  constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";
  if (k_byte_order_mark.starts_with(bytes.substr(0, 3)) && bytes.size() < 3) {
    return;
  }
  if (bytes.starts_with(k_byte_order_mark)) {
    bytes.remove_prefix(k_byte_order_mark.size());
  }
  const auto first = bytes.find_first_not_of(k_space);
  if (first == std::string_view::npos) {
    return;
  }
  const char c = bytes[first];
  if (c == '<') {
    form_ = Form::garbage;
  } else if ((c == '{' || c == '[') && !streams_json()) {
    form_ = Form::document;
  } else {
    form_ = Form::stream;
    parser_ = parser_for(c);
  }
}

void AnswerDecoder::feed_stream(std::string_view bytes, const agent::Emit& emit) {
  parser_->feed(bytes, [&](const agent::StreamEvent& event) { return on_event(event, emit); });
}

std::optional<Error> AnswerDecoder::error_in(const Json& json) {
  auto error = error_inside(json);
  if (error) {
    error_json_ = json;
  } else if (const Json* other = agent::find(json, "error"); other && !says_nothing(*other)) {
    refuse("`error` is not an error: " + excerpt(agent::dump(*other)));
  }
  return error;
}

std::optional<agent::Milliseconds> AnswerDecoder::retry_after(agent::Clock::Wall now) const {
  return wait_inside(error_json_, now);
}

bool AnswerDecoder::on_event(const agent::StreamEvent& event, const agent::Emit& emit) {
  const std::string_view data = agent::trimmed(event.data);
  if (data.empty() || is_over()) {
    return true;
  }
  if (data == "[DONE]") {
    take_done();
    heard_ = Heard::answer;
    return true;
  }
  auto json = parse(data);
  if (json) {
    take_usage(*json);
    error_ = error_in(*json);
  }
  if (!error_ && (!json || !json->is_object())) {
    error_ = json ? garbage(data) : garbage_json(data);
    if (!json && begins_as_json(data)) {  // what it would have said is paid for
      has_begun_ = true;
      text_ += data;
    }
  }
  if (error_) {
    return false;
  }
  const Heard heard = take_event(event.name, *json, emit);
  heard_ = std::max(heard_, heard);
  has_begun_ = has_begun_ || heard != Heard::keep_alive;
  if (!error_ && !flaw_.empty()) {
    error_ = garbage(flaw_);
  }
  return !error_;
}

agent::Result<void> AnswerDecoder::read_document(const agent::Emit& emit) {
  std::string_view text = agent::trimmed(body_);
  if (text.starts_with("\xEF\xBB\xBF")) {
    text = agent::trimmed(text.substr(3));
  }
  auto json = parse(text);
  if (!json) {
    const bool is_cut = is_cut_json(text);
    // What never was JSON is nothing that a model has said.
    has_begun_ = is_unreadable_ = is_cut || begins_as_json(text) || !limit_of_json(text).empty();
    return agent::fail(is_cut ? broken() : garbage_json(text));
  }
  const agent::TakenApart taken_apart(*json);
  take_usage(*json);
  if (auto error = error_in(*json)) {
    return agent::fail(*std::move(error));
  }
  const std::string beginning(text.substr(0, k_kept_for_messages));
  agent::give_up(body_);  // it may be large, and is read
  if (!take_document(*json, emit)) {
    return agent::fail(garbage(beginning));
  }
  has_begun_ = true;
  if (error_) {
    return agent::fail(*std::exchange(error_, std::nullopt));
  }
  if (!flaw_.empty()) {
    return agent::fail(garbage(flaw_));
  }
  return {};
}

agent::Result<agent::Reply> AnswerDecoder::finish(const agent::Headers& headers,
                                                  const agent::Emit& emit) {
  if (form_ == Form::garbage) {
    return agent::fail(garbage(body_));
  }
  if (form_ == Form::document) {
    TRY(read_document(emit));
  }
  if (form_ == Form::stream) {
    const auto last = parser_->finish();
    // A last event without its blank line counts if it is whole. One that was cut off may be long,
    // and a deadline may have come.
    const std::string_view data = last ? agent::trimmed(last->data) : std::string_view();
    if (last && (data == "[DONE]" || (data.ends_with('}') && parse(data)))) {
      on_event(*last, emit);
    } else if (last) {
      has_begun_ = true;
    }
    if (error_) {
      return agent::fail(*std::exchange(error_, std::nullopt));
    }
    if (const std::string which = parser_->over_limit(); !which.empty()) {
      return agent::fail(over_limit(which));
    }
    if (!parser_->is_plausible()) {
      return agent::fail(garbage(body_));
    }
  }
  if (form_ == Form::unknown || !is_complete()) {
    return agent::fail(broken());
  }
  if (const Ending end = ending(); end.reason == agent::StopReason::error) {
    return agent::fail(ended_without_end(end.word));
  }
  agent::Reply result = whole_reply();
  if (result.tool_calls.size() > k_most_calls) {
    text_ = std::move(result.text);
    reasoning_ = std::move(result.reasoning);
    return agent::fail(over_limit(fmt::format("has more than {} calls", k_most_calls)));
  }
  result.request_id = request_id(headers);
  return result;
}

agent::Reply AnswerDecoder::whole_reply() {
  agent::Reply result = reply();
  result.stop_reason_raw = ending().word;
  result.usage = counted_;
  result.cost = counted_cost_;
  result.text = std::move(text_);
  result.reasoning = std::move(reasoning_);
  return result;
}

Unshown AnswerDecoder::unshown() const {
  Unshown unshown = unshown_;
  unshown.lacks_input = lacks_input();
  unshown.lacks_output = lacks_output();
  return unshown;
}

std::int64_t AnswerDecoder::said_bytes() const {
  const std::size_t unread = form_ == Form::document ? body_.size() : 0;
  return static_cast<std::int64_t>(text_.size() + reasoning_.size() + call_bytes() + unread);
}

agent::Reply AnswerDecoder::partial() {
  agent::Reply result = whole_reply();
  if (is_unreadable_) {
    result.text = std::move(body_);
  }
  return result;
}

Error AnswerDecoder::broken() const {
  return Error{.code = Code::provider_stream_broken,
               .message = form_ == Form::unknown ? "the answer is empty"
                                                 : "the answer ended before its end mark"};
}

// What a server calls a cut of its own making is for it to say: an overload, a cancelled request.
Error AnswerDecoder::ended_without_end(std::string_view word) {
  return Error{.code = Code::provider_stream_broken,
               .message = word.empty() ? "the server does not say that the answer is whole"
                                       : fmt::format("the server ended the answer as {}, which is "
                                                     "not known as the end of a whole one",
                                                     excerpt(word))};
}

}  // namespace providers

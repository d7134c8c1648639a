// What all decoders of answers share: telling a stream of events from one JSON body, and both from
// something else altogether. The protocols derive from it.
#pragma once
#include "agent/json.h"
#include "agent/money.h"
#include "agent/stream_parser.h"
#include "providers/wire/wire.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace providers {

// A word for the end of an answer that a protocol knows. A table of them names all: what is in none
// of its rows ends no answer, whatever it means.
struct StopWord {
  std::string_view word;
  agent::StopReason reason;
};
// `error`: in no row.
agent::StopReason stop_reason_of(std::span<const StopWord> words, std::string_view word);
// Some servers say it in several pieces: that an answer is cut or filtered is not taken back.
bool may_be_taken_back(agent::StopReason reason);
void take_stop_word(std::span<const StopWord> words, std::string_view word, std::string& known);

class AnswerDecoder : public Decoder {
 public:
  agent::Result<agent::Heard> feed(std::string_view bytes, const agent::Emit& emit) final;
  agent::Result<agent::Reply> finish(const agent::Headers& headers, const agent::Emit& emit) final;
  std::int64_t said_bytes() const final;
  Unshown unshown() const final;
  bool has_begun() const final { return has_begun_; }
  agent::Reply partial() final;
  std::optional<agent::Milliseconds> retry_after(agent::Clock::Wall now) const final;

 protected:
  struct Ending {
    agent::StopReason reason;
    std::string word;  // empty: the server said none
  };

  // One event of a stream; `data` is an object and reports no error, and what is large in it may be
  // moved away. What it says: an event that leaves the answer as it was, as an empty delta does, is
  // nothing.
  virtual agent::Heard take_event(std::string_view name,
                                  agent::Json& data,
                                  const agent::Emit& emit) = 0;
  // What an event or the whole answer says of tokens; also one that reports an error.
  virtual void take_usage(const agent::Json& data) = 0;
  // The whole answer as one value, likewise. False: it is no answer of this protocol.
  virtual bool take_document(agent::Json& document, const agent::Emit& emit) = 0;
  // `[DONE]`, which only some protocols know.
  virtual void take_done() = 0;
  // JSON at the start of a body is the first of many values, not the whole answer.
  virtual bool streams_json() const { return false; }
  // The terminal mark has come: the answer stands, though more of it may follow.
  virtual bool is_complete() const = 0;
  // Nothing that follows belongs to the answer.
  virtual bool is_over() const = 0;
  // Nothing has to come any more, but may.
  virtual bool may_be_over() const { return false; }
  // How the server says that the answer ended, in its word: `error` where the word is none that
  // ends a whole answer, and none but `error` does not stand.
  virtual Ending ending() const = 0;
  // All but its text, reasoning and usage, which are what was added, and the server's word. Also of
  // an answer that broke off.
  virtual agent::Reply reply() = 0;

  // Bytes of the arguments of its calls until now, where they come in pieces.
  virtual std::size_t call_bytes() const { return 0; }

  // Whether a part of what the usage counts together is no count.
  virtual bool lacks_input() const { return false; }
  virtual bool lacks_output() const { return false; }

  // A piece of the answer's text, or of its reasoning, for whoever listens: what people read while
  // it comes is what the reply says, in the same order.
  void add_text(std::string_view text, const agent::Emit& emit);
  void add_reasoning(std::string_view text, const agent::Emit& emit);
  // Bytes of what came that is in neither of them.
  void add_refusal(std::size_t bytes) { unshown_.refusal += static_cast<std::int64_t>(bytes); }
  void note_blanks(std::size_t bytes) { unshown_.blanks = static_cast<std::int64_t>(bytes); }
  void add_sealed(std::size_t bytes) { unshown_.sealed += static_cast<std::int64_t>(bytes); }
  // What the server says until now of tokens, and of what they cost: each count that it has said
  // stands where a later one is smaller.
  void count(const agent::Usage& usage, std::optional<agent::Money> cost = std::nullopt);
  // What is said from here on is of another conversation: a shorter one.
  void count_anew() { counted_ = {}; }
  // The answer is not what its protocol says, in a sentence: whatever came of it, it does not
  // stand.
  void refuse(std::string why);
  // A member of the answer that is text; one that is neither that nor null is refused.
  std::string_view said(const agent::Json& object, std::string_view key);
  // Likewise one without which something would be lost: it is refused where it is not there, too.
  std::string_view needed(const agent::Json& object, std::string_view key);
  // What kind of event it is, in its own word or in that of the stream.
  std::string_view kind_of(const agent::Json& event, std::string_view name);
  // Likewise one that is a list, or an object; null: there is none.
  agent::Json* list_in(agent::Json& object, std::string_view key);
  agent::Json* object_in(agent::Json& object, std::string_view key);
  // Which one of several a piece is of; nullopt: it does not say. What is no whole number from 0 on
  // is refused, and what is over 1,000,000.
  std::optional<long long> place_in(const agent::Json& object, std::string_view key);
  // Of a list of the answer: one that is no object is refused.
  bool is_part(const agent::Json& element, std::string_view list);
  // Whether a part of the answer has an error of its own: then that is the answer's.
  bool has_failed(const agent::Json& part);
  const std::string& text() const { return text_; }
  const std::string& reasoning() const { return reasoning_; }

 private:
  enum class Form : std::uint8_t { unknown, stream, document, garbage };

  std::optional<agent::Json> parse(std::string_view text);
  agent::Heard hear(std::string_view bytes, const agent::Emit& emit);
  agent::Heard hear_unfinished();
  void find_form(std::string_view bytes);
  void feed_stream(std::string_view bytes, const agent::Emit& emit);
  std::optional<agent::Error> error_in(const agent::Json& json);
  agent::Json* member_in(agent::Json& object, std::string_view key, agent::Json::value_t type);
  bool on_event(const agent::StreamEvent& event, const agent::Emit& emit);
  agent::Reply whole_reply();
  agent::Result<void> read_document(const agent::Emit& emit);
  agent::Error broken() const;
  static agent::Error ended_without_end(std::string_view word);

  Form form_ = Form::unknown;
  std::string body_;  // of a document; of anything else the first bytes, for messages
  std::unique_ptr<agent::StreamParser> parser_;  // of a stream
  agent::Heard heard_ = agent::Heard::nothing;   // of events, in the bytes that are fed
  std::size_t comments_ = 0;                     // that were heard
  std::size_t pending_ = 0;                      // likewise, of the event that is not yet whole
  bool has_begun_ = false;
  bool is_unreadable_ = false;  // the document is no JSON
  std::optional<agent::Error> error_;
  std::string flaw_;        // why it is refused; empty: it is not
  agent::Json error_json_;  // what the answer said of its error
  std::string text_;
  std::string reasoning_;
  Unshown unshown_;
  agent::Usage counted_;
  std::optional<agent::Money> counted_cost_;
};

// What the provider says in its usage that the reply costs: OpenRouter's and Perplexity's `cost`,
// xAI's `cost_in_usd_ticks`. nullopt: it says nothing of it.
std::optional<agent::Money> reported_cost(const agent::Json& usage);

// Later values are totals and replace the earlier ones; what they leave out stands.
void merge_usage(agent::Json& known, const agent::Json& usage);

// A member that counts tokens, as the server says it: 0 where there is none, -1 where it is no
// whole number (7.0 is one), and small enough that no sum of such counts overflows.
std::int64_t token_count(const agent::Json& usage, std::string_view key);

// A count that is said in several members: the sum of those that can be, or what was said where
// none can.
struct TokenSum {
  std::int64_t tokens = 0;
  bool lacks_some = false;
};
TokenSum token_sum(const agent::Json& usage, std::initializer_list<std::string_view> keys);

inline agent::Heard heard_if(bool says_something) {
  return says_something ? agent::Heard::answer : agent::Heard::nothing;
}

// Whether all that the object has is under these keys: then there is nothing else to be lost.
bool has_only(const agent::Json& object, std::initializer_list<std::string_view> keys);

// The member of that name, which is made where it is no object; so is `object` itself. Servers send
// all kinds of values in all places.
agent::Json& object_at(agent::Json& object, std::string_view key);
// Puts `text` behind the member of that name, which is made where it is no text.
void append_text(agent::Json& object, std::string_view key, std::string_view text);

}  // namespace providers

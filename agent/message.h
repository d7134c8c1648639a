// What is said in a run: the conversation in a form that knows no provider.
#pragma once
#include "agent/attachment.h"
#include "agent/money.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agent {

// Tokens. `input` includes cache_read and cache_write; `output` includes reasoning.
struct Usage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
  std::int64_t reasoning = 0;
  std::int64_t cache_write_1h = 0;  // of cache_write, what is kept for an hour

  std::int64_t total() const { return input + output; }
  Usage& operator+=(const Usage& other);
  Usage& operator-=(const Usage& part);
  bool operator==(const Usage&) const = default;
};

struct UsageCount {
  std::string_view name;  // in JSON
  std::int64_t Usage::* count;
};

constexpr auto k_usage_counts =
    std::to_array<UsageCount>({{.name = "input", .count = &Usage::input},
                               {.name = "output", .count = &Usage::output},
                               {.name = "cache_read", .count = &Usage::cache_read},
                               {.name = "cache_write", .count = &Usage::cache_write},
                               {.name = "cache_write_1h", .count = &Usage::cache_write_1h},
                               {.name = "reasoning", .count = &Usage::reasoning}});

// More than any request has, and few enough that sums do not overflow: a log may say anything.
constexpr std::int64_t k_most_tokens = 1'000'000'000'000;

// A call as the model made it. `arguments` is the text that came: it need not be valid JSON.
// Empty, absent and `null` arguments are normalised to "{}" by the decoder (unless cut); once the
// loop has the reply it is as_recorded().
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
  // Of `arguments` as_recorded(), which stays when they are redacted or changed; empty before the
  // loop has the reply.
  std::string arguments_sha256 = {};

  // As those of events: agent/event.h.
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("name", self.name);
    field.arguments("arguments", self.arguments);
    field("arguments_sha256", self.arguments_sha256);
  }
  bool operator==(const ToolCall&) const = default;
};

// The text of a call's arguments that a log gives back, in which requests say them before and after
// a resume alike: providers know again what they have seen. An object without the blanks between
// its parts, its numbers as they were written; anything else as it came.
std::string as_recorded(std::string_view arguments);

// Why the model stopped; the wire's own word is in Reply::stop_reason_raw. `error`: nothing says
// that the answer is whole. `unknown`: it is, and the wire has no word for why.
enum class StopReason : std::uint8_t {
  end_turn,
  tool_use,
  max_tokens,
  stop_sequence,
  content_filter,
  refusal,
  pause,
  context_window,
  malformed_tool_call,
  guardrail_intervened,
  error,
  unknown,
};
std::string_view to_string(StopReason reason);
// Whether the calls of a reply that stopped so are whole and meant: not where it was cut, filtered,
// refused or broken.
bool lets_calls_run(StopReason reason);
StopReason stop_reason_from(std::string_view name);  // `unknown` where it is none

// One model response. `raw` is the provider's own JSON of the assistant turn (reasoning
// signatures and the like included), to be sent back byte for byte to the model that made it; it is
// empty where `text` and `tool_calls` are all that the turn says.
struct Reply {
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
  StopReason stop_reason = StopReason::unknown;
  std::string stop_reason_raw;
  Usage usage;             // as the provider reports it: nothing says that it can be
  std::string model;       // as the provider named it; may be empty
  std::string request_id;  // may be empty
  std::string raw;         // may be empty; `protocol` and `origin` say whose it is
  std::string protocol;
  std::string origin;         // provider/model as it was asked; may be empty
  std::optional<Money> cost;  // as the provider reports it, else by its price; nullopt: unknown
  // From bytes, where `usage` is missing or cannot be.
  std::optional<Usage> estimated = std::nullopt;

  // What limits and bills go by.
  const Usage& counted() const { return estimated ? *estimated : usage; }

  static void fields(auto& self, auto& field) {
    field("text", self.text);
    field("reasoning", self.reasoning);
    field("tool_calls", self.tool_calls);
    field("stop_reason", self.stop_reason);
    field("stop_reason_raw", self.stop_reason_raw);
    field.reported("usage", self.usage);
    field("estimated", self.estimated);
    field("cost_usd", self.cost);
    field("model", self.model);
    field("request_id", self.request_id);
    field("protocol", self.protocol);
    field("origin", self.origin);
    field("raw", self.raw);
  }
  bool operator==(const Reply&) const = default;
};

// Bytes of the answer that cost tokens: text, thoughts and calls.
std::int64_t bytes_of(const Reply& reply);

// A reply that many hold, as it may be large, and nobody changes.
class SharedReply {
 public:
  SharedReply(Reply reply = {}) : reply_(std::make_shared<const Reply>(std::move(reply))) {}

  const Reply& operator*() const { return *reply_; }
  const Reply* operator->() const { return reply_.get(); }
  // Its text, which keeps all of it.
  std::shared_ptr<const std::string> text() const { return {reply_, &reply_->text}; }

 private:
  std::shared_ptr<const Reply> reply_;
};

// How one tool call ended. Every call of a reply gets exactly one.
enum class ToolStatus : std::uint8_t {
  ok,
  failed,   // it ran, and reports failure
  invalid,  // unknown tool or bad arguments: it never ran
  denied,   // a rule or a person said no: it never ran
  timed_out,
  cancelled,  // stopped by a signal, the run's deadline or a limit
  not_run,    // a limit or a cut reply kept it from running
};
std::string_view to_string(ToolStatus status);
ToolStatus tool_status_from(std::string_view name);  // `not_run` where it is none

struct UserMessage {
  std::string text;
  std::vector<Attachment> attachments = {};
  bool is_programs = false;  // the program's words, not the user's
};
struct AssistantMessage {
  SharedReply reply;
};
struct ToolMessage {
  std::string call_id;
  std::string name;
  std::string content;  // what the model reads; valid UTF-8
  bool is_error = false;
};
using Message = std::variant<UserMessage, AssistantMessage, ToolMessage>;

// Append-only within a revision; whoever rewrites older messages raises `revision`, so that
// encoded prefixes are dropped.
struct Conversation {
  std::vector<Message> messages;
  std::uint64_t revision = 0;
};

}  // namespace agent

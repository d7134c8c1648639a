// A wire protocol: what a request and an answer look like in bytes. Pure functions, no I/O, so that
// it can be proven on recorded traffic. Who sends the bytes is wire_provider.h's.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/http.h"
#include "agent/message.h"
#include "agent/provider.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "providers/wire/classify.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace providers {

// How a server differs from the protocol that it speaks, as plain data. Nothing else looks at a
// server's name or address.
struct Quirks {
  // openai_chat, openai_responses
  bool api_key_header = false;  // `api-key` in place of `authorization` (Azure)
  // openai_responses
  bool encrypted_reasoning = false;  // thoughts come sealed, to be sent back
  // openai_chat
  enum class ReasoningField : std::uint8_t {
    effort,
    object
  };  // reasoning_effort, reasoning.effort
  std::string max_tokens_field = "max_tokens";  // the field's name; max_completion_tokens at OpenAI
  bool stream_options = true;                   // stream_options.include_usage is understood
  bool json_schema = true;                      // response_format takes a schema
  bool media = true;                            // pictures and documents are understood
  bool send_reasoning = false;                  // reasoning_content goes back with its turn
  bool send_reasoning_details = false;          // reasoning_details goes back with its turn
  ReasoningField reasoning_field = ReasoningField::effort;
  // anthropic_messages, gemini
  bool bearer = false;  // `authorization: Bearer` in place of a header of their own
  // anthropic_messages
  bool cache_control = false;          // prompt cache marks on the system block and the request
  std::string version = "2023-06-01";  // header anthropic-version
};

// The one place that knows servers by name and address.
Quirks default_quirks(std::string_view provider, std::string_view base_url);

struct WireSettings {
  std::string provider;                                   // for messages: "anthropic"
  std::string model;                                      // as the server names it
  std::string base_url;                                   // with or without a trailing slash
  std::string api_key;                                    // empty: none is sent
  std::string api_key_env;                                // for messages: where it is from
  std::optional<agent::AwsSigner> signer = std::nullopt;  // bedrock, where there is no api_key
  bool stream = true;
  agent::Headers extra_headers;  // replace ours of the same name
  std::optional<double> temperature;
  std::optional<std::int64_t> max_output_tokens;
  // A budget's cap above this is not sent: some servers refuse more than the model can write.
  std::int64_t largest_cap = INT64_MAX;
  std::string reasoning;          // as agent::ModelSpec::reasoning
  std::vector<std::string> stop;  // as agent::ModelSpec::stop
  agent::Timeouts timeouts;
  Quirks quirks;
};

// What the reply does not show of what an answer costs.
struct Unshown {
  std::int64_t refusal = 0;   // bytes of the words of one that is no text
  std::int64_t blanks = 0;    // bytes of blanks that came in place of a call's arguments
  std::int64_t sealed = 0;    // bytes of thoughts that cannot be read
  bool lacks_input = false;   // a part of the usage's input is no count: the others are in it
  bool lacks_output = false;  // likewise
};

// Reads one 2xx answer, streamed or not: what it is, is seen from its bytes. Used once.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Takes the bytes as they come, cut anywhere; emits model.delta. What was heard in them is the
  // most that one of their events says; `enough`: the answer is complete and the rest is not
  // wanted. Errors: what the stream itself reports (any provider.* code, context.overflow) and
  // provider.bad_response; no more may be fed after one.
  virtual agent::Result<agent::Heard> feed(std::string_view bytes, const agent::Emit& emit) = 0;
  // The reply, after the last byte. provider.stream_broken where the answer lacks its end.
  virtual agent::Result<agent::Reply> finish(const agent::Headers& headers,
                                             const agent::Emit& emit) = 0;
  // Nor does said_bytes() have it.
  virtual Unshown unshown() const = 0;
  // Bytes of text, thoughts and calls that have come. Needs no memory.
  virtual std::int64_t said_bytes() const = 0;
  // Whether anything of an answer has come, or may have: then the request was read.
  virtual bool has_begun() const = 0;
  // Of an answer that failed, what had come of it: good for its usage and its size alone. Last.
  virtual agent::Reply partial() = 0;
  // After an error: how long the answer's own error object says to wait.
  virtual std::optional<agent::Milliseconds> retry_after(agent::Clock::Wall now) const = 0;
};

// A request's body is head + messages + tail. Head and messages are the same bytes from turn to
// turn: all that may change stands in the tail.
class Wire {
 public:
  explicit Wire(WireSettings settings) : settings_(std::move(settings)) {}
  virtual ~Wire() = default;
  const WireSettings& settings() const { return settings_; }
  virtual std::string_view name() const = 0;  // Reply::protocol: "anthropic_messages"
  virtual std::string url() const = 0;
  virtual agent::Headers headers() const = 0;
  // Media types that may go with a prompt.
  virtual std::span<const std::string_view> media() const = 0;
  // What else the request or the settings ask for that the protocol, or the model, has no word for.
  virtual std::optional<std::string> lacks(const agent::ModelRequest& request) const = 0;
  // Up to and with the bracket that opens the messages, and what stands before the first one. Made
  // of the request's instructions, tools and tool_choice alone.
  virtual std::string body_head(const agent::ModelRequest& request) const = 0;
  // Puts `messages` behind a body that ends with `previous` (null: with the head), commas included.
  virtual void append_messages(std::string& body,
                               std::span<const agent::Message> messages,
                               const agent::Message* previous) const = 0;
  virtual std::string body_tail(const agent::ModelRequest& request) const = 0;
  virtual std::unique_ptr<Decoder> decoder() const = 0;
  // What an answer that is not 2xx means.
  agent::Error classify(int status,
                        const agent::Headers& headers,
                        std::string_view body,
                        agent::Clock::Wall now) const {
    return classify_answer(status, headers, body, now, settings_.base_url);
  }
  // Where the server refused a parameter of `request` that it knows by another name: uses that from
  // now on and returns true, once. Only the tail changes.
  virtual bool adapt(int /*status*/,
                     std::string_view /*body*/,
                     const agent::ModelRequest& /*request*/) {
    return false;
  }

 protected:
  WireSettings settings_;
};

std::unique_ptr<Wire> make_anthropic_messages(WireSettings settings);
std::unique_ptr<Wire> make_bedrock(WireSettings settings);
std::unique_ptr<Wire> make_gemini(WireSettings settings);
std::unique_ptr<Wire> make_ollama(WireSettings settings);
std::unique_ptr<Wire> make_openai_chat(WireSettings settings);
std::unique_ptr<Wire> make_openai_responses(WireSettings settings);

}  // namespace providers

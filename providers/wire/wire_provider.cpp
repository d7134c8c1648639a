#include "providers/wire/wire_provider.h"

#include "agent/call_ids.h"
#include "providers/wire/classify.h"
#include "providers/wire/tool_call_assembler.h"
#include "providers/wire/usage_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::Heard;
using agent::ModelRequest;
using agent::Reply;
using agent::Result;

// Of the body of a refusal: what is longer is none that anybody wrote, and may be made to take
// long.
constexpr std::size_t k_most_of_error = 1u << 20;

std::string origin_of(const WireSettings& settings) {
  return settings.provider + "/" + settings.model;
}

// Whose key the server has refused: an agent file names the variable, or keeps it from being sent.
std::string key_help(const WireSettings& settings) {
  if (!settings.api_key_env.empty()) {
    return fmt::format("the value of {} was sent to {}: check that it is a key of that server",
                       settings.api_key_env,
                       settings.base_url);
  }
  return settings.extra_headers.empty()
             ? fmt::format(
                   "no key was sent to {}: `model.api_key_env` names the variable of its key",
                   settings.base_url)
             : fmt::format("no key was sent to {} but what `model.headers` has", settings.base_url);
}

bool is_foreign(const agent::Message& message, std::string_view origin) {
  const auto* const assistant = std::get_if<agent::AssistantMessage>(&message);
  return assistant != nullptr && assistant->reply->origin != origin;
}

// What other models said, in a form that any model takes. Signatures and sealed thoughts hold for
// the model that made them, and servers differ in what they take as the id of a call.
class Translation {
 public:
  explicit Translation(std::string origin) : origin_(std::move(origin)) {}

  void operator()(agent::UserMessage&) {}
  void operator()(agent::AssistantMessage& message) {
    new_ids_.clear();
    if (message.reply->origin != origin_) {
      agent::Reply reply = *message.reply;
      reply.raw.clear();
      for (agent::ToolCall& call : reply.tool_calls) {
        const std::string id = agent::made_call_id(call.id, 0, 0);
        new_ids_.insert_or_assign(std::exchange(call.id, id), id);
      }
      message.reply = std::move(reply);
    }
  }
  void operator()(agent::ToolMessage& message) {
    if (const auto renamed = new_ids_.find(message.call_id); renamed != new_ids_.end()) {
      message.call_id = renamed->second;
    }
  }

 private:
  std::string origin_;
  std::map<std::string, std::string> new_ids_;  // of the calls whose results follow
};

void append_translated(std::string& body,
                       const Wire& wire,
                       std::span<const agent::Message> messages,
                       const agent::Message* previous) {
  const std::string origin = origin_of(wire.settings());
  if (std::ranges::none_of(messages, [&](const auto& one) { return is_foreign(one, origin); })) {
    wire.append_messages(body, messages, previous);
    return;
  }
  std::vector<agent::Message> translated(messages.begin(), messages.end());
  Translation translate(origin);
  for (agent::Message& message : translated) {
    std::visit(translate, message);
  }
  wire.append_messages(body, translated, previous);
}

// What the server cannot be asked for.
std::optional<std::string> missing(const Wire& wire, const ModelRequest& request) {
  const auto media = wire.media();
  for (const agent::Message& message : request.conversation.messages) {
    const auto* const said = std::get_if<agent::UserMessage>(&message);
    if (said == nullptr) {
      continue;
    }
    for (const agent::Attachment& one : said->attachments) {
      if (std::ranges::find(media, one.media_type) == media.end()) {
        return fmt::format("way to take {} (`{}`)", one.media_type, one.name);
      }
    }
  }
  return wire.lacks(request);
}

// The head of a request, kept for as long as it would be the same: to encode the tools takes longer
// than a turn's messages.
class Head {
 public:
  std::string_view build(const Wire& wire, const ModelRequest& request) {
    const bool is_known = !bytes_.empty() && instructions_ == request.instructions &&
                          tool_choice_ == request.tool_choice &&
                          std::ranges::equal(tools_, request.tools, is_same);
    if (!is_known) {
      bytes_ = wire.body_head(request);
      instructions_ = request.instructions;
      tool_choice_ = request.tool_choice;
      tools_.assign(request.tools.begin(), request.tools.end());
    }
    return bytes_;
  }

 private:
  static bool is_same(const agent::ToolInfo& a, const agent::ToolInfo& b) {
    return a.name == b.name && a.description == b.description && a.parameters == b.parameters;
  }

  std::string bytes_;
  std::string instructions_;
  std::string tool_choice_;
  std::vector<agent::ToolInfo> tools_;
};

// The bytes of a request. What was encoded for earlier turns is kept and only grows.
class Body {
 public:
  std::string_view build(const Wire& wire, const ModelRequest& request) {
    const agent::Conversation& conversation = request.conversation;
    const std::string_view head = head_.build(wire, request);
    const bool is_known = conversation_ == &conversation && revision_ == conversation.revision &&
                          encoded_ <= conversation.messages.size() && bytes_.starts_with(head);
    if (is_known) {
      bytes_.resize(end_of_messages_);
    } else {
      bytes_ = head;
      encoded_ = 0;
    }
    const std::span messages(conversation.messages);
    append_translated(bytes_,
                      wire,
                      messages.subspan(encoded_),
                      encoded_ == 0 ? nullptr : &messages[encoded_ - 1]);
    conversation_ = &conversation;
    revision_ = conversation.revision;
    encoded_ = conversation.messages.size();
    end_of_messages_ = bytes_.size();
    return change_tail(wire, request);
  }

  std::size_t size() const { return bytes_.size(); }

  std::string_view change_tail(const Wire& wire, const ModelRequest& request) {
    bytes_.resize(end_of_messages_);
    bytes_ += wire.body_tail(request);
    return bytes_;
  }

 private:
  Head head_;
  std::string bytes_;
  std::size_t end_of_messages_ = 0;
  std::size_t encoded_ = 0;                            // messages
  const agent::Conversation* conversation_ = nullptr;  // only compared, never read
  std::uint64_t revision_ = 0;
};

class WireProvider final : public agent::Provider {
 public:
  WireProvider(std::unique_ptr<Wire> wire, agent::Http& http, const agent::Clock& clock)
      : wire_(std::move(wire)), http_(http), clock_(clock) {}

  Result<Reply> complete(const ModelRequest& request,
                         const agent::Emit& emit,
                         std::stop_token stop) override {
    auto reply = ask(request, emit, stop);
    if (!reply) {
      Error error = std::move(reply).error();
      error.provider = wire_->settings().provider;
      error.model = wire_->settings().model;
      return agent::fail(std::move(error));
    }
    reply->origin = origin_of(wire_->settings());
    return reply;
  }

 private:
  Result<Reply> ask(const ModelRequest& request, const agent::Emit& emit, std::stop_token stop);
  Result<Reply> read(const Result<agent::HttpResponse>& response,
                     std::optional<Error> refused,
                     Decoder& decoder,
                     const agent::Emit& emit) const;

  void tell_of_broken(const Reply& partial,
                      const Exchange& exchange,
                      bool has_begun,
                      const agent::Emit& emit) const;
  Exchange exchanged(const ModelRequest& request, std::int64_t received, Unshown unshown) const;

  std::unique_ptr<Wire> wire_;
  agent::Http& http_;
  const agent::Clock& clock_;
  Body body_;
};

Exchange WireProvider::exchanged(const ModelRequest& request,
                                 std::int64_t received,
                                 Unshown unshown) const {
  Exchange exchange{
      .sent = static_cast<std::int64_t>(body_.size()), .received = received, .unshown = unshown};
  for (const agent::Message& message : request.conversation.messages) {
    const auto* const said = std::get_if<agent::UserMessage>(&message);
    if (said == nullptr) {
      continue;
    }
    for (const agent::Attachment& one : said->attachments) {
      exchange.sent -= static_cast<std::int64_t>(one.base64.size());
      exchange.attached += agent::estimated_tokens(one);
    }
  }
  return exchange;
}

// Nothing of an answer that had not begun.
void WireProvider::tell_of_broken(const Reply& partial,
                                  const Exchange& exchange,
                                  bool has_begun,
                                  const agent::Emit& emit) const {
  if (has_begun || exchange.received > 0 || partial.usage.total() != 0) {
    emit(agent::ModelBroken{.usage = partial.usage,
                            .estimated = estimate_broken(partial.usage, exchange),
                            .cost = partial.cost});
  }
}

Result<Reply> WireProvider::ask(const ModelRequest& request,
                                const agent::Emit& emit,
                                std::stop_token stop) {
  const WireSettings& settings = wire_->settings();
  if (const auto lack = missing(*wire_, request)) {
    return agent::fail(Code::provider_unsupported,
                       fmt::format("{} has no {}; nothing was sent", wire_->name(), *lack));
  }
  std::string_view body = body_.build(*wire_, request);
  for (;;) {
    auto decoder = wire_->decoder();
    std::optional<Error> refused;
    bool is_over = false;
    // Read to its end even when the rest is not wanted: the connection can then be used again. What
    // comes behind the answer holds off no deadline.
    const auto on_data = [&](std::string_view bytes) {
      auto heard = decoder->feed(bytes, emit);
      if (!heard) {
        refused = std::move(heard).error();
        return Heard::enough;
      }
      if (*heard == Heard::enough) {
        return std::exchange(is_over, true) ? Heard::nothing : Heard::last;
      }
      return *heard;
    };
    try {
      const auto response = http_.send({.url = wire_->url(),
                                        .headers = wire_->headers(),
                                        .body = body,
                                        .streamed = settings.stream,
                                        .timeouts = settings.timeouts,
                                        .signer = settings.signer ? &*settings.signer : nullptr},
                                       on_data,
                                       stop);
      const bool is_answer = response && response->status >= 200 && response->status < 300;
      if (!response || is_answer) {
        auto reply = read(response, std::move(refused), *decoder, emit);
        if (!reply) {
          const Reply partial = decoder->partial();
          tell_of_broken(partial,
                         exchanged(request, bytes_of(partial), decoder->unshown()),
                         decoder->has_begun(),
                         emit);
        } else {
          reply->estimated =
              estimate(reply->usage, exchanged(request, bytes_of(*reply), decoder->unshown()));
        }
        return reply;
      }
      const auto said = std::string_view(response->body).substr(0, k_most_of_error);
      if (!wire_->adapt(response->status, said, request)) {
        Error error = wire_->classify(response->status, response->headers, said, clock_.wall());
        if (error.code == Code::provider_auth && error.help.empty()) {
          error.help = key_help(wire_->settings());
        }
        return agent::fail(std::move(error));
      }
    } catch (const std::bad_alloc&) {
      const Exchange exchange = exchanged(request, decoder->said_bytes(), decoder->unshown());
      const bool has_begun = decoder->has_begun();
      decoder.reset();  // which makes room for telling what it has cost
      tell_of_broken({}, exchange, has_begun, emit);
      throw;
    }
    body = body_.change_tail(*wire_, request);
  }
}

// What is lost on the way after the answer's end mark does not undo the answer.
Result<Reply> WireProvider::read(const Result<agent::HttpResponse>& response,
                                 std::optional<Error> refused,
                                 Decoder& decoder,
                                 const agent::Emit& emit) const {
  const agent::Headers none;
  const agent::Headers& headers = response ? response->headers : none;
  auto reply =
      refused ? Result<Reply>(agent::fail(*std::move(refused))) : decoder.finish(headers, emit);
  if (reply) {
    return reply;
  }
  if (!response && reply.error().code == Code::provider_stream_broken) {
    return agent::fail(response.error());
  }
  Error error = std::move(reply).error();
  if (const auto wait = decoder.retry_after(clock_.wall())) {
    error.retry_after = wait;
  }
  if (response) {
    error.http_status = response->status;
  }
  if (error.request_id.empty()) {
    error.request_id = request_id(headers);
  }
  return agent::fail(std::move(error));
}

}  // namespace

std::unique_ptr<agent::Provider> make_wire_provider(std::unique_ptr<Wire> wire,
                                                    agent::Http& http,
                                                    const agent::Clock& clock) {
  return std::make_unique<WireProvider>(std::move(wire), http, clock);
}

}  // namespace providers

#include "providers/clean_stream.h"

#include "agent/text.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace providers {
namespace {

using Kind = agent::ModelDelta::Kind;

constexpr std::size_t k_most_at_once = 64 << 10;  // bytes

// The pieces of one kind.
class Pieces {
 public:
  Pieces(Kind kind, const agent::Redactor& redactor, const agent::Emit& emit)
      : kind_(kind), redactor_(redactor), emit_(emit) {}

  // Part by part: a large piece is in memory once more, not as often as it is looked at.
  void take(std::string_view text) {
    while (!text.empty()) {
      const std::size_t whole = agent::prefix(text, k_most_at_once).size();
      const std::size_t part = whole > 0 ? whole : text.size();  // bytes that are no text
      tell(redactor_.feed(text.substr(0, part)));
      text.remove_prefix(part);
    }
  }
  void finish() { tell(redactor_.finish()); }
  void break_off() { tell(redactor_.break_off()); }

 private:
  void tell(std::string text) {
    if (!text.empty()) {
      emit_(agent::ModelDelta{.kind = kind_, .text = std::move(text)});
    }
  }

  Kind kind_;
  agent::StreamRedactor redactor_;
  const agent::Emit& emit_;
};

}  // namespace

agent::Result<agent::Reply> CleanStream::complete(const agent::ModelRequest& request,
                                                  const agent::Emit& emit,
                                                  std::stop_token stop) {
  Pieces text(Kind::text, redactor_, emit);
  Pieces reasoning(Kind::reasoning, redactor_, emit);
  const auto clean = [&](agent::EventBody event) {
    if (const auto* const delta = std::get_if<agent::ModelDelta>(&event)) {
      (delta->kind == Kind::text ? text : reasoning).take(delta->text);
      return;
    }
    reasoning.break_off();  // an attempt that goes no further
    text.break_off();
    emit(std::move(event));
  };
  auto reply = inner_->complete(request, clean, std::move(stop));
  if (reply) {
    reasoning.finish();
    text.finish();
  } else {
    reasoning.break_off();
    text.break_off();
  }
  return reply;
}

}  // namespace providers

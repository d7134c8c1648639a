// What a provider says of the tokens of an answer, held against the bytes that went and came.
#pragma once
#include "agent/message.h"
#include "providers/wire/wire.h"

#include <cstdint>
#include <optional>

namespace providers {

struct Exchange {
  std::int64_t sent = 0;      // bytes, without those of attachments
  std::int64_t attached = 0;  // tokens, estimated
  std::int64_t received = 0;  // bytes of text, thoughts and calls
  Unshown unshown = {};
};

// Whether a request or an answer can have so many.
bool is_count(std::int64_t tokens);

// What counts in place of `reported`, where a part of it is missing or cannot be: such a part is
// estimated from the bytes, the others stay. nullopt: nothing of it needs to be.
std::optional<agent::Usage> estimate(const agent::Usage& reported, const Exchange& exchange);

// The same of an answer that broke off: what was reported of it so far is less than all of it.
std::optional<agent::Usage> estimate_broken(const agent::Usage& reported, const Exchange& exchange);

}  // namespace providers

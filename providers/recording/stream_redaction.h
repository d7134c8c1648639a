// Secrets that come in pieces: of a streamed answer each event has a few letters, and none of them
// looks like a secret.
#pragma once
#include "agent/secrets/redact.h"

#include <optional>
#include <string>
#include <string_view>

namespace providers {

// The body of an event stream, or of JSON lines, with the texts clean that its events make together
// (those at the same place of each event); nullopt where they are. Such a text is then all in the
// first of its events.
std::optional<std::string> redact_stream(std::string_view body, const agent::Redactor& redactor);

}  // namespace providers

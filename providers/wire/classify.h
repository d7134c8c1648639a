// What a provider's error means: a status, headers and a body in, one Error out. The one place
// where a provider's words are matched.
#pragma once
#include "agent/clock.h"
#include "agent/error.h"
#include "agent/http.h"
#include "agent/json.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace providers {

// An answer that is not 2xx. `base_url` is for messages only.
agent::Error classify_answer(int status,
                             const agent::Headers& headers,
                             std::string_view body,
                             agent::Clock::Wall now,
                             std::string_view base_url);

// The error that a 2xx answer or an event of its stream reports; nullopt where `json` is none.
std::optional<agent::Error> error_inside(const agent::Json& json);
// How long to wait, where the members of that error say so; its retry_after has what its words say.
std::optional<std::chrono::milliseconds> wait_inside(const agent::Json& json,
                                                     agent::Clock::Wall now);

// The id under which the provider's support finds the request, or empty.
std::string request_id(const agent::Headers& headers);

// The first 200 bytes of what should have been an answer, on one line, for a message.
std::string excerpt(std::string_view body);

}  // namespace providers

// What a guard has written, as the one JSON object that it has to be.
#pragma once
#include "agent/json.h"

#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace tools {

// One meaning or none: nothing but white space around the object, and no key in it twice. Else why
// not, with the byte (counted from 1), in words that follow "its answer: ".
std::expected<agent::Json, std::string> read_verdict(std::string_view bytes);

// The first member that an answer has no room for: a misspelt word decides nothing, and two
// spellings of one may contradict each other. Empty: there is none. `known` in camelCase; each may
// be written in snake_case.
std::string strange_member(const agent::Json& object, std::span<const std::string_view> known);

// "stopReason" as "stop_reason".
std::string snake_case(std::string_view name);

}  // namespace tools

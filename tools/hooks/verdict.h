// What a guard has written, as the one JSON object that it has to be.
#pragma once
#include "agent/json.h"

#include <expected>
#include <string>
#include <string_view>

namespace tools {

// One meaning or none: nothing but white space around the object, and no key in it twice. Else why
// not, with the byte (counted from 1), in words that follow "its answer: ".
std::expected<agent::Json, std::string> read_verdict(std::string_view bytes);

}  // namespace tools

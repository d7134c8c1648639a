// JSON Schemas for answers, as OpenAI's servers want them.
#pragma once
#include "agent/json.h"

#include <string>
#include <string_view>

namespace providers {

// The members `name`, `schema` and `strict`. Strict schemas are enforced token by token, and all
// others followed as well as the model can.
std::string named_schema(std::string_view schema);

// Each object names all of its properties as required, and allows no others.
bool is_strict(const agent::Json& schema);

}  // namespace providers

#include "providers/wire/openai_schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace providers {
namespace {

using agent::Json;

bool is_object_schema(const Json& schema) {
  return schema.contains("properties") || agent::text_at(schema, "type") == "object";
}

bool is_closed(const Json& schema) {
  const Json* properties = agent::find(schema, "properties");
  const Json* required = agent::find(schema, "required");
  const Json* additional = agent::find(schema, "additionalProperties");
  if (additional == nullptr || *additional != false) {
    return false;
  }
  if (properties == nullptr || !properties->is_object()) {
    return true;
  }
  return std::ranges::all_of(properties->items(), [&](const auto& property) {
    return required != nullptr && required->is_array() &&
           std::ranges::find(*required, Json(property.key())) != required->end();
  });
}

}  // namespace

std::string named_schema(std::string_view schema) {
  const auto json = agent::parse_json(schema);
  return fmt::format(R"("name":"answer","schema":{},"strict":{})",
                     schema,
                     json && is_object_schema(*json) && is_strict(*json));
}

bool is_strict(const Json& schema) {
  if (schema.is_array()) {
    return std::ranges::all_of(schema, is_strict);
  }
  if (!schema.is_object()) {
    return true;
  }
  return (!is_object_schema(schema) || is_closed(schema)) &&
         std::ranges::all_of(schema.items(),
                             [](const auto& member) { return is_strict(member.value()); });
}

}  // namespace providers

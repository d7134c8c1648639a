#include "tools/mcp/content.h"

#include "agent/base64.h"

#include <nlohmann/json.hpp>

namespace tools::mcp {
namespace {

using agent::Json;

bool has_text(const Json& item, std::string_view key) {
  const Json* const text = agent::find(item, key);
  return text != nullptr && text->is_string();
}

// Bytes that are there, and cannot be read, are not left out in silence.
std::string_view flaw_of_bytes(const Json& item, std::string_view key) {
  return agent::from_base64(agent::text_at(item, key)) ? "" : k_no_base64;
}

}  // namespace

std::string_view flaw_of_content(const Json& item) {
  if (!item.is_object() || !has_text(item, "type")) {
    return "has no `type`";
  }
  const std::string_view type = agent::text_at(item, "type");
  if (type == "text") {
    return has_text(item, "text") ? "" : "is of the type `text` and has none";
  }
  if (type == "image" || type == "audio") {
    return has_text(item, "data") ? flaw_of_bytes(item, "data") : "has no `data`";
  }
  if (type == "resource") {
    const Json* const resource = agent::find(item, "resource");
    return resource == nullptr ? "has no `resource`" : flaw_of_resource(*resource);
  }
  return type != "resource_link" || has_text(item, "uri") ? "" : "has no `uri`";
}

std::string_view flaw_of_resource(const Json& resource) {
  return resource.is_object() && (has_text(resource, "text") || has_text(resource, "blob"))
             ? flaw_of_bytes(resource, "blob")
             : "has neither `text` nor `blob`";
}

}  // namespace tools::mcp

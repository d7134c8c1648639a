#include "tools/mcp/header_mirror.h"

#include "agent/base64.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Json;

constexpr std::string_view k_key = "x-mcp-header";
constexpr std::string_view k_prefix = "Mcp-Param-";
constexpr std::string_view k_frame = "=?base64?";
constexpr std::string_view k_frame_end = "?=";

bool is_plain_type(std::string_view type) {
  return type == "string" || type == "integer" || type == "boolean";
}

// How often the key stands anywhere in the schema. What is nested deeper than JSON may be here is
// not parsed at all.
std::size_t count_keys(const Json& json) {
  std::size_t count = json.is_object() && json.contains(k_key) ? 1 : 0;
  for (const Json& one : json) {
    count += one.is_structured() ? count_keys(one) : 0;
  }
  return count;
}

class MirrorReader {
 public:
  std::expected<std::vector<HeaderMirror>, std::string> read(const Json& schema) {
    std::vector<std::string> path;
    if (!read_properties(schema, path)) {
      return std::unexpected(std::move(problem_));
    }
    if (mirrors_.size() != count_keys(schema)) {
      return std::unexpected("its schema has `x-mcp-header` where no property of the arguments is");
    }
    return std::move(mirrors_);
  }

 private:
  bool read_properties(const Json& schema, std::vector<std::string>& path) {
    const Json* const properties = agent::find(schema, "properties");
    if (properties == nullptr || !properties->is_object()) {
      return true;
    }
    for (const auto& [name, property] : properties->items()) {
      path.push_back(name);
      if (!read_property(property, path) || !read_properties(property, path)) {
        return false;
      }
      path.pop_back();
    }
    return true;
  }

  bool read_property(const Json& property, const std::vector<std::string>& path) {
    const Json* const header = agent::find(property, k_key);
    if (header == nullptr) {
      return true;
    }
    const std::string name = header->is_string() ? header->get<std::string>() : "";
    if (!agent::is_token(name)) {
      problem_ = "the `x-mcp-header` of its schema is not the name of a header: " +
                 agent::one_line(agent::dump(*header), 60);
    } else if (!seen_.insert(agent::to_lower(name)).second) {
      problem_ = fmt::format("its schema has the `x-mcp-header` {} twice", name);
    } else if (!is_plain_type(agent::text_at(property, "type"))) {
      problem_ = fmt::format(
          "the `x-mcp-header` {} of its schema stands at what is no string, integer or boolean",
          name);
    } else {
      mirrors_.push_back({.path = path, .name = std::string(k_prefix) + name});
    }
    return problem_.empty();
  }

  std::vector<HeaderMirror> mirrors_;
  std::set<std::string> seen_;
  std::string problem_;
};

const Json* value_of(const Json& arguments, const std::vector<std::string>& path) {
  const Json* value = &arguments;
  for (const std::string& name : path) {
    value = value->is_object() ? agent::find(*value, name) : nullptr;
    if (value == nullptr) {
      return nullptr;
    }
  }
  return value->is_null() || value->is_structured() ? nullptr : value;
}

}  // namespace

std::expected<std::vector<HeaderMirror>, std::string> header_mirrors(const Json& schema) {
  return MirrorReader().read(schema);
}

agent::Headers mirrored(const std::vector<HeaderMirror>& mirrors, const Json& arguments) {
  agent::Headers headers;
  for (const HeaderMirror& mirror : mirrors) {
    if (const Json* const value = value_of(arguments, mirror.path)) {
      headers.emplace_back(
          mirror.name,
          header_text(value->is_string() ? value->get<std::string>() : agent::dump(*value)));
    }
  }
  return headers;
}

std::string header_text(std::string_view text) {
  const bool is_plain =
      std::ranges::all_of(text, [](char one) { return one >= ' ' && one <= '~'; }) &&
      agent::trimmed(text) == text && !(text.starts_with(k_frame) && text.ends_with(k_frame_end));
  return is_plain ? std::string(text)
                  : fmt::format("{}{}{}", k_frame, agent::to_base64(text), k_frame_end);
}

std::optional<std::string> text_of_header(std::string_view value) {
  if (value.size() < k_frame.size() + k_frame_end.size() || !value.starts_with(k_frame) ||
      !value.ends_with(k_frame_end)) {
    return std::string(value);
  }
  value.remove_prefix(k_frame.size());
  value.remove_suffix(k_frame_end.size());
  return agent::from_base64(value);
}

}  // namespace tools::mcp

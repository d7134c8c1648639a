// The JSON Schema of the agent file, from the same table that the loader checks with.
#include "config/keys.h"
#include "config/shapes.h"
#include "config/unknown_key.h"
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace config {
namespace {

using agent::Json;

constexpr std::string_view k_reference = R"(\$\{env:)";

Json to_json(std::string_view yaml) {
  const auto source = Source::create(std::string(yaml), "");
  if (!source) {
    return nullptr;
  }
  Problems problems(*source);
  const auto value = parse_yaml(*source, {0, source->text().size()}, {}, problems);
  return value ? to_json(*value) : Json(nullptr);
}

// A reference to the environment may stand where the pattern asks for something else.
Json text_like(std::string_view pattern) {
  Json schema{{"type", "string"}};
  if (!pattern.empty()) {
    schema["pattern"] = fmt::format("{}|{}", pattern, k_reference);
  }
  return schema;
}

// A text that also matches `pattern`: patterns cannot be joined by "and".
Json also_like(Json schema, std::string_view pattern) {
  schema["allOf"] = Json::array({text_like(pattern)});
  return schema;
}

class SchemaWriter {
 public:
  explicit SchemaWriter(std::span<const Key> table) : table_(table) {}

  Json object(std::string_view path) const;

 private:
  Json value(const Key& key) const;
  Json bare_value(const Key& key) const;
  Json map(const Key& key) const;
  Json free_map(const Key& named, Shape shape) const;
  Json count(const Key& key) const;
  Json money(const Key& key) const;
  Json choice(const Key& key) const;
  Json list(const Key& key) const;

  std::span<const Key> table_;
};

Json with_range(std::string_view type, const Key& key) {
  Json schema{{"type", type}};
  if (key.min != std::numeric_limits<double>::lowest()) {
    schema["minimum"] = agent::number_json(key.min);
  }
  if (key.max != std::numeric_limits<double>::max()) {
    schema["maximum"] = agent::number_json(key.max);
  }
  return schema;
}

Json SchemaWriter::count(const Key& key) const {
  Json forms = Json::array();
  Json whole{{"type", "integer"}, {"minimum", agent::number_json(std::max(key.min, 1.0))}};
  if (key.max != std::numeric_limits<double>::max()) {
    whole["maximum"] = agent::number_json(key.max);
  }
  forms.push_back(std::move(whole));
  forms.push_back(also_like(text_like(count_pattern()), "[1-9]"));
  if (!key.choices.empty()) {
    forms.push_back({{"enum", key.words()}});
  }
  return Json{{"anyOf", std::move(forms)}};
}

Json SchemaWriter::money(const Key& key) const {
  const Json number{{"type", "number"}, {key.may_be_zero ? "minimum" : "exclusiveMinimum", 0}};
  return Json{{"anyOf", Json::array({number, text_like(money_pattern())})}};
}

Json SchemaWriter::choice(const Key& key) const {
  return Json{{"anyOf", Json::array({{{"enum", key.words()}}, text_like("^$")})}};
}

Json SchemaWriter::list(const Key& key) const {
  const Key* item = find_key(table_, fmt::format("{}[]", key.path));
  Json schema{{"type", "array"}, {"items", value(*item)}};
  if (key.min > 0) {
    schema["minItems"] = agent::number_json(key.min);
  }
  return schema;
}

Json SchemaWriter::object(std::string_view path) const {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key* key : children(table_, path)) {
    if (key->status == Status::later) {
      continue;
    }
    properties[std::string(last_part(key->path))] = value(*key);
    if (key->required) {
      required.push_back(last_part(key->path));
    }
  }
  Json schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  schema["patternProperties"] = {{"^x-", Json::object()}};
  schema["additionalProperties"] = false;
  return schema;
}

// Names that the user chooses, each with the same kind of value.
Json SchemaWriter::free_map(const Key& named, Shape shape) const {
  Json patterns = Json::object();
  if (shape != Shape::header_name) {
    patterns["^x-"] = Json::object();
  }
  patterns[std::string(pattern(shape))] = value(named);
  return Json{{"type", "object"},
              {"patternProperties", std::move(patterns)},
              {"additionalProperties", false}};
}

Json SchemaWriter::map(const Key& key) const {
  const Key* named = find_key(table_, join(key.path, "*"));
  if (named == nullptr) {
    return object(key.map_path());
  }
  if (children(table_, key.path).empty()) {
    return free_map(*named, key.shape);
  }
  Json keyed = free_map(*named, named->shape);
  keyed["patternProperties"].erase("^x-");
  keyed["minProperties"] = 1;
  keyed["maxProperties"] = 1;
  return Json{{"anyOf", Json::array({object(key.path), std::move(keyed)})}};
}

Json SchemaWriter::bare_value(const Key& key) const {
  switch (key.type) {
    case Type::text:
      return text_like(pattern(key.shape));
    case Type::integer:
      return with_range("integer", key);
    case Type::number:
      return with_range("number", key);
    case Type::boolean:
      return Json{{"type", "boolean"}};
    case Type::count:
      return count(key);
    case Type::duration:
      return also_like(text_like(duration_pattern()), key.may_be_zero ? "[0-9]" : "[1-9]");
    case Type::money:
      return money(key);
    case Type::choice:
      return choice(key);
    case Type::scalar:
      return Json{{"type", {"string", "number", "boolean"}}};
    case Type::texts:
      return Json{{"anyOf", Json::array({Json{{"type", "string"}}, list(key)})}};
    case Type::list:
      return list(key);
    case Type::map:
      return map(key);
    case Type::text_or_map:
      return Json{{"anyOf", Json::array({text_like(pattern(key.shape)), map(key)})}};
    case Type::boolean_or_map:
      return Json{{"anyOf", Json::array({Json{{"type", "boolean"}}, map(key)})}};
    case Type::list_or_map:
      return Json{{"anyOf", Json::array({list(key), map(key)})}};
    case Type::json_schema:
      return Json{{"type", "object"},
                  {"required", {"type"}},
                  {"properties", {{"type", {{"enum", {"object"}}}}}}};
    case Type::map_or_path:
      return Json{
          {"anyOf", Json::array({text_like(pattern(key.shape)), Json{{"type", "object"}}})}};
    case Type::anything_map:
      return Json{{"type", "object"}};
    case Type::anything:
      break;
  }
  return Json::object();
}

Json SchemaWriter::value(const Key& key) const {
  Json schema{{"description", key.help}};
  if (!key.default_value.empty()) {
    schema["default"] = to_json(key.default_value);
  }
  if (!key.example.empty()) {
    schema["examples"] = Json::array({to_json(key.example)});
  }
  schema.update(bare_value(key));
  return schema;
}

}  // namespace

agent::Json agent_schema() {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "errand agent"},
              {"description", "An agent that errand runs. Strings may hold ${env:NAME}."}};
  schema.update(SchemaWriter(keys()).object(""));
  return schema;
}

}  // namespace config

#include "agent/schema/json_schema.h"
#include "config/build/build.h"
#include "config/build/schema_file.h"
#include "config/read.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace config {
namespace {

// The value that a JSON pointer names, as far as it leads.
const Value& follow(const Value& root, std::string_view pointer) {
  const Value* at = &root;
  while (pointer.starts_with('/')) {
    pointer.remove_prefix(1);
    const std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    const Value* next = nullptr;
    if (at->kind == Kind::map) {
      std::string key(part);
      for (const auto& [from, to] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
        for (std::size_t found = key.find(from); found != std::string::npos;
             found = key.find(from, found + 1)) {
          key.replace(found, 2, to);
        }
      }
      const Entry* entry = at->find(key);
      next = entry != nullptr ? &entry->value : nullptr;
    } else if (at->kind == Kind::list) {
      std::size_t index = 0;
      const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
      const bool is_index = result.ec == std::errc{} && index < at->items.size();
      next = is_index ? &at->items[index] : nullptr;
    }
    if (next == nullptr) {
      break;
    }
    at = next;
  }
  return *at;
}

// The JSON pointer that a message about a schema names.
std::string_view pointer_in(std::string_view message) {
  const std::size_t begin = message.find('/');
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::size_t end = message.find_first_of(" `'\":,", begin);
  return message.substr(begin, end - begin);
}

}  // namespace

void check_schema(const Value& schema, const agent::Json& json, Problems& problems) {
  const auto compiled = agent::JsonSchema::compile(json);
  if (!compiled) {
    const agent::Error& error = compiled.error();
    problems.add(follow(schema, pointer_in(error.message)).span, error.message, error.help);
    return;
  }
  for (const std::string& misspelling : compiled->misspellings()) {
    problems.warn(schema.span, "`output.schema`: " + misspelling, "it demands nothing as it is");
  }
}

int repair_attempts(const Value& map) {
  const agent::OutputSpec standard;
  const auto attempts = count_at(map, "repair_attempts");
  return attempts ? static_cast<int>(std::clamp<std::int64_t>(*attempts, 0, 100))
                  : standard.repair_attempts;
}

agent::OutputSpec build_output(const Value& map, const NamedFiles& files, Problems& problems) {
  const Value* schema = value_at(map, "schema");
  if (schema == nullptr) {
    return {};
  }
  const int repairs = repair_attempts(map);
  if (schema->kind == Kind::text) {
    const auto judge = [&](const std::filesystem::path& real) {
      return files.foresee(schema->text, real);
    };
    const auto file = read_schema_file(*schema, files.locate(""), judge, problems);
    return {.schema = file ? agent::dump(file->json) : "", .repair_attempts = repairs};
  }
  if (schema->kind != Kind::map) {
    return {};
  }
  const agent::Json json = to_json(*schema);
  check_schema(*schema, json, problems);
  return {.schema = agent::dump(json), .repair_attempts = repairs};
}

}  // namespace config

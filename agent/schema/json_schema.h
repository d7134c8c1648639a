// JSON Schema, the draft-07 subset that tool parameters and outputs need, with RE2 patterns.
#pragma once
#include "agent/json.h"
#include "agent/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

class JsonSchema {
 public:
  struct Violation {
    std::string pointer;   // JSON pointer into the value: "/items/3"
    std::string message;   // "must be an integer"
    bool is_type = false;  // the keyword `type` alone is hurt: tool.type_mismatch
  };

  // Of a schema that has no `$schema`: what stands beside a `$ref` counts in the later one alone.
  enum class Draft : std::uint8_t { draft_7, draft_2020_12 };

  // config.invalid where the schema is wrong, names a keyword that is not supported, or refers to
  // another document (never fetched). The message names the JSON pointer into the schema.
  static Result<JsonSchema> compile(const Json& schema, Draft unsaid = Draft::draft_7);

  // Members that no keyword is called, but nearly: "`/properties/x/typ` …; did you mean `type`?"
  // They demand nothing.
  const std::vector<std::string>& misspellings() const;

  // Empty where the value is valid; at most 20 violations.
  std::vector<Violation> check(const Json& value) const;

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

 private:
  struct Program;
  explicit JsonSchema(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

}  // namespace agent

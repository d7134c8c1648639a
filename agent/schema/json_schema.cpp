#include "agent/schema/json_schema.h"

#include "agent/schema/json_schema_program.h"

#include <utility>

namespace agent {
namespace {

constexpr std::size_t k_max_violations = 20;

}  // namespace

struct JsonSchema::Program : schema::Program {};

Result<JsonSchema> JsonSchema::compile(const Json& document, Draft unsaid) {
  auto program = std::make_unique<Program>();
  program->document = document;
  program->unsaid = unsaid;
  TRY(agent::schema::compile(*program));
  return JsonSchema(std::move(program));
}

const std::vector<std::string>& JsonSchema::misspellings() const {
  return program_->misspellings;
}

std::vector<JsonSchema::Violation> JsonSchema::check(const Json& value) const {
  schema::Judge::Effort effort;
  schema::Judge judge(effort, "", k_max_violations);
  judge.judge(*program_->root, value);
  if (effort.gave_up) {
    return {{.pointer = "", .message = "is too deeply nested, or takes too long, to be checked"}};
  }
  return judge.take();
}

JsonSchema::JsonSchema(std::unique_ptr<Program> program) : program_(std::move(program)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

}  // namespace agent

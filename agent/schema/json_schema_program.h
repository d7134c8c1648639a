// A compiled JSON Schema and what runs it. Internal to json_schema*.cpp.
#pragma once
#include "agent/schema/json_schema.h"
#include "agent/schema/json_schema_value.h"

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent::schema {

using Violation = JsonSchema::Violation;
class Judge;
using Check = std::function<void(const Json& value, Judge& judge)>;

// One schema, compiled. What a keyword demands is a Check.
struct Node {
  const Json* schema = nullptr;
  std::string pointer;  // into the document
  std::string base;     // the URI that its references start from
  std::optional<bool> always;
  Types types = 0;               // 0: any
  const Node* target = nullptr;  // of $ref
  std::vector<Check> checks;
  std::vector<const Node*> on_same_value;  // what it asks to judge the very same value
};

// A whole document, compiled. Never moved: nodes and checks point into it.
struct Program {
  Json document;
  JsonSchema::Draft unsaid = JsonSchema::Draft::draft_7;  // where it names none
  std::deque<Node> nodes;                                 // a deque: their addresses are kept
  std::deque<re2::RE2> patterns;
  const Node* root = nullptr;
  std::vector<std::string> misspellings;
};

// Fills in `program`, whose document is there. config.invalid where the schema is wrong.
Result<void> compile(Program& program);

// One value against one schema: where we are in the value, and what was found wrong.
class Judge {
 public:
  // Shared by all judges of one check, so that depth and work are bounded as a whole.
  struct Effort {
    int depth = 0;
    std::int64_t steps = 0;
    bool gave_up = false;
  };

  // Stops after `limit` violations.
  Judge(Effort& effort, std::string pointer, std::size_t limit);

  void judge(const Node& node, const Json& value);
  void judge_at(const Node& node, const Json& value, std::string_view key);
  // What would be wrong, without reporting it; the first violation only.
  std::vector<Violation> probe(const Node& node, const Json& value);
  bool matches(const Node& node, const Json& value);

  void fail(std::string message, bool is_type = false);
  void fail_at(std::string_view key, std::string message);
  // No branch of anyOf or oneOf fits: says what would, as narrowly as can be known.
  void fail_all(const std::vector<const Node*>& branches, const Json& value);

  // Work that grows with the value, in steps: false where it is too much for what is left of them.
  bool spend(std::size_t steps);
  bool is_done() const { return effort_.gave_up || violations_.size() >= limit_; }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  void judge_here(const Node& node, const Json& value);
  void add(Violation violation);

  Effort& effort_;
  std::string pointer_;
  std::size_t limit_;
  std::vector<Violation> violations_;
};

// A member's name as a part of a JSON pointer.
std::string escaped(std::string_view key);

}  // namespace agent::schema

#include "agent/schema/json_schema_program.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <utility>

namespace agent::schema {
namespace {

constexpr int k_max_depth = 1'000;               // schemas within schemas while one value is judged
constexpr std::int64_t k_max_steps = 5'000'000;  // references can multiply without end
constexpr std::size_t k_bytes_of_pointer = 256;  // that are copied in one step
constexpr std::size_t k_max_reasons = 1'000;     // bytes

Types types_of(const Node& node) {
  const Node* at = &node;
  for (int step = 0; at->types == 0 && at->target != nullptr && step < k_max_depth; ++step) {
    at = at->target;
  }
  return at->types;
}

}  // namespace

Judge::Judge(Effort& effort, std::string pointer, std::size_t limit)
    : effort_(effort), pointer_(std::move(pointer)), limit_(limit) {}

void Judge::judge(const Node& node, const Json& value) {
  if (is_done()) {
    return;
  }
  if (!spend(value.is_binary() ? weight_of(value) : 1)) {
    return;
  }
  if (effort_.depth >= k_max_depth) {
    effort_.gave_up = true;
    return;
  }
  ++effort_.depth;
  judge_here(node, value);
  --effort_.depth;
}

bool Judge::spend(std::size_t steps) {
  effort_.steps += static_cast<std::int64_t>(steps);
  effort_.gave_up = effort_.gave_up || effort_.steps > k_max_steps;
  return !effort_.gave_up;
}

void Judge::judge_at(const Node& node, const Json& value, std::string_view key) {
  const std::size_t length = pointer_.size();
  if (!spend((length + key.size()) / k_bytes_of_pointer)) {
    return;
  }
  pointer_ += "/" + escaped(key);
  judge(node, value);
  pointer_.resize(length);
}

std::vector<Violation> Judge::probe(const Node& node, const Json& value) {
  spend(pointer_.size() / k_bytes_of_pointer);
  Judge inner(effort_, pointer_, 1);
  inner.judge(node, value);
  return inner.take();
}

bool Judge::matches(const Node& node, const Json& value) {
  return probe(node, value).empty();
}

void Judge::fail(std::string message, bool is_type) {
  add({.pointer = pointer_, .message = std::move(message), .is_type = is_type});
}

void Judge::fail_at(std::string_view key, std::string message) {
  add({.pointer = pointer_ + "/" + escaped(key), .message = std::move(message)});
}

void Judge::fail_all(const std::vector<const Node*>& branches, const Json& value) {
  Types wanted = 0;
  std::vector<const Node*> near;
  for (const Node* branch : branches) {
    const Types types = types_of(*branch);
    if (types == 0 || has_type(value, types)) {
      near.push_back(branch);
    }
    wanted = static_cast<Types>(wanted | types);
  }
  if (near.empty()) {
    fail(fmt::format("must be {}, is {}", phrase(wanted), phrase(type_of(value))), true);
    return;
  }
  if (near.size() == 1) {
    judge(*near.front(), value);
    return;
  }
  std::string reasons;
  for (const Node* branch : near) {
    for (const Violation& violation : probe(*branch, value)) {
      const std::string place = violation.pointer.substr(pointer_.size());
      reasons += (reasons.empty() ? "" : "; or ") +
                 (place.empty() ? violation.message : place + " " + violation.message);
    }
  }
  fail(fmt::format(
      "matches none of the {} allowed forms: {}", branches.size(), prefix(reasons, k_max_reasons)));
}

void Judge::add(Violation violation) {
  if (violations_.size() < limit_) {
    violations_.push_back(std::move(violation));
  }
}

void Judge::judge_here(const Node& node, const Json& value) {
  if (node.always == false) {
    fail("is not allowed here");
    return;
  }
  if (node.types != 0 && !has_type(value, node.types)) {
    fail(fmt::format("must be {}, is {}", phrase(node.types), phrase(type_of(value))), true);
    return;  // what else it should be is of no use yet
  }
  for (const Check& check : node.checks) {
    check(value, *this);
  }
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace agent::schema

// The model's own list of what is to be done, kept for the length of the run.
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tools {
namespace {

constexpr const char* k_todo_parameters = R"({
  "type": "object",
  "properties": {
    "items": {
      "type": "array",
      "maxItems": 100,
      "description": "The whole list, in place of the old one. Left out, the list is shown as it is.",
      "items": {
        "type": "object",
        "properties": {
          "content": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What is to be done, in one line."},
          "status": {"enum": ["pending", "in_progress", "completed"]}
        },
        "required": ["content", "status"],
        "additionalProperties": false
      }
    }
  },
  "additionalProperties": false
})";

struct Item {
  std::string content;
  std::string status;
};

class Todo final : public Tool {
 public:
  explicit Todo(const agent::ToolSpec& spec)
      : info_{.name = "todo",
              .description =
                  "Keeps a list of the steps of your work, for yourself and for whoever "
                  "watches. Give the whole list each time.",
              .parameters = k_todo_parameters,
              .repeatable = spec.repeatable,
              .is_kept = true} {}

  const agent::ToolInfo& info() const override { return info_; }
  Access access(const agent::Json&) const override { return {.kind = Access::Kind::nothing}; }

  void recall(const agent::Json& arguments) override { take(arguments); }

  Output call(const agent::Json& arguments, const CallContext&) override {
    take(arguments);
    return {.text = text()};
  }

 private:
  void take(const agent::Json& arguments) {
    const std::scoped_lock lock(mutex_);
    if (const agent::Json* items = agent::find(arguments, "items")) {
      items_.clear();
      for (const agent::Json& item : *items) {
        items_.push_back({.content = one_line(agent::text_at(item, "content")),
                          .status = std::string(agent::text_at(item, "status"))});
      }
    }
  }

  std::string text() {
    const std::scoped_lock lock(mutex_);
    if (items_.empty()) {
      return "The list is empty.\n";
    }
    std::string text;
    for (std::size_t at = 0; at < items_.size(); ++at) {
      const auto& [content, status] = items_[at];
      const char mark = status == "completed" ? 'x' : status == "in_progress" ? '>' : ' ';
      text += fmt::format("{}. [{}] {}\n", at + 1, mark, content);
    }
    const auto done = std::ranges::count(items_, "completed", &Item::status);
    return text + fmt::format("{} of {} completed\n", done, items_.size());
  }

  agent::ToolInfo info_;
  std::mutex mutex_;
  std::vector<Item> items_;
};

}  // namespace

std::unique_ptr<Tool> make_todo(const agent::ToolSpec& spec) {
  return std::make_unique<Todo>(spec);
}

}  // namespace tools

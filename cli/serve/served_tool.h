// What is offered to the clients of an MCP server: tools, and what comes of calling one.
#pragma once
#include "agent/cancellation.h"
#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct ServedTool {
  std::string name;  // letters, digits, `_` and `-`; of one server no two have the same
  std::string description;
  agent::Json input_schema;   // of type object
  agent::Json output_schema;  // the same; null: what it says is text
  bool takes_turns = false;   // with all that do: each call after those that came before it
};

// Valid UTF-8, without secrets.
struct ServedResult {
  bool is_error = false;
  std::vector<std::string> texts;
  agent::Json structured;  // fits the output schema; null: there is none
  agent::Json details;     // an object for programs: how a run ended, and its bill; null: nothing
};

// Hears what goes on, in one line for people, without secrets.
using ServedProgress = std::function<void(std::string_view)>;

class ServedTools {
 public:
  virtual ~ServedTools() = default;

  // The same for as long as it lives.
  virtual std::span<const ServedTool> tools() const = 0;

  // Of one of these; `arguments` is an object. Several at once, on any threads. Never fails: what
  // goes wrong is in the result.
  virtual ServedResult call(std::string_view tool,
                            const agent::Json& arguments,
                            agent::Cancellation& cancellation,
                            const ServedProgress& progress) = 0;
};

// Several, as one. Borrowed; no two tools have one name.
class JoinedTools final : public ServedTools {
 public:
  void add(ServedTools& tools) {
    all_.push_back(&tools);
    tools_.insert(tools_.end(), tools.tools().begin(), tools.tools().end());
  }
  std::span<const ServedTool> tools() const override { return tools_; }
  ServedResult call(std::string_view tool,
                    const agent::Json& arguments,
                    agent::Cancellation& cancellation,
                    const ServedProgress& progress) override {
    const auto has_it = [&](const ServedTools* one) {
      return std::ranges::find(one->tools(), tool, &ServedTool::name) != one->tools().end();
    };
    return (*std::ranges::find_if(all_, has_it))->call(tool, arguments, cancellation, progress);
  }

 private:
  std::vector<ServedTools*> all_;
  std::vector<ServedTool> tools_;
};

}  // namespace cli

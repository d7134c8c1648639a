// What a server asks the person while it serves a call, and what it is answered.
#pragma once
#include "agent/json.h"
#include "agent/spec.h"
#include "tools/questioner.h"

#include <nlohmann/json.hpp>

#include <stop_token>
#include <string_view>

namespace tools::mcp {

// A form is asked as a whole, whoever else has questions. Thread-safe.
class Elicitor {
 public:
  // Borrowed; null: nobody is there.
  explicit Elicitor(Questioner* questioner) : questioner_(questioner) {}

  // The result of `elicitation/create`: `accept` with what fits the schema that the server gave,
  // else `decline`, or `cancel` where the person left.
  struct Answer {
    agent::Json result;
    std::string_view unasked = {};  // why it is a no without a person, in a sentence's end
  };
  Answer answer(const agent::McpServerSpec& server,
                const agent::Json& params,
                const std::stop_token& stop);

 private:
  Questioner* questioner_;
};

}  // namespace tools::mcp

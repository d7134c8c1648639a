// One check of `guardrails`: looks at a text and says what it found. What comes of that is
// guardrails.h's.
#pragma once
#include "agent/budget.h"
#include "agent/clock.h"
#include "agent/outcome.h"
#include "agent/provider.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "tools/hooks/user_command.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tools {

// What is looked at. Borrowed.
struct Subject {
  agent::GuardrailSpec::Of of = agent::GuardrailSpec::Of::input;
  std::string_view text;                  // of a call: its arguments as JSON
  const agent::ToolCall* call = nullptr;  // of calls and results
  const agent::Budget* budget = nullptr;  // for a request to a model; null: without limits
};

struct Finding {
  enum class Kind : std::uint8_t { clean, found, broken };
  Kind kind = Kind::clean;
  std::string reason = {};  // what was found, or what broke; never the text itself
  std::optional<std::string> redacted = std::nullopt;  // the text without it, where that is known
  std::optional<agent::GuardrailSpec::Action> at_most = std::nullopt;  // a command asks for less
  std::optional<agent::ModelUse> judge = std::nullopt;
  std::optional<agent::Ending> ending = std::nullopt;  // a limit that keeps it from looking
};

class GuardrailCheck {
 public:
  virtual ~GuardrailCheck() = default;
  virtual Finding look(const Subject& subject, std::stop_token stop) = 0;
};

// A model that judges; borrowed.
struct Judge {
  std::string model;  // PROVIDER/NAME
  agent::Provider* provider = nullptr;
  std::map<std::string, agent::Price> prices = {};  // of the models that may answer, where known
};

// `pattern` and `find`.
std::unique_ptr<GuardrailCheck> make_text_check(const agent::GuardrailSpec& spec,
                                                const agent::Redactor& redactor);
std::unique_ptr<GuardrailCheck> make_command_check(const agent::GuardrailSpec& spec,
                                                   const UserPrograms& programs);
std::unique_ptr<GuardrailCheck> make_judge_check(const agent::GuardrailSpec& spec,
                                                 Judge judge,
                                                 agent::Clock& clock);

// "input", "tool_result"
std::string_view to_string(agent::GuardrailSpec::Of of);

}  // namespace tools

#include "agent/toolbox.h"

#include "agent/sha256.h"
#include "agent/state.h"

#include <algorithm>

namespace agent {

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::once:
      return "once";
    case Answer::run:
      return "run";
    case Answer::tool:
      return "tool";
    case Answer::always:
      return "always";
    case Answer::no:
      return "no";
    case Answer::stop:
      return "stop";
    case Answer::nobody:
      break;
  }
  return "nobody";
}

std::string granted_rule(Answer answer, std::string_view rule) {
  switch (answer) {
    case Answer::run:
    case Answer::always:
      return std::string(rule);
    case Answer::tool:
      return std::string(rule.substr(0, rule.find('(')));
    case Answer::once:
    case Answer::no:
    case Answer::stop:
    case Answer::nobody:
      break;
  }
  return {};
}

std::int64_t bytes_of(const ToolInfo& tool) {
  return static_cast<std::int64_t>(tool.name.size() + tool.description.size() +
                                   tool.parameters.size());
}

std::string definition_sha256(const ToolInfo& tool) {
  std::string said = length_prefixed({tool.name_elsewhere, tool.description, tool.parameters});
  said += tool.results.empty() ? "" : length_prefixed({tool.results});
  return sha256_hex(said);
}

Answer answer_from(std::string_view name) {
  for (int value = 0; value < static_cast<int>(Answer::nobody); ++value) {
    if (to_string(static_cast<Answer>(value)) == name) {
      return static_cast<Answer>(value);
    }
  }
  return Answer::nobody;
}

SubAgentRecord ToolWatcher::sub_agent(std::string_view /*call_id*/) const {
  return {};
}

Error error_of(const Leftover& left) {
  const Code code = left.ends_as.value_or(Code::sandbox_violation);
  return {.code = code,
          .message = left.sentence,
          .help = code == Code::sandbox_violation
                      ? "take it away by hand, before git or errand does what it says"
                      : ""};
}

Error with_leftovers(Error error, std::span<const Leftover> left) {
  const Leftover* const ends = what_ends(left);
  if (ends != nullptr) {
    Error graver = error_of(*ends);
    graver.message += "; " + error.message;
    error = std::move(graver);
  }
  for (const Leftover& one : left) {
    if (&one != ends) {
      error.message += "; " + one.sentence;
    }
  }
  return error;
}

const Leftover* what_ends(std::span<const Leftover> left) {
  const auto violation =
      std::ranges::find(left, std::optional(Code::sandbox_violation), &Leftover::ends_as);
  const auto first =
      violation != left.end()
          ? violation
          : std::ranges::find_if(left, [](const Leftover& one) { return one.ends_as.has_value(); });
  return first != left.end() ? &*first : nullptr;
}

}  // namespace agent

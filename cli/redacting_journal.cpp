#include "cli/redacting_journal.h"

#include "cli/answer_sink.h"

#include <nlohmann/json.hpp>

namespace cli {

agent::Result<void> RedactingJournal::append(const agent::Event& event) {
  const agent::Json json = agent::to_json(event);
  const std::string line = agent::dump(json);
  if (redactor_.is_clean(line)) {
    return journal_.append(event);
  }
  constexpr int k_any_depth = 1000;  // the event's own nesting is on top of what was parsed once
  const auto clean = agent::parse_json(redacted_line(json, redactor_), k_any_depth);
  if (!clean) {
    return agent::fail(agent::Code::internal, "a redacted event is no JSON");
  }
  TRY_ASSIGN(const agent::Event redacted, agent::event_from_json(*clean));
  return journal_.append(redacted);
}

}  // namespace cli

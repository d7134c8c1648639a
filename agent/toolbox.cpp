#include "agent/toolbox.h"

namespace agent {

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::once:
      return "once";
    case Answer::run:
      return "run";
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

Answer answer_from(std::string_view name) {
  for (int value = 0; value < static_cast<int>(Answer::nobody); ++value) {
    if (to_string(static_cast<Answer>(value)) == name) {
      return static_cast<Answer>(value);
    }
  }
  return Answer::nobody;
}

}  // namespace agent

#include "cli/serve/call_progress.h"

#include "agent/text.h"

namespace cli {

void CallProgress::say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  is_news_ = true;
  send(line);
}

void CallProgress::give_sign(bool is_running) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_news_, false)) {
    send(is_running ? "is at work" : "waits for other calls");
  }
}

void CallProgress::send(std::string_view line) {
  if (!call_.progress_token.is_null()) {
    send_(progress_message(call_, ++count_, redactor_.apply(agent::one_line(line))));
  }
}

}  // namespace cli

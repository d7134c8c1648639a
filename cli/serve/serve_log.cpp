#include "cli/serve/serve_log.h"

#include "agent/descriptor.h"
#include "agent/text.h"
#include "cli/terminal/render_error.h"

#include <climits>

#include <poll.h>

namespace cli {
namespace {

constexpr std::size_t k_most_sentences = 1'000;  // that are remembered

// For as many bytes as a pipe takes in one piece.
bool takes_a_piece(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & POLLOUT) != 0;
}

}  // namespace

void ServeLog::say(std::string_view line, int verbosity) {
  if (options_.verbosity >= verbosity) {
    const std::lock_guard lock(mutex_);
    write(redactor_.apply(agent::one_line(line)));
  }
}

void ServeLog::warn(const agent::Warning& warning) {
  if (options_.verbosity < 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (warned_.size() < k_most_sentences && warned_.insert(warning.message).second) {
    write(render_warning(
        {.message = warning.message, .help = warning.help}, options_.color, redactor_));
  }
}

void ServeLog::write(std::string_view text) {
  if (takes_a_piece(options_.descriptor)) {
    const std::string piece = std::string(agent::prefix(text, PIPE_BUF - 1)) + '\n';
    agent::write_all(options_.descriptor, piece);
  }
}

}  // namespace cli

// What a server says of itself on stderr: a line at a time, from any thread, and never at the
// expense of who serves. Lines that nobody reads are lost.
#pragma once
#include "agent/error.h"
#include "agent/event.h"
#include "agent/secrets/redact.h"

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>

namespace cli {

class ServeLog {
 public:
  struct Options {
    int descriptor = STDERR_FILENO;
    int verbosity = 0;  // -1: errors alone; 0: failures and warnings; 1: every call
    bool color = false;
  };

  // Borrows the redactor.
  ServeLog(Options options, const agent::Redactor& redactor)
      : options_(options), redactor_(redactor) {}

  void say(std::string_view line, int verbosity = 0);
  // Each sentence once.
  void warn(const agent::Warning& warning);

 private:
  void write(std::string_view text);

  const Options options_;
  const agent::Redactor& redactor_;
  std::mutex mutex_;  // of what follows, and of the descriptor
  std::set<std::string> warned_;
};

}  // namespace cli

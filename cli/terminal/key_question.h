// Asks the person at the terminal whether a value of the environment may go to a server.
#pragma once
#include "agent/secrets/redact.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace cli {

struct KeyQuestion {
  std::string variable;
  std::string origin;  // scheme, host and port, or `*`
  std::string server;  // the same in a sentence
  std::string file;    // that asks for it
  bool is_of_program = false;
};

enum class KeyAnswer : std::uint8_t { no, once, always, nobody };

// `always` is offered where `may_keep`. nobody: `stop`, or five minutes without an answer.
KeyAnswer ask_for_key(const KeyQuestion& question,
                      bool may_keep,
                      bool color,
                      const agent::Redactor& redactor,
                      const std::stop_token& stop);

// Puts it into the user's settings, and says so; where that cannot be, says what to add by hand.
void keep_key_host(const KeyQuestion& question,
                   const std::filesystem::path& user_config,
                   const agent::Redactor& redactor);

}  // namespace cli

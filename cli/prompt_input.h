// Where the prompt comes from: the command line, a file, or standard input.
#pragma once
#include "agent/result.h"

#include <chrono>
#include <optional>
#include <span>
#include <string>

namespace cli {

struct PromptSources {
  std::span<const std::string> words;  // of the command line; a lone `-` stands for stdin
  std::optional<std::string> file;     // --prompt-file; `-` is stdin
  bool agent_has_prompt = false;       // then stdin is read only where it is asked for
  int stdin_descriptor = 0;
  std::chrono::milliseconds first_byte{30'000};  // no byte within that time is cli.no_input
};

// The prompt from outside, or nullopt where the agent's own is to be used. cli.no_input where a
// source is empty, missing, a terminal, or silent.
agent::Result<std::optional<std::string>> read_prompt(const PromptSources& sources);

// Whether read_prompt reads standard input for these.
bool reads_stdin(const PromptSources& sources);

// Whether bytes lie ready in a pipe. Reads nothing of it, and waits for nothing.
bool holds_bytes(int pipe);

}  // namespace cli

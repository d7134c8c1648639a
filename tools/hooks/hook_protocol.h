// What a hook's command reads on stdin, and what its answer means.
#pragma once
#include "agent/clock.h"
#include "agent/interceptor.h"
#include "agent/result.h"
#include "tools/hooks/hook_dialect.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tools {

struct HookWorld {
  std::string run_id;
  std::string model;          // of the run
  std::filesystem::path cwd;  // absolute
  bool is_carried_on = false;
};

// One JSON object.
std::string hook_input(const HookDialect& dialect,
                       const agent::HookContext& hook_context,
                       const HookWorld& world,
                       agent::Clock::Wall now);

struct HookAnswer {
  enum class Decision : std::uint8_t { none, allow, ask, deny };

  bool stops = false;  // the whole run
  Decision decision = Decision::none;
  std::string reason;                    // of either
  std::optional<std::string> arguments;  // in place of the call's, as JSON, in errand's words
  std::optional<std::string> output;     // in place of the result's content
  std::string context;                   // for the model
  std::string message;                   // for the user
};

// Of a command that ran to its end; `counts`: what it says decides something. hook.failed: another
// exit status than 0 and 2, an answer that is not one JSON object although it looks like some, a
// member that has another type than it has to, and, where it counts, one that nobody knows.
agent::Result<HookAnswer> read_hook_answer(const HookDialect& dialect,
                                           const agent::HookContext& hook_context,
                                           int exit_status,
                                           std::string_view output,
                                           std::string_view errors,
                                           bool counts);

}  // namespace tools

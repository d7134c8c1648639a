// Commands outside of the sandbox, as hooks, guardrails and MCP servers may be: whatever they run
// or read by what their lines say, tools must not be able to write.
#pragma once
#include "agent/environment.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "tools/hooks/script_files.h"
#include "tools/hooks/user_command.h"
#include "tools/process/sandbox.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

// What comes back of what is written there; null: nobody is kept from anything, false.
bool can_write(const tools::Sandbox* sandbox, const std::filesystem::path& path);

// Whether such a command starts in a folder of the run's own, in which nothing is, and not in
// `directory`, the agent file's.
bool starts_elsewhere(const std::filesystem::path& directory, const tools::Sandbox& rules);

// The first program of the line that looks for something in the folder where it starts, unless it
// is told another one; empty: none.
std::string reader_of_its_folder(const std::string& line);

// What such a command is told; borrows `rules`, those of the tools (null: there are none).
tools::UserPrograms programs_outside(const agent::AgentSpec& agent,
                                     const Context& context,
                                     const tools::Sandbox* rules);

// Where such a command finds what it names, by what it is told; `own`: its `env`.
tools::CommandPlace place_outside(const agent::AgentSpec& agent,
                                  const agent::Environment& own,
                                  const Context& context,
                                  const tools::Sandbox* rules);

// Who says of a program by its bare name that it does not run what it reads.
enum class BareNames : bool { are_the_users, are_known };

// config.invalid where it names what tools can write or a folder that holds such, runs it behind a
// name, a link or an interpreter, or where not all can be told; and the same of what the `#!` of
// its scripts makes of it. `way_in`: what else may be done, for the help.
agent::Result<void> check_outside(const std::string& line,
                                  tools::CommandPlace place,
                                  const tools::Sandbox& rules,
                                  BareNames names,
                                  std::string_view way_in);

// What a program of the line loads where tools can write, without being told to: Python modules
// from beside its script, make a makefile. nullopt: none does. `what`: "the hook `make`".
std::optional<agent::Warning> unasked_for(std::string_view what,
                                          const std::string& line,
                                          const std::filesystem::path& directory,
                                          const tools::Sandbox* rules);

}  // namespace cli

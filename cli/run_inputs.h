// Files that a run reads because its command line or its model names them.
#pragma once
#include "agent/result.h"
#include "cli/agent_choice.h"
#include "cli/parse.h"
#include "cli/plan.h"

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cli {

struct RunInput {
  std::string what;  // "the prompt file"
  std::filesystem::path file;
};

// By the options --prompt-file and --replay, and the inputs of a batch.
std::vector<RunInput> inputs_of(const Parsed& parsed);
// The scripts of the models and judges that replay one.
std::vector<RunInput> scripts_of(const Plan& plan);

// What those of a whole are called that a script can have replies for, at whatever depth: members
// that ask a model themselves. `is_flow`: whether the step of that number is a flow.
using MemberNames = std::set<std::string, std::less<>>;
void add_names_of_members(const agent::AgentSpec& agent,
                          const std::function<bool(std::size_t step)>& is_flow,
                          MemberNames& names);

// config.invalid where a script has replies for a member, and none is called so, and where one
// cannot be read.
agent::Result<void> check_members_of_scripts(const std::set<std::filesystem::path>& scripts,
                                             const MemberNames& names);
// Of a plan with members.
agent::Result<void> check_members_of_scripts(const Plan& plan);

// cli.usage where an output of the command line is one of these, or the agent file.
agent::Result<void> check_inputs(const Parsed& parsed, const AgentChoice& agent);
// The same of scripts and of files of `context`.
agent::Result<void> check_inputs(const Parsed& parsed, const Plan& plan);

// What tools may not change of it: it decides what this run does, or the same command does again.
// Absolute paths. Files of `context` are the work's.
std::vector<std::filesystem::path> obeyed_inputs(const Parsed& parsed, const Plan& plan);

}  // namespace cli

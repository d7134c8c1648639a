// The built-in tools: the whole list, one row each. A new one is a file and a row.
#pragma once
#include "agent/spec.h"
#include "tools/tool.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct Builtin {
  std::string_view name;
  std::string_view help;  // one line for `errand tools list`
  std::unique_ptr<Tool> (*make)(const agent::ToolSpec& spec);
  std::string (*shown)(const agent::Json& arguments);  // what a person is shown of a call
  bool runs_programs = false;      // timeout and idle_timeout are its own business
  bool writes_files = false;       // itself
  bool is_from_outside = false;    // its results are somebody else's words
  bool is_of_a_run = false;        // without one it comes to nothing
  bool uses_repository = false;    // git works in the repository for it
  agent::Milliseconds timeout{0};  // of a call where the agent says none; 0: none
};

constexpr std::string_view k_result_reader = "read_result";

std::span<const Builtin> builtins();  // sorted by name
std::vector<std::string> builtin_names();
std::vector<std::string> program_tools();  // those that run programs
std::vector<std::string> web_tools();      // those whose results come from outside

bool writes_files(std::string_view tool);  // itself, as a built-in of that name

// Whether the tool starts programs, or changes files by itself; a command as a tool does both.
bool runs_programs(const agent::ToolSpec& tool);
// Of the agent's tools one does, or of a flow's steps one is a command.
bool runs_programs(const agent::AgentSpec& agent);
bool writes(const agent::ToolSpec& tool);
bool uses_repository(const agent::ToolSpec& tool);
bool is_of_a_run(const agent::ToolSpec& tool);

// The tool of that name with the spec's settings; nullptr where there is none.
std::unique_ptr<Tool> make_builtin(const agent::ToolSpec& spec);

}  // namespace tools

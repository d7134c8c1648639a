// The names that an agent file may use, out of the tables of the other folders, and those that it
// gives away.
#pragma once
#include "agent/spec.h"
#include "config/load.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cli {

config::KnownNames known_names();

// Of all tools that errand has, and the agent's own; those of MCP servers are known when they run.
std::set<std::string> names_of_tools(const agent::AgentSpec& agent);

// The same of the agent or flow in this file and of all agents that work for it or in it, and how
// the names of their MCP servers' tools begin, as "mcp__docs__"; empty where the file cannot be
// read.
std::set<std::string> names_of_tools_of_all(const std::filesystem::path& file,
                                            const agent::Environment& environment);

// The variables that hold a model's key, of this agent and of all presets: no tool inherits them.
std::vector<std::string> key_variables_of(const agent::AgentSpec& agent,
                                          const agent::Environment& environment);

// Of a file that is refused: models whose provider nobody knows are among its mistakes, too.
void add_unknown_providers(config::Report& report, const agent::Environment& environment);

}  // namespace cli

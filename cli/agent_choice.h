// Which agent a command line means, and which of its words are the prompt.
#pragma once
#include "agent/result.h"
#include "cli/parse.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

struct AgentChoice {
  std::string file;
  bool is_named = true;             // else it is the folder's
  std::vector<std::string> prompt;  // words, `-` among them
};

// The agent files of the folder that need no path: agent.yaml and the like.
std::vector<std::string> agents_of_folder(const std::filesystem::path& folder);
// These, and the other files right in the folder that look like agents: which is not to say that
// they can be loaded.
std::vector<std::string> agents_right_in(const std::filesystem::path& folder);

// The one agent file of the folder that needs no name. cli.no_input where there is none, cli.usage
// where there are several.
agent::Result<std::string> agent_of_folder(const std::filesystem::path& folder);

// Of the words of `errand run`, the first is the agent where it is a path: one word with a slash or
// an ending of agent files, or a text with blanks that begins like a path or as a whole names such
// a file. Else it belongs to the prompt of the folder's agent. cli.usage where both may be meant:
// what is there has its very name. With --prompt or --prompt-file it is the agent.
agent::Result<AgentChoice> choose_agent(const Parsed& parsed, const std::filesystem::path& folder);

}  // namespace cli

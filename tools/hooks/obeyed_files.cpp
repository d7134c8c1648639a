#include "tools/hooks/obeyed_files.h"

#include "tools/hooks/hooks.h"
#include "tools/hooks/script_files.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace tools {

namespace fs = std::filesystem;

std::vector<fs::path> obeyed_files(const agent::AgentSpec& agent, const fs::path& cwd) {
  std::vector<fs::path> files;
  if (!agent.file.empty()) {
    files.push_back(fs::path(agent.directory) / fs::path(agent.file).filename());
  }
  for (const agent::ToolSpec& tool : agent.tools) {
    for (const std::string& word : tool.command) {
      if (word.starts_with('/')) {
        files.emplace_back(word);
      }
    }
  }
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    std::ranges::move(script_files(hook_command(agent.hooks, hook, cwd), agent.directory),
                      std::back_inserter(files));
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      std::ranges::move(script_files(check.what, agent.directory), std::back_inserter(files));
    }
  }
  return files;
}

}  // namespace tools

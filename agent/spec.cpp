#include "agent/spec.h"

#include "agent/tool_name.h"

#include <array>
#include <filesystem>
#include <system_error>

namespace agent {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> k_modes = {"read_only", "workspace_write", "off"};

}  // namespace

std::string_view to_string(SandboxSpec::Mode mode) {
  return k_modes[static_cast<std::size_t>(mode)];
}

std::optional<SandboxSpec::Mode> sandbox_mode_from(std::string_view word) {
  for (std::size_t index = 0; index < k_modes.size(); ++index) {
    if (k_modes[index] == word) {
      return static_cast<SandboxSpec::Mode>(index);
    }
  }
  return std::nullopt;
}

std::string McpServerSpec::tool_prefix() const {
  return "mcp__" + cleaned_tool_name(name) + "__";
}

std::string tool_lock_file(const AgentSpec& agent) {
  if (agent.file.empty()) {
    return {};
  }
  const fs::path named = fs::path(agent.directory) / fs::path(agent.file).filename();
  std::string beside_name = named.string().append(k_tool_lock_suffix);
  std::error_code error;
  if (!fs::is_symlink(named, error) || fs::exists(fs::symlink_status(beside_name, error))) {
    return beside_name;
  }
  const fs::path leads_to = fs::canonical(named, error);
  return error ? beside_name : leads_to.string().append(k_tool_lock_suffix);
}

}  // namespace agent

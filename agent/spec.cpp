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

fs::path file_of(const AgentSpec& agent) {
  return fs::path(agent.directory) / fs::path(agent.file).filename();
}

std::string name_in_whole(const fs::path& file) {
  const std::string name = file.filename().string();
  std::error_code ignored;
  for (std::size_t mark = name.find('#', 1); mark < name.size(); mark = name.find('#', mark + 1)) {
    if (fs::is_regular_file(file.parent_path() / name.substr(0, mark), ignored)) {
      return name.substr(mark);
    }
  }
  return {};
}

fs::path file_of_whole(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.parent_path() / name.substr(0, name.size() - name_in_whole(file).size());
}

std::string tool_lock_file(const AgentSpec& agent) {
  return agent.file.empty() ? std::string() : tool_lock_file(file_of(agent));
}

std::string tool_lock_file(const fs::path& named) {
  const fs::path whole = file_of_whole(named);
  const std::string ending = name_in_whole(named).append(k_tool_lock_suffix);
  std::string beside_name = whole.string() + ending;
  std::error_code error;
  if (!fs::is_symlink(whole, error) || fs::exists(fs::symlink_status(beside_name, error))) {
    return beside_name;
  }
  const fs::path leads_to = fs::canonical(whole, error);
  return error ? beside_name : leads_to.string() + ending;
}

}  // namespace agent

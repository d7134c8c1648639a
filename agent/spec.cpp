#include "agent/spec.h"

#include <array>

namespace agent {
namespace {

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

}  // namespace agent

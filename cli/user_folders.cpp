#include "cli/user_folders.h"

#include <string_view>

namespace cli {
namespace {

// A variable that holds no absolute path does not count: XDG says so.
std::filesystem::path folder(const agent::Environment& environment,
                             std::string_view variable,
                             std::string_view below_home) {
  if (const auto found = environment.find(variable);
      found != environment.end() && found->second.starts_with('/')) {
    return std::filesystem::path(found->second) / "errand";
  }
  const auto home = environment.find("HOME");
  return home == environment.end() || home->second.empty()
             ? std::filesystem::path{}
             : std::filesystem::path(home->second) / below_home / "errand";
}

}  // namespace

std::filesystem::path config_folder(const agent::Environment& environment) {
  return folder(environment, "XDG_CONFIG_HOME", ".config");
}

std::filesystem::path data_folder(const agent::Environment& environment) {
  return folder(environment, "XDG_DATA_HOME", ".local/share");
}

std::filesystem::path state_folder(const agent::Environment& environment) {
  return folder(environment, "XDG_STATE_HOME", ".local/state");
}

}  // namespace cli

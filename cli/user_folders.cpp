#include "cli/user_folders.h"

#include <string_view>

namespace cli {
namespace {

// A variable that holds no absolute path does not count: XDG says so.
std::filesystem::path folder(const agent::Environment& environment,
                             std::string_view variable,
                             std::string_view below_home) {
  if (const auto named = agent::value_of(environment, variable); named.starts_with('/')) {
    return std::filesystem::path(named) / "errand";
  }
  const auto home = agent::value_of(environment, "HOME");
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / below_home / "errand";
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

std::filesystem::path pictures_folder(const agent::Environment& environment) {
  const std::filesystem::path state = state_folder(environment);
  return state.is_absolute() ? state / "at-work" : std::filesystem::path();
}

std::filesystem::path default_journal(const agent::Environment& environment) {
  const std::filesystem::path state = state_folder(environment);
  return state.is_absolute() ? state / "journal.db" : std::filesystem::path();
}

}  // namespace cli

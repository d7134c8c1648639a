#include "cli/settings.h"

#include "agent/result.h"
#include "cli/known_names.h"
#include "cli/user_folders.h"

#include <utility>

namespace cli {

std::expected<UserSettings, std::vector<agent::Error>> load_user_settings(
    const agent::Environment& environment) {
  UserSettings settings;
  if (const auto folder = config_folder(environment); !folder.empty()) {
    settings.file = folder / "config.yaml";
    TRY_ASSIGN(settings.config, config::load_user_config(settings.file, known_names()));
  }
  return settings;
}

std::expected<Settings, std::vector<agent::Error>> load_settings(
    const agent::Environment& environment, const std::filesystem::path& folder) {
  Settings settings;
  TRY_ASSIGN(settings.user, load_user_settings(environment));
  TRY_ASSIGN(settings.project, config::load_project_config(folder, known_names()));
  return settings;
}

}  // namespace cli

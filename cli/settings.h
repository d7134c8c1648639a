// What holds for every agent: the user's config.yaml, and that of the project that errand works in.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "config/project_config.h"
#include "config/user_config.h"

#include <expected>
#include <filesystem>
#include <vector>

namespace cli {

struct UserSettings {
  std::filesystem::path file;  // config.yaml, there or not; empty where there is no home
  config::UserConfig config;
};

struct Settings {
  UserSettings user;
  config::ProjectConfig project;
};

// Every mistake in the file.
std::expected<UserSettings, std::vector<agent::Error>> load_user_settings(
    const agent::Environment& environment);

// The same of both; the user's come first. `folder` is where errand works.
std::expected<Settings, std::vector<agent::Error>> load_settings(
    const agent::Environment& environment, const std::filesystem::path& folder);

}  // namespace cli

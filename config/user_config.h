// The user's own settings, $XDG_CONFIG_HOME/errand/config.yaml: what holds for every agent. As
// strict as agent files.
#pragma once
#include "agent/error.h"
#include "agent/price.h"
#include "config/keys.h"

#include <expected>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct UserConfig {
  std::map<std::string, agent::Price, std::less<>> prices;  // by PROVIDER/MODEL
};

// Its keys, in the order of the man page.
std::span<const Key> user_keys();

using UserConfigResult = std::expected<UserConfig, std::vector<agent::Error>>;
UserConfigResult parse_user_config(std::string_view text, const std::string& shown_file);
// A file that does not exist is an empty one. Never throws.
UserConfigResult load_user_config(const std::filesystem::path& file);

}  // namespace config

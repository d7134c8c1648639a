// The user's own settings, $XDG_CONFIG_HOME/errand/config.yaml: what holds for every agent. As
// strict as agent files.
#pragma once
#include "agent/error.h"
#include "agent/price.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "config/keys.h"
#include "config/load.h"

#include <expected>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// A server that the value of a variable may go to.
struct KeyHost {
  std::string variable;
  std::string url;  // scheme, host and port
  agent::Where where;
};

struct UserConfig {
  std::map<std::string, agent::Price, std::less<>> prices;  // by PROVIDER/MODEL
  agent::PermissionSpec permissions;                        // without a standard
  std::vector<KeyHost> key_hosts;
};

// Its keys, in the order of the man page.
std::span<const Key> user_keys();

using UserConfigResult = std::expected<UserConfig, std::vector<agent::Error>>;
UserConfigResult parse_user_config(std::string_view text,
                                   const std::string& shown_file,
                                   const KnownNames& known = {});
// A file that does not exist is an empty one. Never throws.
UserConfigResult load_user_config(const std::filesystem::path& file, const KnownNames& known = {});

// The text of such a file with one more rule in `permissions.allow`; all else in it stays as it is.
// config.invalid where the text is none that can be added to.
agent::Result<std::string> with_allowed(const std::string& text, const std::string& rule);
// The same with one more address in `key_hosts` for the variable.
agent::Result<std::string> with_key_host(const std::string& text,
                                         const std::string& variable,
                                         const std::string& url);

}  // namespace config

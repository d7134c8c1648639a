// Files of settings: YAML as strict as agent files, without variables in it.
#pragma once
#include "agent/error.h"
#include "config/keys.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

constexpr std::size_t k_largest_settings_file = 1'048'576;  // bytes

using BuildSettings = std::function<void(const Value& root, Problems& problems)>;

// Checks the text against `keys` and hands its tree to `build`; not called where the text says
// nothing. The mistakes of both.
std::vector<agent::Error> read_settings(std::string_view text,
                                        const std::string& shown_file,
                                        std::span<const Key> keys,
                                        const BuildSettings& build);
// A file of a name that is absent says nothing. Never throws.
std::vector<agent::Error> read_settings_file(const std::filesystem::path& file,
                                             std::span<const Key> keys,
                                             const BuildSettings& build);

}  // namespace config

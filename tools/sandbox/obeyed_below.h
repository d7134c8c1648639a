// What git and errand would obey anywhere below folders that programs may write.
#pragma once
#include "tools/sandbox/sight.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tools::sandbox {

struct ObeyedPlace {
  enum class Kind : std::uint8_t { own_name, repository, file };
  // Another one than before is another file or folder, even where it has the number of an old one.
  struct Identity {
    std::pair<std::uint32_t, std::uint32_t> device;
    std::uint64_t number = 0;
    std::optional<std::pair<std::int64_t, std::uint32_t>> birth;  // where the file system says
    bool operator==(const Identity&) const = default;
  };
  std::filesystem::path path;  // of a repository without a name: the folder itself
  Kind kind = Kind::own_name;
  Identity identity = {};
};

ObeyedPlace::Identity identity_of(const std::filesystem::path& path, Sight& sight);
// To keep it. nlohmann::json::exception where it is none.
nlohmann::json kept_identity(const ObeyedPlace::Identity& identity);
ObeyedPlace::Identity identity_from(const nlohmann::json& kept);

// Where it stands now; empty: as it was.
using FoundObeyed = std::function<std::filesystem::path(const ObeyedPlace&)>;

// Calls `found` for each, which may give it another name in its folder: then what is in it is
// looked at, too. Links are not followed, and nothing in `.git` and `.errand` is told of. A folder
// that refuses its owner is opened for the look and shut again. False where it did not see
// everything that programs may have made: too many files, too deep, a folder that could not be
// opened.
bool find_obeyed_below(const std::vector<std::filesystem::path>& roots,
                       const FoundObeyed& found,
                       Sight& sight);

}  // namespace tools::sandbox

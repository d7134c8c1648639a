// Whether there is nothing of a name: who looks for a file that may be missing asks this, and opens
// all that is not absent.
#pragma once
#include <filesystem>

namespace agent {

// Only where the name is in no folder, or the folder itself is absent. A link that leads nowhere is
// there, and so is what cannot be looked at.
bool is_absent(const std::filesystem::path& name);

}  // namespace agent

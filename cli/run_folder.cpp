#include "cli/run_folder.h"

#include <system_error>

namespace cli {

RunFolder::RunFolder(const agent::Environment& environment, const std::string& run_id) {
  const auto named = agent::value_of(environment, "TMPDIR");
  path_ = std::filesystem::path(named.starts_with('/') ? named : "/tmp") / ("errand-" + run_id);
}

RunFolder::~RunFolder() {
  if (!is_kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace cli

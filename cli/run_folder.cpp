#include "cli/run_folder.h"

#include "tools/process/sandbox.h"

#include <system_error>

namespace cli {

RunFolder::RunFolder(const agent::Environment& environment, const std::string& run_id) {
  const auto named = agent::value_of(environment, "TMPDIR");
  path_ = std::filesystem::path(named.starts_with('/') ? named : "/tmp") / ("errand-" + run_id);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(is_kept_ ? tools::programs_temporary(path_) : path_, ignored);
  std::filesystem::remove(path_, ignored);  // where nothing is in it
}

}  // namespace cli

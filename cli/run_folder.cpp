#include "cli/run_folder.h"

#include <system_error>

namespace cli {

RunFolder::RunFolder(const agent::Environment& environment, const std::string& run_id) {
  const auto found = environment.find("TMPDIR");
  const bool is_set = found != environment.end() && found->second.starts_with('/');
  path_ = std::filesystem::path(is_set ? found->second : "/tmp") / ("errand-" + run_id);
}

RunFolder::~RunFolder() {
  if (!is_kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace cli

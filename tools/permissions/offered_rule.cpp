#include "tools/permissions/offered_rule.h"

#include "tools/permissions/path_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tools {

std::span<const std::string_view> file_tools() {
  static constexpr auto k_tools = std::to_array<std::string_view>({"apply_patch",
                                                                   "edit_file",
                                                                   "git_commit",
                                                                   "git_switch",
                                                                   "glob",
                                                                   "grep",
                                                                   "list_directory",
                                                                   "read_file",
                                                                   "write_file"});
  return k_tools;
}

std::string lasting_rule(std::string_view rule, const std::filesystem::path& cwd) {
  const std::size_t open = std::min(rule.find('('), rule.size());
  std::string_view pattern = rule.substr(std::min(open + 1, rule.size()));
  const bool is_of_files =
      std::ranges::find(file_tools(), rule.substr(0, open)) != file_tools().end();
  if (!is_of_files || pattern.empty() || pattern.starts_with('/') || pattern.starts_with("~/")) {
    return std::string(rule);
  }
  pattern.remove_prefix(pattern.starts_with("./") ? 2 : 0);
  const std::string folder = literal_path(true_path(cwd));
  return fmt::format("{}({}{}{}", rule.substr(0, open), folder, folder == "/" ? "" : "/", pattern);
}

}  // namespace tools

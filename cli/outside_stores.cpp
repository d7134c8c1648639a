#include "cli/outside_stores.h"

#include "cli/outside_commands.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/sandbox/policy.h"
#include "tools/sandbox/way.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace cli {
namespace {

namespace fs = std::filesystem;

struct Keeper {
  std::string_view program;
  std::string_view folder;  // below the home folder
};
constexpr auto k_keepers = std::to_array<Keeper>({
    {"bazel", ".cache/bazelisk"},
    {"bazelisk", ".cache/bazelisk"},
    {"bun", ".bun"},
    {"bunx", ".bun"},
    {"cargo", ".cargo"},
    {"cargo", ".rustup"},
    {"corepack", ".cache/node"},
    {"coursier", ".cache/coursier"},
    {"cs", ".cache/coursier"},
    {"deno", ".cache/deno"},
    {"deno", ".deno"},
    {"dnx", ".nuget"},
    {"dotnet", ".dotnet"},
    {"dotnet", ".nuget"},
    {"gem", ".gem"},
    {"gem", ".local/share/gem"},
    {"go", ".cache/go-build"},
    {"go", "go"},
    {"jbang", ".jbang"},
    {"mise", ".local/share/mise"},
    {"npm", ".npm"},
    {"npx", ".npm"},
    {"pipx", ".cache/pipx"},
    {"pipx", ".local/pipx"},
    {"pipx", ".local/share/pipx"},
    {"pnpm", ".cache/node"},
    {"pnpm", ".cache/pnpm"},
    {"pnpm", ".local/share/pnpm"},
    {"pnpx", ".cache/node"},
    {"pnpx", ".cache/pnpm"},
    {"pre-commit", ".cache/pre-commit"},
    {"uv", ".cache/uv"},
    {"uv", ".local/share/uv"},
    {"uvx", ".cache/uv"},
    {"uvx", ".local/share/uv"},
    {"yarn", ".cache/node"},
    {"yarn", ".cache/yarn"},
    {"yarn", ".yarn"},
});

constexpr int k_levels = 3;  // of a store, in which links are looked for: all of it may be much

// In its place, where a link on the way leads, or below that.
bool leads_to_written(const fs::path& path, const tools::Sandbox& rules) {
  const auto way = tools::sandbox::way_to(path);
  return std::ranges::any_of(tools::sandbox::deciding_on(way),
                             [&](const fs::path& point) { return can_write(&rules, point); }) ||
         rules.policy().writes_below(way.back().path);
}

bool has_links_to_written(const fs::path& store, const tools::Sandbox& rules) {
  std::error_code error;
  fs::recursive_directory_iterator entry(
      store, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() + 1 == k_levels) {
      entry.disable_recursion_pending();
    }
    std::error_code none;
    if (entry->is_symlink(none) && leads_to_written(entry->path(), rules)) {
      return true;
    }
  }
  return false;
}

bool is_written(const fs::path& store, const tools::Sandbox& rules) {
  return leads_to_written(store, rules) || has_links_to_written(store, rules);
}

}  // namespace

fs::path written_store(const std::string& line,
                       const tools::CommandPlace& place,
                       const tools::Sandbox& rules) {
  const tools::CommandLine read(line, {});
  for (const tools::ShellCommand* one : read.commands()) {
    for (const std::string& word : one->words) {
      for (const Keeper& keeper : k_keepers) {
        const fs::path folder = place.home / keeper.folder;
        if (!place.home.empty() && tools::base_name(word) == keeper.program &&
            is_written(folder, rules)) {
          return folder;
        }
      }
    }
  }
  return {};
}

}  // namespace cli

#include "tools/process/module_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr auto k_of_node =
    std::to_array<std::string_view>({"bun", "deno", "node", "nodejs", "ts-node", "tsx"});
constexpr int k_first_python = 8;  // 3.8
constexpr int k_last_python = 16;

// `X`, as a package's `__init__` and `__main__` too: its source, and what is compiled in its place.
void add_python(const fs::path& folder, const std::string& name, std::vector<fs::path>& files) {
  for (const std::string_view suffix : {".py", ".pyc", ".so", ".abi3.so"}) {
    files.push_back(folder / (name + std::string(suffix)));
  }
  for (int version = k_first_python; version <= k_last_python; ++version) {
    files.push_back(folder / fmt::format("{}.cpython-3{}-x86_64-linux-gnu.so", name, version));
  }
}

// `a.b.c`: each package on the way, too.
void add_module(const fs::path& folder, std::string_view module, std::vector<fs::path>& files) {
  fs::path at = folder;
  while (!module.empty()) {
    const std::string name(module.substr(0, module.find('.')));
    module.remove_prefix(std::min(name.size() + 1, module.size()));
    if (name.empty() || name.contains('/')) {
      return;
    }
    add_python(at, name, files);
    at /= name;
    add_python(at, "__init__", files);
  }
  add_python(at, "__main__", files);
}

// Python begins with the folder where it starts, unless `-I` or `-P` keeps it from that.
void add_of_python(std::span<const std::string> words,
                   const fs::path& folder,
                   std::vector<fs::path>& files) {
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (!word.starts_with('-')) {
      std::error_code error;
      if (fs::is_directory(folder / word, error)) {
        add_python(folder / word, "__main__", files);
      }
      return;
    }
    const std::size_t m = word.starts_with("--") ? std::string_view::npos : word.find('m', 1);
    if (m == std::string_view::npos && word.find_first_of("IP", 1) == std::string_view::npos) {
      continue;
    }
    if (m == std::string_view::npos) {
      return;
    }
    const std::string_view rest = word.substr(m + 1);
    const bool is_alone = word.substr(1, m - 1).find_first_of("IP") != std::string_view::npos;
    const std::string_view module = !rest.empty()           ? rest
                                    : at + 1 < words.size() ? words[at + 1]
                                                            : std::string_view();
    if (!is_alone) {
      add_module(folder, module, files);
    }
    return;
  }
}

// The first one that is there counts; `package.json` may name any other.
void add_of_node(std::span<const std::string> words,
                 const fs::path& folder,
                 std::vector<fs::path>& files) {
  constexpr auto k_suffixes = std::to_array<std::string_view>(
      {"", ".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"});
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    std::error_code error;
    if (word.starts_with('-') || fs::is_regular_file(folder / word, error)) {
      continue;
    }
    for (const std::string_view suffix : k_suffixes) {
      if (!(suffix.empty() && fs::is_directory(folder / word, error))) {
        files.push_back(folder / (std::string(word) + std::string(suffix)));
      }
      files.push_back(folder / word / ("index" + std::string(suffix)));
    }
    files.push_back(folder / word / "package.json");
  }
}

}  // namespace

std::vector<fs::path> module_files(std::span<const std::string> words, const fs::path& folder) {
  std::vector<fs::path> files;
  const std::string program = fs::path(words.front()).filename();
  if (program.starts_with("python") || program.starts_with("pypy")) {
    add_of_python(words, folder, files);
  } else if (std::ranges::find(k_of_node, program) != k_of_node.end()) {
    add_of_node(words, folder, files);
  }
  for (fs::path& file : files) {
    file = file.lexically_normal();
  }
  return files;
}

void keep_no_modules(const std::vector<fs::path>& modules, agent::Environment& environment) {
  std::error_code error;
  if (std::ranges::any_of(modules, [&](const fs::path& file) { return fs::exists(file, error); })) {
    environment.insert_or_assign("PYTHONPYCACHEPREFIX", "/dev/null");
  }
}

}  // namespace tools

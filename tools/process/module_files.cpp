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
    for (const std::string_view machine : {"x86_64", "aarch64"}) {
      files.push_back(folder /
                      fmt::format("{}.cpython-3{}-{}-linux-gnu.so", name, version, machine));
    }
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

// What `python3 -m X` or a folder in the place of a script names. Python begins with the folder
// where it starts, unless `-I` or `-P` keeps it from that.
void add_of_python(std::span<const std::string> words,
                   const fs::path& folder,
                   std::vector<fs::path>& files) {
  constexpr std::string_view k_with_value = "WXQ";
  bool is_alone = false;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (!word.starts_with('-')) {
      std::error_code error;
      if (fs::is_directory(folder / word, error)) {
        add_python(folder / word, "__main__", files);
      }
      return;
    }
    at += word == "--check-hash-based-pycs" ? 1 : 0;
    const std::string_view letters = word.starts_with("--") ? "" : word.substr(1);
    for (std::size_t letter = 0; letter < letters.size(); ++letter) {
      const std::string_view rest = letters.substr(letter + 1);
      const std::string_view value =
          !rest.empty() || at + 1 == words.size() ? rest : std::string_view(words[at + 1]);
      if (letters[letter] == 'm' && !is_alone) {
        add_module(folder, value, files);
      }
      if (letters[letter] == 'm' || letters[letter] == 'c') {
        return;
      }
      if (k_with_value.contains(letters[letter])) {
        at += rest.empty() ? 1 : 0;
        break;
      }
      is_alone = is_alone || letters[letter] == 'I' || letters[letter] == 'P';
    }
  }
}

// The first one that is there counts; `package.json` may name any other. A word with the ending of
// a script is that file's name.
void add_of_node(std::span<const std::string> words,
                 const fs::path& folder,
                 std::vector<fs::path>& files) {
  constexpr auto k_suffixes = std::to_array<std::string_view>(
      {"", ".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"});
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    std::error_code error;
    const bool is_whole = std::ranges::any_of(k_suffixes, [&](std::string_view suffix) {
      return !suffix.empty() && word.ends_with(suffix);
    });
    if (word.starts_with('-') || is_whole || fs::is_regular_file(folder / word, error)) {
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

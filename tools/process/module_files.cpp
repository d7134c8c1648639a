#include "tools/process/module_files.h"

#include "agent/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <ranges>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr auto k_of_node =
    std::to_array<std::string_view>({"bun", "deno", "node", "nodejs", "ts-node", "tsx"});
constexpr int k_first_python = 8;  // 3.8
constexpr int k_last_python = 16;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_among(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// `a:b`, from the folder where the program starts.
std::vector<fs::path> folders_of_list(std::string_view list, const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto part : std::views::split(list, ':')) {
    if (!part.empty()) {
      folders.push_back(folder / std::string_view(part.begin(), part.end()));
    }
  }
  return folders;
}

// The module files of one line of Python.
class PythonModules {
 public:
  PythonModules(const fs::path& folder, const agent::Environment& environment)
      : folder_(folder), environment_(environment) {}

  void look_at(std::span<const std::string> words) {
    packages_ = packages_of(words.front());
    look_at_words(words);
    look_at_start();
  }

  std::vector<fs::path> take() { return std::move(files_); }

 private:
  // What `-m X` or a folder in the place of a script names. Python begins with the folder where it
  // starts, unless `-I` or `-P` keeps it from that; `-E` and `-I` from its variables.
  void look_at_words(std::span<const std::string> words) {
    constexpr std::string_view k_with_value = "WXQ";
    for (std::size_t at = 1; at < words.size(); ++at) {
      const std::string_view word = words[at];
      if (!word.starts_with('-')) {
        if (is_folder(folder_ / word)) {
          add_name(folder_ / word, "__main__");
        }
        return;
      }
      at += word == "--check-hash-based-pycs" ? 1 : 0;
      const std::string_view letters = word.starts_with("--") ? "" : word.substr(1);
      for (std::size_t letter = 0; letter < letters.size(); ++letter) {
        const std::string_view rest = letters.substr(letter + 1);
        const bool has_next = rest.empty() && at + 1 < words.size();
        if (letters[letter] == 'm') {
          set_folders();
          const std::string_view module = has_next ? std::string_view(words[at + 1]) : rest;
          add_module(module);
          if (is_alone_) {
            folders_.push_back(folder_);  // where that module adds it, as coverage does
          }
          look_behind(module, words.subspan(std::min(at + (has_next ? 2 : 1), words.size())));
        }
        if (letters[letter] == 'm' || letters[letter] == 'c') {
          return;
        }
        if (k_with_value.contains(letters[letter])) {
          at += rest.empty() ? 1 : 0;
          break;
        }
        is_alone_ = is_alone_ || letters[letter] == 'I' || letters[letter] == 'P';
        has_variables_ = has_variables_ && letters[letter] != 'I' && letters[letter] != 'E';
      }
    }
  }

  // What it loads before anything else.
  void look_at_start() {
    std::vector<fs::path> folders = variable_folders();
    std::ranges::copy(packages_, std::back_inserter(folders));
    for (const fs::path& folder : folders) {
      add_name(folder, "sitecustomize");
      add_name(folder, "usercustomize");
    }
  }

  // Of the virtual environment that the program is of.
  std::vector<fs::path> packages_of(const fs::path& program) const {
    std::vector<fs::path> places = {(folder_ / program).parent_path()};
    if (!program.has_parent_path()) {
      places = folders_of_list(agent::value_of(environment_, "PATH"), folder_);
    }
    const auto place = std::ranges::find_if(
        places, [&](const fs::path& folder) { return is_file(folder / program.filename()); });
    const fs::path root = place == places.end() ? fs::path() : place->parent_path();
    std::vector<fs::path> packages;
    for (int version = k_first_python; version <= k_last_python; ++version) {
      fs::path folder = root / fmt::format("lib/python3.{}/site-packages", version);
      if (is_file(root / "pyvenv.cfg") && is_folder(folder)) {
        packages.push_back(std::move(folder));
      }
    }
    return packages;
  }

  std::vector<fs::path> variable_folders() const {
    return has_variables_ ? folders_of_list(agent::value_of(environment_, "PYTHONPATH"), folder_)
                          : std::vector<fs::path>();
  }

  void set_folders() {
    if (!is_alone_) {
      folders_.push_back(folder_);
    }
    std::ranges::move(variable_folders(), std::back_inserter(folders_));
    std::ranges::copy(packages_, std::back_inserter(folders_));
  }

  // `X`, as a package's `__init__` and `__main__` too: its source, and what is compiled in its
  // place.
  void add_name(const fs::path& folder, const std::string& name) {
    for (const std::string_view suffix : {".py", ".pyc", ".so", ".abi3.so"}) {
      files_.push_back(folder / (name + std::string(suffix)));
    }
    for (int version = k_first_python; version <= k_last_python; ++version) {
      for (const std::string_view machine : {"x86_64", "aarch64"}) {
        files_.push_back(folder /
                         fmt::format("{}.cpython-3{}-{}-linux-gnu.so", name, version, machine));
      }
    }
  }

  // `a.b.c`: each package on the way, too. A file in the place of a folder is an archive.
  void add_module(std::string_view module) {
    constexpr auto k_archives = std::to_array<std::string_view>({".egg", ".pyz", ".whl", ".zip"});
    for (const fs::path& folder : folders_) {
      const std::string ending = folder.extension();
      const bool may_be_archive = std::ranges::find(k_archives, ending) != k_archives.end();
      if (!is_folder(folder) && (may_be_archive || is_file(folder))) {
        files_.push_back(folder);
      }
      add_module_in(folder, module);
    }
  }

  void add_module_in(const fs::path& folder, std::string_view module) {
    fs::path at = folder;
    while (!module.empty()) {
      const std::string name(module.substr(0, module.find('.')));
      module.remove_prefix(std::min(name.size() + 1, module.size()));
      if (name.empty() || name.contains('/')) {
        return;
      }
      add_name(at, name);
      at /= name;
      add_name(at, "__init__");
    }
    add_name(at, "__main__");
  }

  // What the module is told may be the name of another one: `-m unittest ci.guard`, `-m cProfile
  // -m guard`. It is, where that leads to one which is there; without a dot, where it can be
  // nothing else.
  void look_behind(std::string_view module, std::span<const std::string> words) {
    const bool is_unittest = module == "unittest";
    const bool takes_names = module == "runpy" || (is_unittest && !is_among(words, "discover"));
    bool is_told = false;
    for (const std::string& word : words) {
      std::string name = word;
      for (const std::string_view option : {"--module=", "-m"}) {
        if (name.starts_with(option) && name.size() > option.size()) {
          name.erase(0, option.size());
          is_told = true;
        }
      }
      const bool is_a_file = is_file(folder_ / name);
      if (is_a_file && is_unittest && name.ends_with(".py")) {
        name.erase(name.size() - 3);  // it loads that by the name which it makes of the path
        std::ranges::replace(name, '/', '.');
      }
      if ((!is_a_file || is_unittest) && !name.contains('/') &&
          (takes_names || is_told || name.contains('.'))) {
        add_if_there(name, is_unittest);
      }
      is_told = word == "-m" || word == "--module";
    }
  }

  // `ci.guard.Test.test_a`, where it may go on so: the longest part of it that is a module.
  void add_if_there(std::string_view module, bool may_go_on) {
    while (!module.empty()) {
      std::string path(module);
      std::ranges::replace(path, '.', '/');
      if (std::ranges::any_of(folders_, [&](const fs::path& folder) {
            return is_file(folder / (path + ".py")) || is_file(folder / path / "__init__.py") ||
                   is_file(folder / path / "__main__.py");
          })) {
        add_module(module);
        return;
      }
      const bool has_more = may_go_on && module.contains('.');
      module = module.substr(0, has_more ? module.rfind('.') : 0);
    }
  }

  const fs::path& folder_;
  const agent::Environment& environment_;
  bool is_alone_ = false;
  bool has_variables_ = true;
  std::vector<fs::path> packages_;
  std::vector<fs::path> folders_;  // where modules are looked for
  std::vector<fs::path> files_;
};

// The module files of one line of Node, or of what takes its place.
class NodeModules {
 public:
  NodeModules(const fs::path& folder, const agent::Environment& environment)
      : folder_(folder), environment_(environment) {}

  void look_at(std::span<const std::string> words) {
    for (std::size_t at = 1; at < words.size(); ++at) {
      const std::string_view word = words[at];
      if (!word.starts_with('-')) {
        add_unless_whole(word);
      }
    }
    look_at_options(words);
    look_at_variable();
  }

  std::vector<fs::path> take() { return std::move(files_); }

 private:
  static constexpr auto k_suffixes = std::to_array<std::string_view>(
      {"", ".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"});
  // What stands behind them is loaded first.
  static constexpr auto k_load = std::to_array<std::string_view>(
      {"--experimental-loader", "--import", "--loader", "--preload", "--require", "-r"});

  void look_at_options(std::span<const std::string> words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      const std::string_view word = words[at];
      const std::size_t equals = std::min(word.find('='), word.size());
      if (std::ranges::find(k_load, word.substr(0, equals)) == k_load.end()) {
        continue;
      }
      if (equals < word.size()) {
        add_loaded(word.substr(equals + 1));
      } else if (at + 1 < words.size()) {
        add_loaded(words[at + 1]);
      }
    }
  }

  void look_at_variable() {
    std::string options(agent::value_of(environment_, "NODE_OPTIONS"));
    std::erase(options, '"');
    std::vector<std::string> words;
    for (const auto part : std::views::split(options, ' ')) {
      words.emplace_back(part.begin(), part.end());
    }
    look_at_options(words);
  }

  // A word with the ending of a script is that file's name, which its line names by itself.
  void add_unless_whole(std::string_view word) {
    const bool is_whole = std::ranges::any_of(k_suffixes, [&](std::string_view suffix) {
      return !suffix.empty() && word.ends_with(suffix);
    });
    if (!is_whole && !is_file(folder_ / word)) {
      add_place(folder_ / word);
    }
  }

  // A path, or a name in some `node_modules`. Where that is in none yet, to install it may be the
  // work.
  void add_loaded(std::string_view name) {
    if (name.empty() || name.contains(':')) {
      return;
    }
    add_place(folder_ / name);
    if (name.starts_with('.') || name.starts_with('/')) {
      return;
    }
    const auto before = static_cast<std::ptrdiff_t>(files_.size());
    for (const fs::path& folder :
         folders_of_list(agent::value_of(environment_, "NODE_PATH"), folder_)) {
      add_package(folder, name);
    }
    for (fs::path above = folder_.lexically_normal(); !above.empty();) {
      add_package(above / "node_modules", name);
      fs::path next = above.parent_path();
      above = next == above ? fs::path() : std::move(next);
    }
    if (std::none_of(files_.begin() + before, files_.end(), is_file)) {
      files_.erase(files_.begin() + before, files_.end());
    }
  }

  // `pre`, `pre/register`, `@a/pre`: its `package.json` may say where that is.
  void add_package(const fs::path& folder, std::string_view name) {
    add_place(folder / name);
    const std::size_t slash = name.find('/', name.starts_with('@') ? name.find('/') + 1 : 0);
    const fs::path package = folder / name.substr(0, slash);
    const agent::Json said = read_package(package);
    if (const agent::Json* exports = agent::find(said, "exports")) {
      const std::string_view part = slash < name.size() ? name.substr(slash) : "";
      add_exports(package, *exports, "." + std::string(part));
    }
    files_.push_back(package / "package.json");
  }

  // `part`: `.`, or `./register`; the keys of `exports` are such, where it is no answer by itself.
  void add_exports(const fs::path& package, const agent::Json& exports, std::string_view part) {
    const bool has_parts =
        exports.is_object() && !exports.empty() && exports.begin().key().starts_with('.');
    if (!has_parts) {
      add_texts(package, exports, "");
      return;
    }
    for (const auto& [key, value] : exports.items()) {
      const std::size_t star = std::min(key.find('*'), key.size());
      const std::string_view before = std::string_view(key).substr(0, star);
      const std::string_view after = std::string_view(key).substr(std::min(star + 1, key.size()));
      if (key == part) {
        add_texts(package, value, "");
      } else if (star < key.size() && part.size() >= before.size() + after.size() &&
                 part.starts_with(before) && part.ends_with(after)) {
        add_texts(
            package, value, part.substr(before.size(), part.size() - before.size() - after.size()));
      }
    }
  }

  // `star` stands in the place of each `*`.
  void add_texts(const fs::path& package, const agent::Json& value, std::string_view star) {
    if (value.is_string()) {
      std::string text = value.get<std::string>();
      for (std::size_t at = 0; (at = text.find('*', at)) != std::string::npos; at += star.size()) {
        text.replace(at, 1, star);
      }
      files_.push_back(package / text);
    } else if (value.is_structured()) {
      std::ranges::for_each(value, [&](const agent::Json& one) { add_texts(package, one, star); });
    }
  }

  // What Node looks for by that path; the first one that is there counts.
  void add_place(fs::path path) {
    path = path.lexically_normal();
    if (!path.has_filename()) {
      path = path.parent_path();  // `deploy/`
    }
    add_forms(path);
    files_.push_back(path / "package.json");
    const agent::Json said = read_package(path);
    for (const std::string_view key : {"main", "module"}) {
      if (const std::string_view main = agent::text_at(said, key); !main.empty()) {
        add_forms((path / main).lexically_normal());
      }
    }
  }

  void add_forms(const fs::path& path) {
    for (const std::string_view suffix : k_suffixes) {
      if (!suffix.empty() || !is_folder(path)) {
        files_.emplace_back(path.native() + std::string(suffix));
      }
      files_.push_back(path / ("index" + std::string(suffix)));
    }
  }

  static agent::Json read_package(const fs::path& folder) {
    constexpr std::size_t k_longest = 1u << 20;
    std::string text(k_longest, '\0');
    std::ifstream in(folder / "package.json", std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    auto said = agent::parse_json(text);
    return said && said->is_object() ? *std::move(said) : agent::Json::object();
  }

  const fs::path& folder_;
  const agent::Environment& environment_;
  std::vector<fs::path> files_;
};

}  // namespace

bool is_python(std::string_view program) {
  return program.starts_with("python") || program.starts_with("pypy");
}

std::vector<fs::path> module_files(std::span<const std::string> words,
                                   const fs::path& folder,
                                   const agent::Environment& environment) {
  std::vector<fs::path> files;
  const auto look = [&](auto modules) {
    modules.look_at(words);
    files = modules.take();
  };
  const std::string program = fs::path(words.front()).filename();
  if (is_python(program)) {
    look(PythonModules(folder, environment));
  } else if (std::ranges::find(k_of_node, program) != k_of_node.end()) {
    look(NodeModules(folder, environment));
  }
  for (fs::path& file : files) {
    file = file.lexically_normal();
  }
  return files;
}

}  // namespace tools

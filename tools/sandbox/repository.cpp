#include "tools/sandbox/repository.h"

#include "agent/descriptor.h"
#include "agent/spec.h"
#include "agent/text.h"
#include "tools/sandbox/git_index.h"
#include "tools/sandbox/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <dirent.h>
#include <fcntl.h>
#include <ranges>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr auto k_obeyed_by_git = std::to_array<std::string_view>({"config",
                                                                  "config.worktree",
                                                                  "hooks",
                                                                  "commondir",
                                                                  "gitdir",
                                                                  "info",
                                                                  "objects/info/alternates",
                                                                  "objects/info/http-alternates"});
// Git's data: files at the top of its folder, which it locks as NAME.lock, and whole folders.
constexpr auto k_data_files = std::to_array<std::string_view>(
    {"HEAD", "index", "packed-refs", "ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "COMMIT_EDITMSG"});
constexpr auto k_data_folders =
    std::to_array<std::string_view>({"objects", "refs", "logs", "reftable", "lfs"});
constexpr auto k_data_of_object_info =
    std::to_array<std::string_view>({"packs", "commit-graph", "commit-graphs"});
// What `run` takes where no agent is named.
constexpr auto k_agents =
    std::to_array<std::string_view>({"agent.yaml", "agent.yml", "errand.yaml", "agent.md"});
constexpr std::size_t k_most_modules = 1'000;
constexpr std::size_t k_most_in_place = 10'000;  // files of hooks and the like
constexpr int k_deepest_module = 8;              // names of modules may have slashes
constexpr std::size_t k_most_text = 1u << 16;    // of a file that names another
constexpr std::size_t k_most_index = 1u << 30;

// At most so many bytes of a regular file.
std::string read(const fs::path& file, int flags, std::size_t limit, Sight& sight) {
  const agent::Descriptor open = sight.open(file, O_RDONLY | O_NONBLOCK | flags);
  struct stat status = {};
  if (!open || ::fstat(open.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  std::string bytes(std::min(static_cast<std::size_t>(status.st_size), limit), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(open.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) {
      sight.failed(got < 0 ? errno : 0, file);
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// Of a link to one, too, as git takes it.
std::string text_of(const fs::path& file, Sight& sight) {
  std::error_code error;
  const bool is_regular = fs::is_regular_file(file, error);
  sight.heed(error, file);
  return !is_regular ? std::string() : read(file, 0, k_most_text, sight);
}

// All of a file that is no link and no more than `limit`.
std::string bytes_of(const fs::path& file, std::size_t limit, Sight& sight) {
  std::string bytes = read(file, O_NOFOLLOW, limit + 1, sight);
  return bytes.size() > limit ? std::string() : bytes;
}

// What it is, without following it where it is a link.
fs::file_type kind_of(const fs::path& path, Sight& sight) {
  std::error_code error;
  const fs::file_type kind = fs::symlink_status(path, error).type();
  sight.heed(error, path);
  return kind;
}

std::vector<fs::path> folders_in(const fs::path& folder, Sight& sight) {
  std::vector<fs::path> inner;
  for (const Sight::Named& entry : sight.entries_of(folder)) {
    fs::path path = folder / entry.name;
    if (entry.type == DT_DIR ||
        (entry.type == DT_UNKNOWN && kind_of(path, sight) == fs::file_type::directory)) {
      inner.push_back(std::move(path));
    }
  }
  return inner;
}

fs::path based_on(const fs::path& folder, std::string_view path, Sight& sight) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(folder / path, error);
  sight.heed(error, folder);
  return error ? fs::path() : real;
}

// `worktree = ../../../module` of a module's settings.
fs::path worktree_of(const fs::path& git, Sight& sight) {
  constexpr std::string_view k_key = "worktree";
  const std::string text = text_of(git / "config", sight);
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view line = agent::trimmed(std::string_view(part.begin(), part.end()));
    if (line.starts_with(k_key)) {
      line = agent::trimmed(line.substr(k_key.size()));
      return line.starts_with('=') ? based_on(git, agent::trimmed(line.substr(1)), sight)
                                   : fs::path();
    }
  }
  return {};
}

struct Setting {
  std::string section;  // in small letters, without the name in quotes
  std::string key;
  std::string value;
};

// Enough of git's format for what people and git itself write.
std::vector<Setting> settings_in(const fs::path& file, Sight& sight) {
  std::vector<Setting> settings;
  std::string section;
  const std::string text = text_of(file, sight);
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view line = agent::trimmed(std::string_view(part.begin(), part.end()));
    if (line.starts_with('[')) {
      const std::size_t close = std::min(line.find(']'), line.size() - 1);
      const std::string_view title = line.substr(1, close - 1);
      section = agent::to_lower(title.substr(0, title.find_first_of(" \".")));
      line = agent::trimmed(line.substr(close + 1));
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#') || line.starts_with(';')) {
      continue;
    }
    std::string value(agent::trimmed(line.substr(equals + 1)));
    std::erase(value, '"');
    settings.push_back({.section = section,
                        .key = std::string(agent::trimmed(line.substr(0, equals))),
                        .value = std::move(value)});
  }
  return settings;
}

struct ObeyedSetting {
  std::string_view section;
  std::string_view key;  // in small letters; empty: any
  bool is_program;       // else a path; git runs the first word, or what stands behind a `!`
};

constexpr auto k_obeyed_settings = std::to_array<ObeyedSetting>({
    {.section = "core", .key = "hookspath", .is_program = false},
    {.section = "include", .key = "path", .is_program = false},
    {.section = "includeif", .key = "path", .is_program = false},
    {.section = "core", .key = "fsmonitor", .is_program = true},
    {.section = "core", .key = "sshcommand", .is_program = true},
    {.section = "core", .key = "editor", .is_program = true},
    {.section = "core", .key = "pager", .is_program = true},
    {.section = "filter", .key = "", .is_program = true},
    {.section = "diff", .key = "command", .is_program = true},
    {.section = "diff", .key = "external", .is_program = true},
    {.section = "diff", .key = "textconv", .is_program = true},
    {.section = "merge", .key = "driver", .is_program = true},
    {.section = "gpg", .key = "program", .is_program = true},
    {.section = "credential", .key = "helper", .is_program = true},
    {.section = "alias", .key = "", .is_program = true},
});

bool has_setting(const fs::path& file,
                 std::string_view section,
                 std::string_view key,
                 std::string_view value,
                 Sight& sight) {
  return std::ranges::any_of(settings_in(file, sight), [&](const Setting& one) {
    return one.section == section && agent::to_lower(one.key) == key &&
           agent::to_lower(one.value) == value;
  });
}

// Where the files of its index are.
fs::path tree_of(const fs::path& git, Sight& sight) {
  if (const std::string link = text_of(git / "gitdir", sight); !link.empty()) {
    return based_on(git, agent::trimmed(link), sight).parent_path();
  }
  const fs::path named = worktree_of(git, sight);
  return named.empty() ? git.parent_path() : named;
}

// Bytes of an object's name.
std::size_t hash_size(const fs::path& git, Sight& sight) {
  constexpr std::size_t k_sha1 = 20;
  constexpr std::size_t k_sha256 = 32;
  const std::string common = text_of(git / "commondir", sight);
  const fs::path settings =
      (common.empty() ? git : based_on(git, agent::trimmed(common), sight)) / "config";
  return has_setting(settings, "extensions", "objectformat", "sha256", sight) ? k_sha256 : k_sha1;
}

// The first word that is a path; empty: there is none.
std::string_view path_in(std::string_view command) {
  for (const auto part : std::views::split(command, ' ')) {
    std::string_view word(part.begin(), part.end());
    word.remove_prefix(word.starts_with('!') ? 1 : 0);
    if (word.contains('/')) {
      return word;
    }
  }
  return {};
}

// The place itself, or what is in the folder that it is or leads to.
void add_links(const fs::path& place, std::vector<fs::path>& links, Sight& sight) {
  if (kind_of(place, sight) == fs::file_type::symlink) {
    links.push_back(place);
  }
  std::size_t seen = 0;
  sight.walk(place, [&](const fs::path& path, unsigned char type) {
    std::error_code ignored;
    if (type == DT_LNK && !fs::is_directory(path, ignored)) {
      links.push_back(path);
    }
    return ++seen < k_most_in_place;
  });
}

class Finder {
 public:
  explicit Finder(Sight& sight) : sight_(sight) {}

  void add(const fs::path& git) {
    if (git.empty() || std::ranges::find(found_.folders, git) != found_.folders.end()) {
      return;
    }
    found_.folders.push_back(git);
    for (const std::string_view name : k_obeyed_by_git) {
      found_.obeyed.push_back(git / name);
    }
    add_modules(git / "modules", k_deepest_module);
    for (const fs::path& worktree : folders_in(git / "worktrees", sight_)) {
      for (const std::string_view name : {"commondir", "gitdir", "config.worktree"}) {
        found_.obeyed.push_back(worktree / name);
      }
      const std::string link = text_of(worktree / "gitdir", sight_);
      add_tree(based_on(worktree, agent::trimmed(link), sight_).parent_path());
    }
  }

  // What stands in the index as a commit of another repository: git looks into that one for its
  // state, and obeys what it finds there.
  void add_modules_of_work(const fs::path& top) {
    if (found_.folders.empty() || found_.folders.front() == top) {
      return;
    }
    const fs::path& git = found_.folders.front();
    std::vector<fs::path> indexes{git / "index"};
    for (const Sight::Named& entry : sight_.entries_of(git)) {
      if (entry.name.starts_with("sharedindex.")) {
        indexes.push_back(git / entry.name);
      }
    }
    for (const fs::path& index : indexes) {
      for (const std::string& module :
           more_in(bytes_of(index, k_most_index, sight_), hash_size(git, sight_)).modules) {
        if (found_.trees.size() < k_most_modules) {
          add_tree(based_on(top, module, sight_));
        }
      }
    }
  }

  Repository take() { return std::move(found_); }

 private:
  void add_modules(const fs::path& folder, int depth) {
    for (const fs::path& inner : folders_in(folder, sight_)) {
      if (found_.folders.size() > k_most_modules || depth == 0) {
        return;
      }
      if (is_git_folder(inner, sight_)) {
        add(inner);
        add_tree(worktree_of(inner, sight_));
      } else {
        add_modules(inner, depth - 1);
      }
    }
  }

  void add_tree(const fs::path& tree) {
    if (!tree.empty()) {
      found_.trees.push_back(tree);
    }
  }

  Sight& sight_;
  Repository found_;
};

// The next folder above that git would take for the top of the work; empty: none.
fs::path top_around(const fs::path& folder, Sight& sight) {
  fs::path top = folder.parent_path();
  while (!sight.is_there(top / ".git") && !is_git_folder(top, sight)) {
    if (top == top.parent_path()) {
      return {};
    }
    top = top.parent_path();
  }
  return top;
}

class BesideFinder {
 public:
  BesideFinder(bool looks_into_data, Sight& sight)
      : looks_into_data_(looks_into_data), sight_(sight) {}

  void look_in(const fs::path& git, bool is_worktree = false) {
    for_each_in(git, [&](const fs::path& entry, mode_t kind) {
      const std::string name = entry.filename();
      if (S_ISREG(kind) && is_data_file(name)) {
        add_file(entry);
      } else if (S_ISDIR(kind) && std::ranges::find(k_data_folders, name) != k_data_folders.end()) {
        look_in_data(entry, name);
      } else if (S_ISDIR(kind) && name == "modules") {
        look_in_modules(entry, k_deepest_module);
      } else if (S_ISDIR(kind) && name == "worktrees" && !is_worktree) {
        for_each_in(entry, [&](const fs::path& inner, mode_t inner_kind) {
          if (S_ISDIR(inner_kind)) {
            look_in(inner, true);
          } else {
            found_.obeyed.push_back(inner);
          }
        });
      } else {
        found_.obeyed.push_back(entry);
      }
    });
  }

  BesideData take() { return std::move(found_); }

 private:
  static bool is_data_file(std::string_view name) {
    constexpr std::string_view k_lock = ".lock";
    name.remove_suffix(name.ends_with(k_lock) ? k_lock.size() : 0);
    return std::ranges::find(k_data_files, name) != k_data_files.end();
  }

  // With the kind of each, as st_mode has it.
  template <typename Found>
  void for_each_in(const fs::path& folder, const Found& found) {
    for (const Sight::Named& entry : sight_.entries_of(folder)) {
      if (const auto status = sight_.lstat(folder / entry.name)) {
        found(folder / entry.name, status->st_mode);
      }
    }
  }

  void add_file(const fs::path& file) {
    const auto status = sight_.lstat(file);
    if (status && status->st_nlink > 1) {
      found_.with_other_names.push_back(file);
    }
  }

  // Of objects only what is told of them is looked at, and of git-lfs nothing: both write what is
  // new by names that are hashes.
  void look_in_data(const fs::path& folder, std::string_view name) {
    if (name == "objects") {
      for_each_in(folder / "info", [&](const fs::path& entry, mode_t /*kind*/) {
        if (std::ranges::find(k_data_of_object_info, entry.filename().native()) ==
            k_data_of_object_info.end()) {
          found_.obeyed.push_back(entry);
        }
      });
    } else if (name != "lfs" && looks_into_data_) {
      sight_.walk(folder, [&](const fs::path& path, unsigned char type) {
        if (type == DT_REG) {
          add_file(path);
        } else if (type != DT_DIR) {
          found_.obeyed.push_back(path);
        }
        return true;
      });
    }
  }

  // Those that are git's folders are looked at by themselves.
  void look_in_modules(const fs::path& folder, int depth) {
    for_each_in(folder, [&](const fs::path& entry, mode_t kind) {
      if (!S_ISDIR(kind) || depth == 0) {
        found_.obeyed.push_back(entry);
      } else if (!is_git_folder(entry, sight_)) {
        look_in_modules(entry, depth - 1);
      }
    });
  }

  bool looks_into_data_;
  Sight& sight_;
  BesideData found_;
};

}  // namespace

BesideData beside_data(const fs::path& git,
                       const fs::path& top,
                       bool looks_into_data,
                       Sight& sight) {
  BesideFinder finder(looks_into_data, sight);
  if (git != top || !has_setting(git / "config", "core", "bare", "true", sight)) {
    finder.look_in(git);
  }
  return finder.take();
}

std::vector<fs::path> indexes_of(const fs::path& git, Sight& sight) {
  std::vector<fs::path> indexes{git / "index"};
  for (const fs::path& worktree : folders_in(git / "worktrees", sight)) {
    indexes.push_back(worktree / "index");
  }
  return indexes;
}

std::vector<std::string> oddities_of(const fs::path& index, Sight& sight) {
  if (!sight.is_there(index)) {
    return {};
  }
  const fs::path git = index.parent_path();
  const std::string bytes = bytes_of(index, k_most_index, sight);
  std::vector<std::string> odd;
  if (!names_only_work(bytes, hash_size(git, sight))) {
    odd.emplace_back("names");
  }
  const fs::path top = tree_of(git, sight);
  for (SparseFolder& folder : more_in(bytes, hash_size(git, sight)).folders) {
    if (sight.is_there(top / folder.name)) {
      odd.push_back(std::move(folder.name) + folder.id);
    }
  }
  return odd;
}

bool is_name_in_git_folder(std::string_view name) {
  const std::string lower = agent::to_lower(name);  // a file system may not tell case
  return lower == "head" || lower == "commondir" || lower == "objects" || lower == "refs";
}

bool is_git_folder(const fs::path& folder, std::span<const std::string> added) {
  Sight unheeded;
  return is_git_folder(folder, unheeded, added);
}

bool is_git_folder(const fs::path& folder, Sight& sight, std::span<const std::string> added) {
  const auto has = [&](const char* needed) {
    const auto is_it = [&](const std::string& name) {
      return agent::to_lower(name) == agent::to_lower(needed);
    };
    return std::ranges::any_of(added, is_it) || sight.is_there(folder / needed);
  };
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

Repository find_repository(const fs::path& folder, Sight& sight) {
  constexpr std::string_view k_link = "gitdir:";
  Finder finder(sight);
  const fs::path git = folder / ".git";
  std::error_code error;
  const bool is_folder = fs::is_directory(git, error);  // a link, too
  sight.heed(error, git);
  if (is_folder) {
    const bool is_link = kind_of(git, sight) == fs::file_type::symlink;
    finder.add(is_link ? based_on(folder, ".git", sight) : git);
  } else if (const std::string link = text_of(git, sight); link.starts_with(k_link)) {
    const fs::path target =
        based_on(folder, agent::trimmed(std::string_view(link).substr(k_link.size())), sight);
    const std::string common = text_of(target / "commondir", sight);
    finder.add(target);
    finder.add(common.empty() ? fs::path() : based_on(target, agent::trimmed(common), sight));
  } else if (is_git_folder(folder, sight)) {
    finder.add(folder);
  }
  finder.add_modules_of_work(folder);
  return finder.take();
}

Repository own_repository(const fs::path& top, Sight& sight) {
  Repository repository = find_repository(top, sight);
  if (repository.folders.empty() || repository.folders.front() == top) {
    return {};
  }
  const fs::path& git = repository.folders.front();
  if (git == top / ".git") {
    return repository;
  }
  const std::string back = text_of(git / "gitdir", sight);
  const bool is_worktree = !back.empty() && repository.folders.size() > 1 &&
                           based_on(git, agent::trimmed(back), sight) == top / ".git" &&
                           is_below(git, repository.folders[1] / "worktrees");
  const bool is_module = back.empty() && repository.folders.size() == 1 &&
                         is_git_folder(git, sight) && worktree_of(git, sight) == top;
  return is_worktree || is_module ? repository : Repository{};
}

std::vector<fs::path> checked_out(const std::vector<fs::path>& folders, Sight& sight) {
  std::vector<fs::path> tops = folders;
  const auto add_trees_of = [&](const fs::path& top) {
    for (fs::path& tree : find_repository(top, sight).trees) {
      const bool is_inside = std::ranges::any_of(
          folders, [&](const fs::path& folder) { return is_below(tree, folder); });
      if (is_inside && std::ranges::find(tops, tree) == tops.end()) {
        tops.push_back(std::move(tree));
      }
    }
  };
  for (const fs::path& folder : folders) {
    add_trees_of(top_around(folder, sight));
  }
  for (std::size_t at = 0; at < tops.size(); ++at) {
    add_trees_of(tops[at]);
  }
  return tops;
}

std::vector<fs::path> obeyed_links(const std::vector<fs::path>& tops, Sight& sight) {
  std::vector<fs::path> links;
  for (const fs::path& top : tops) {
    for (const Sight::Named& entry : sight.entries_of(top)) {
      const fs::path path = top / entry.name;
      std::error_code ignored;
      if (is_obeyed_name(entry.name) && kind_of(path, sight) == fs::file_type::symlink &&
          (is_obeyed_anywhere(entry.name) || !fs::is_directory(path, ignored))) {
        links.push_back(path);
      }
    }
    Repository repository = find_repository(top, sight);
    repository.obeyed.push_back(top / ".errand");
    for (const fs::path& place : repository.obeyed) {
      add_links(place, links, sight);
    }
  }
  return links;
}

bool is_obeyed_anywhere(std::string_view name) {
  const std::string lower = agent::to_lower(name);
  return lower == ".git" || lower == ".errand";
}

std::vector<NamedByGit> named_by_git(const fs::path& folder, Sight& sight) {
  std::vector<NamedByGit> named;
  const Repository repository = find_repository(folder, sight);
  for (const fs::path& git : repository.folders) {
    for (const Setting& setting : settings_in(git / "config", sight)) {
      const std::string key = agent::to_lower(setting.key);
      const auto row = std::ranges::find_if(k_obeyed_settings, [&](const ObeyedSetting& one) {
        return one.section == setting.section && (one.key.empty() || one.key == key);
      });
      if (row == k_obeyed_settings.end()) {
        continue;
      }
      const std::string_view path = row->is_program ? path_in(setting.value) : setting.value;
      const fs::path base = row->section.starts_with("include") ? git : folder;
      if (!path.empty() && !path.starts_with('~')) {
        named.push_back({.setting = fmt::format("{}.{}", setting.section, setting.key),
                         .path = based_on(base, path, sight)});
      }
    }
  }
  return named;
}

bool is_tool_lock(std::string_view name) {
  return agent::to_lower(name).ends_with(agent::k_tool_lock_suffix);
}

bool is_obeyed_file(std::string_view name) {
  return agent::to_lower(name).ends_with(".test.yaml") || is_tool_lock(name);
}

bool is_obeyed_name(std::string_view name) {
  const std::string lower = agent::to_lower(name);
  return is_obeyed_anywhere(lower) || std::ranges::find(k_agents, lower) != k_agents.end() ||
         is_obeyed_file(lower);
}

}  // namespace tools::sandbox

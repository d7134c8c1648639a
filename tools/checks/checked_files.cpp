#include "tools/checks/checked_files.h"

#include "agent/sha256.h"
#include "agent/text.h"
#include "tools/files/glob.h"
#include "tools/files/walk.h"
#include "tools/hooks/named_programs.h"
#include "tools/hooks/outside_words.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/shell_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <vector>

namespace tools {
namespace {

namespace fs = std::filesystem;

// In the order in which make looks for them.
constexpr auto k_makefiles =
    std::to_array<std::string_view>({"GNUmakefile", "makefile", "Makefile"});

constexpr std::int64_t k_most_summed = 64 << 20;  // bytes of one file

// A large one is not read, since a tool can make one of any size: no program sets the time of its
// last change back. What may be done with a file is a part of it: some programs leave out what
// cannot be run.
std::string sum_of(const fs::path& file) {
  constexpr mode_t k_permissions = 07777;
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) {
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    return fmt::format("no file, of kind {:o}", status.st_mode & S_IFMT);
  }
  if (status.st_size > k_most_summed) {
    return fmt::format("{} bytes, file {} of {}, changed at {}.{:09}",
                       status.st_size,
                       status.st_ino,
                       status.st_dev,
                       status.st_ctim.tv_sec,
                       status.st_ctim.tv_nsec);
  }
  std::ifstream in(file, std::ios::binary);
  std::string content(static_cast<std::size_t>(status.st_size) + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (in.bad() || !in.is_open()) {
    return {};
  }
  content.resize(static_cast<std::size_t>(in.gcount()));
  return fmt::format("{} mode {:o}", agent::sha256_hex(content), status.st_mode & k_permissions);
}

// `-C FOLDER`, `-CFOLDER`, `--directory=FOLDER`, one behind the other.
fs::path folder_of_make(const std::vector<std::string>& words, fs::path folder) {
  constexpr std::string_view k_long = "--directory=";
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if ((word == "-C" || word == "--directory") && at + 1 < words.size()) {
      folder /= words[++at];
    } else if (word.starts_with("-C")) {
      folder /= word.substr(2);
    } else if (word.starts_with(k_long)) {
      folder /= word.substr(k_long.size());
    }
  }
  return folder;
}

// Of a file that is looked for in a row of places: it, and the names that come before it. Where
// there is none yet, to make one may be the work.
void add_first(const std::vector<fs::path>& places,
               const std::function<bool(const fs::path&)>& is_looked_at,
               FileSums& sums) {
  const auto used = std::ranges::find_if(places, [](const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error);
  });
  if (used == places.end()) {
    return;
  }
  for (auto file = places.begin(); file <= used; ++file) {
    if (is_looked_at(*file)) {
      sums.emplace(file->lexically_normal().string(), sum_of(*file));
    }
  }
}

void add_makefile(const fs::path& folder, FileSums& sums) {
  std::vector<fs::path> places;
  for (const std::string_view name : k_makefiles) {
    places.push_back(folder / name);
  }
  add_first(places, [](const fs::path&) { return true; }, sums);
}

bool do_tools_write(const CheckPlace& place, const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  return place.tools_write &&
         (place.tools_write(file.lexically_normal()) || (!error && place.tools_write(real)));
}

// Where PATH has a folder that tools can write, as that of a virtual environment.
void add_program(const std::string& name, const CheckPlace& place, FileSums& sums) {
  if (name.contains('/') || has_unknown(name)) {
    return;
  }
  std::vector<fs::path> places;
  for (const fs::path& folder : place.command.search_path) {
    places.push_back(folder / name);
  }
  add_first(places, [&](const fs::path& file) { return do_tools_write(place, file); }, sums);
}

// Where a command of a line may start: at its front, or in a folder that a `cd` before it names.
std::vector<fs::path> folders_of(const std::vector<const ShellCommand*>& commands,
                                 const fs::path& directory) {
  std::vector<fs::path> folders{directory};
  for (const ShellCommand* one : commands) {
    std::error_code error;
    if (one->words.size() > 1 && (one->words[0] == "cd" || one->words[0] == "pushd") &&
        fs::is_directory(folders.back() / one->words.back(), error)) {
      folders.push_back(folders.back() / one->words.back());
    }
  }
  const bool begins_with_cd =
      folders.size() > 1 && !commands.front()->words.empty() && commands.front()->words[0] == "cd";
  if (begins_with_cd) {
    folders.erase(folders.begin());
  }
  return folders;
}

// Where a `..` follows a link, what is there has another name.
void add_file(const fs::path& file, FileSums& sums) {
  std::error_code error;
  const fs::path name = file.lexically_normal();
  const fs::path real = fs::weakly_canonical(file, error);
  const bool is_elsewhere = !error && !fs::exists(name, error) && fs::exists(real, error);
  const fs::path& place = is_elsewhere ? real : name;
  sums.emplace(place.string(), sum_of(place));
}

void add_named(const std::string& text, const CheckPlace& place, FileSums& sums) {
  const CommandPlace& start = place.command;
  const Scripts named = read_scripts(text, start);
  for (const auto* files : {&named.files, &named.modules}) {
    for (const fs::path& file : *files) {
      add_file(file, sums);
    }
  }
  for (const fs::path& file : named_programs(text, start)) {
    if (do_tools_write(place, file)) {
      add_file(file, sums);
    }
  }
  const CommandLine line(text, {.cwd = start.directory, .home = start.home});
  const std::vector<const ShellCommand*> commands = line.commands();
  for (const ShellCommand* one : commands) {
    if (one->words.empty()) {
      continue;
    }
    add_program(one->words.front(), place, sums);
    const std::string program = fs::path(one->words.front()).filename();
    if (program == "make" || program == "gmake") {
      for (const fs::path& folder : folders_of(commands, start.directory)) {
        add_makefile(folder_of_make(one->words, folder), sums);
      }
      // By whatever option it is told of a folder, `make -kC x`, `env -C x make`.
      const auto folders = folders_named(text, start.directory);
      for (std::size_t at = 1; folders && at < folders->size(); ++at) {
        add_makefile((*folders)[at], sums);
      }
    }
  }
}

struct ProtectedFiles {
  FileSums sums;
  bool is_whole = true;  // false: not all could be looked at
};

std::string sum_of_link(const fs::path& link) {
  std::error_code error;
  return "-> " + fs::read_symlink(link, error).string();
}
bool is_sum_of_link(std::string_view sum) {
  return sum.starts_with("-> ");
}

// What of a folder the patterns match. A link to a folder is one that was there before, or what is
// behind it counts, too.
class Matcher {
 public:
  Matcher(const Glob& glob, const FileSums& before, bool is_first, ProtectedFiles& found)
      : glob_(glob), before_(before), is_first_(is_first), found_(found) {}

  // `shown`: the folder's path from where the pattern begins.
  void look_into(const fs::path& folder,
                 const fs::path& path,
                 const std::string& shown,
                 int depth) {
    const auto end =
        walk({.shown = path.string(), .path = path},
             {.hidden = true},
             {},
             [&](const std::string& relative, const FolderEntry& entry) {
               const std::string name = shown.empty() ? relative : shown + "/" + relative;
               std::error_code error;
               if (entry.type == fs::file_type::symlink && fs::is_directory(folder / name, error)) {
                 heed_link(folder, name, depth);
               } else if (glob_.matches(name) && entry.type != fs::file_type::directory) {
                 // Later only what was added is asked for: what was there is compared by itself.
                 std::string sum = is_first_ ? sum_of(folder / name) : "there";
                 found_.sums.emplace((folder / name).string(), std::move(sum));
               }
               return Walk::go_on;
             });
    found_.is_whole =
        found_.is_whole && end && end->is_whole && end->unread == 0 && end->too_deep == 0;
  }

 private:
  static constexpr int k_deepest = 8;  // links behind links

  void heed_link(const fs::path& folder, const std::string& name, int depth) {
    const fs::path link = folder / name;
    const std::string sum = sum_of_link(link);
    const auto known = before_.find(link.string());
    if (is_first_ || (known != before_.end() && known->second == sum)) {
      found_.sums.emplace(link.string(), sum);
    } else if (depth < k_deepest) {
      look_into(folder, link, name, depth + 1);
    } else {
      found_.is_whole = false;
    }
  }

  const Glob& glob_;
  const FileSums& before_;
  bool is_first_;
  ProtectedFiles& found_;
};

void add_matching(const std::string& pattern,
                  const fs::path& directory,
                  const FileSums* before,
                  ProtectedFiles& found) {
  static const FileSums none;
  const auto [below, rest] = split_pattern(pattern);
  const auto glob = Glob::compile(rest, {.hidden = true});
  const fs::path folder = (directory / below).lexically_normal();
  std::error_code error;
  if (glob && fs::is_directory(folder, error)) {
    Matcher(*glob, before == nullptr ? none : *before, before == nullptr, found)
        .look_into(folder, folder, "", 0);
  }
}

// A folder stands for all that is in it. `before`: null, where nobody has looked yet.
ProtectedFiles protected_files(const std::vector<std::string>& patterns,
                               const CheckPlace& place,
                               const FileSums* before) {
  ProtectedFiles found;
  for (const std::string& pattern : patterns) {
    add_matching(pattern, place.command.directory, before, found);
    add_matching(pattern + "/**", place.command.directory, before, found);
  }
  return found;
}

bool is_in(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

std::string shown(const fs::path& file, const CommandPlace& place) {
  const fs::path relative = file.lexically_relative(place.directory);
  const bool is_inside = !relative.empty() && *relative.begin() != "..";
  return agent::one_line((is_inside ? relative : file).string(), 200);
}

}  // namespace

FileSums checked_files(const agent::ChecksSpec& checks,
                       const CheckPlace& place,
                       const CheckedBefore& before) {
  FileSums sums = before.files;
  std::vector<std::string> patterns = checks.protect;
  std::erase_if(patterns, [&](const std::string& one) { return is_in(before.protect, one); });
  sums.merge(protected_files(patterns, place, nullptr).sums);
  for (const agent::CheckSpec& check : checks.commands) {
    if (!is_in(before.commands, check.run)) {
      add_named(check.run, place, sums);
    }
  }
  return sums;
}

std::string why_changed(const FileSums& before,
                        const agent::ChecksSpec& checks,
                        const CheckPlace& place) {
  const auto because = [&](const fs::path& file, std::string_view what) {
    return fmt::format(
        "`{}` {} since the run began, and the check goes by it", shown(file, place.command), what);
  };
  for (const auto& [file, sum] : before) {
    if (is_sum_of_link(sum)) {
      continue;
    }
    const std::string now = sum_of(file);
    if (now != sum) {
      std::error_code error;
      const bool is_gone = now.empty() && !fs::exists(fs::symlink_status(file, error));
      return because(file, is_gone ? "was removed" : sum.empty() ? "was added" : "has changed");
    }
  }
  const ProtectedFiles now = protected_files(checks.protect, place, &before);
  for (const auto& [file, sum] : now.sums) {
    if (!before.contains(file)) {
      return because(file, "was added");
    }
  }
  return now.is_whole ? "" : "not all files of `checks.protect` could be looked at";
}

}  // namespace tools

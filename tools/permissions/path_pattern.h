// The pattern of a permission rule on paths, as glob.h reads it, but that wildcards match hidden
// names, too, and that `FOLDER/**` is also the folder itself. It starts at the working folder or
// another one that is given, at `/`, or with `~/` at the home folder.
#pragma once
#include "agent/result.h"
#include "tools/files/glob.h"
#include "tools/permissions/text_pattern.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// The path with every link followed and no `.` or `..` in it, whether or not there is such a file.
// `path` is absolute.
std::filesystem::path true_path(const std::filesystem::path& path);

// Whether it is a place that processes have, or is reached through one (/proc/self/cwd, /dev/fd),
// links followed: such a name is another one for whoever opens it. `path` is absolute.
bool leads_through_processes(const std::filesystem::path& path);

// /dev/stdin, /dev/stdout or /dev/stderr: what a program has anyhow. leads_through_processes() says
// no of them.
bool is_own_stream(const std::filesystem::path& path);

// The pattern that stands for this path alone.
std::string literal_path(const std::filesystem::path& path);

class PathPattern {
 public:
  struct Folders {
    std::filesystem::path cwd;         // absolute
    std::filesystem::path home;        // may be empty
    std::filesystem::path start = {};  // where relative patterns start; empty: at `cwd`
  };

  // config.invalid where it is no pattern.
  static agent::Result<PathPattern> compile(std::string_view pattern, const Folders& folders);

  // Whether what `path` really is (true_path) is allowed. A link in the pattern is not followed: it
  // gives no right to where it leads.
  bool allows(const std::filesystem::path& true_path) const;
  // Whether `path` (absolute, as it was asked for) is forbidden: by its own name or by what it
  // really is, under the pattern's folder by its name or by where that really is. The case of
  // letters does not count. With `folder`, the folder that the pattern begins in is forbidden, too.
  bool forbids(const std::filesystem::path& path, bool folder = false) const;
  // Whether a file that it does not forbid may be so by another of its names (hard links): yes
  // where the pattern is that name, maybe where nobody can tell.
  Match forbids_other_name(const std::filesystem::path& path) const;
  // Whether all of the pattern is names, and no wildcard is in it.
  bool is_of_names() const { return is_of_names_; }
  // The one place that the pattern is about: a file, or a folder with all that is in it (but none
  // that the work goes on in). nullopt: it is about names.
  std::optional<std::filesystem::path> place() const;
  // The same for a text that is only known in part (shell_script.h), and absolute: by what it says,
  // and by the links that its wildcards find now. So many more entries of folders are looked at as
  // `to_look_at` says; where there are more, or one cannot be read, nobody can tell.
  bool may_forbid(const std::filesystem::path& path, int& to_look_at) const;

 private:
  class Search;
  std::vector<TextPattern> outlines() const;

  PathPattern(std::filesystem::path folder, std::string rest, Glob strict, Glob wide);

  std::filesystem::path folder_;  // absolute, in front of the first wildcard
  std::string rest_;
  Glob strict_;
  Glob wide_;
  TextPattern outline_;  // wider than the pattern
  bool is_file_;         // there are no wildcards
  bool is_of_names_;
  bool is_apart_;  // the folder is not one that the work goes on in
};

}  // namespace tools

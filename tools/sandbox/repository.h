// What git obeys in a folder, whoever calls it there: to keep it from whom nobody trusts. What
// these functions could not see is the Sight's to say; their answer is of no use then.
#pragma once
#include "tools/sandbox/sight.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools::sandbox {

struct Repository {
  std::vector<std::filesystem::path> folders;  // git's own: `.git`, and those of modules
  std::vector<std::filesystem::path>
      obeyed;  // settings, hooks and the like; also what is not there
  // Where its modules and worktrees are checked out; of modules that its index names, also where
  // nothing is, or a repository that is no other's.
  std::vector<std::filesystem::path> trees;
};

// That of the folder itself, not of one above it; empty where it has none. Absolute paths, as the
// files of the repository have them: they may lead anywhere.
Repository find_repository(const std::filesystem::path& folder, Sight& sight);

// The same where the folder is the top of what is checked out of it, and git's own folder says so,
// too: else empty. A link alone leads to anybody's repository.
Repository own_repository(const std::filesystem::path& top, Sight& sight);

// What stands in git's own folder beside its data: settings, hooks, and what it has of a rebase,
// merge or bisect that is under way, whose commands it runs when that goes on. Data is what it
// reads as objects, names of commits and lists of files alone: what a commit writes. A link in the
// place of data is none; among refs and logs that is looked for where it is asked for. Of a bare
// repository whose folder is the work's own: nothing.
struct BesideData {
  std::vector<std::filesystem::path> obeyed;
  std::vector<std::filesystem::path> with_other_names;  // data that may be one of these by a link
};
BesideData beside_data(const std::filesystem::path& git,
                       const std::filesystem::path& top,
                       bool looks_into_data,
                       Sight& sight);

// The indexes in git's own folder, of its worktrees too.
std::vector<std::filesystem::path> indexes_of(const std::filesystem::path& git, Sight& sight);
// What of it git itself would not have written, or nobody has looked at, in words that only serve
// to tell it from another time: names of other files than the work's, folders as a whole (of a
// sparse checkout) that are there all the same, and what may be in them. Nothing where there is no
// index.
std::vector<std::string> oddities_of(const std::filesystem::path& index, Sight& sight);

// A setting of the repository that names a file or folder which git runs or obeys, too.
struct NamedByGit {
  std::string setting;  // "core.hooksPath"
  std::filesystem::path path;
};

// Of the folder's own settings, as far as they are plain: hooks, included settings, and programs
// that are named by a path. Absolute, free of links; also what is not there yet.
std::vector<NamedByGit> named_by_git(const std::filesystem::path& folder, Sight& sight);

// The folders, then what is checked out inside of them: of their repositories, of those that they
// are in, and of those of these.
std::vector<std::filesystem::path> checked_out(const std::vector<std::filesystem::path>& folders,
                                               Sight& sight);

// In the folders: the links that are obeyed by their own names (`agent.yaml`, `.git`), and those
// among what git and errand obey there (a hook that is a link to a script of the work). Links to
// folders only where a folder is obeyed.
std::vector<std::filesystem::path> obeyed_links(const std::vector<std::filesystem::path>& tops,
                                                Sight& sight);

// Whether git would take the folder for a repository of its own, whatever it is called: with what
// it needs in it, or a word on where that is. With what is `added` to it, in any case.
bool is_git_folder(const std::filesystem::path& folder,
                   Sight& sight,
                   std::span<const std::string> added = {});
// The same for who takes what cannot be seen for what is not there.
bool is_git_folder(const std::filesystem::path& folder, std::span<const std::string> added = {});
// Whether that depends on files and folders of this name.
bool is_name_in_git_folder(std::string_view name);

// Whether git or errand would obey a file of this name in the folder it works in; on any file
// system, so that case counts for nothing.
bool is_obeyed_name(std::string_view name);
// The same of names that count wherever they stand, as files or folders.
bool is_obeyed_anywhere(std::string_view name);
// The same of files alone: what `errand test` takes, and what `errand mcp lock` has written.
bool is_obeyed_file(std::string_view name);
// Of them, the locks: where one is gone, nothing is compared with it any more.
bool is_tool_lock(std::string_view name);

}  // namespace tools::sandbox

// The files that a command line of the user's own runs or reads: what an agent's tools must not
// change, because errand obeys it.
#pragma once
#include "tools/sandbox/way.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Where a command line of the user's starts. Absolute; `home` is empty where nobody knows, and
// `directory` where it is a folder in which nothing is.
struct CommandPlace {
  std::filesystem::path directory;
  std::filesystem::path home;
  std::vector<std::filesystem::path> search_path = {};  // of named_programs(): folders of PATH
};

struct Scripts {
  // Regular files that are there now, as the line names them: absolute, links not followed.
  std::vector<std::filesystem::path> files;
  // Beside these: what its words name in the folder where nothing stands yet (those with a `.` or a
  // `/`, and what a shell is to run), and what is named in a line that is not understood.
  std::vector<std::filesystem::path> more;
  std::string unclear;  // why there may be others; empty: there are not
};

// The files that the command line names. It is understood where it is made of simple commands, and
// what these run and read is written there: whole words, behind `=`, in the line of a `sh -c`;
// with `$PWD`, `$HOME` and `~/`, from the folder that a `cd` at its front names. What else only a
// running shell knows may go to programs that take it for text alone (`echo "$x"`).
Scripts read_scripts(std::string_view command, const CommandPlace& place);

// The same words for a shell.
std::string line_of(std::span<const std::string> words);

// The command line with the home folder in place of each `~/` in front of a word.
std::string with_home(std::string command, const std::filesystem::path& home);

// Why it cannot be told from the command line alone all that it names: it is not of the small
// language of plain_command.h, has wildcards or a `cd`, or runs code or an input. Empty: it can.
std::string why_not_plain(std::string_view command);

// The folders from which its words may be meant: `directory`, as CommandPlace's, and those that
// words of it name, one behind the other too, as `-C a -C b` does. nullopt: there are too many.
std::optional<std::vector<std::filesystem::path>> folders_named(
    std::string_view command, const std::filesystem::path& directory);

// What a word of a command line may name.
struct Meant {
  std::function<bool(const std::filesystem::path&)> is;  // a file, a folder or a link on the way
  std::function<bool(const std::filesystem::path&)> is_above = {};  // a folder that holds such
};

// The first file, folder or link, or one on the way to it, that a word of the command line names or
// may name, there already or not, whole or in its end, from one of `folders` on, and that is meant;
// empty: none.
std::filesystem::path named_in(std::string_view command,
                               const std::vector<std::filesystem::path>& folders,
                               const Meant& meant);

// Files as they were when this was made, and the links by which their names led to them.
class FileWatch {
 public:
  explicit FileWatch(std::vector<std::filesystem::path> files);

  bool is_empty() const { return entries_.empty(); }
  // The first one that is no longer what it was; empty: all are.
  std::filesystem::path changed() const;

  // By what is seen that a file was written or replaced, also where it is now what it was before:
  // its device, its number, and when that was changed, in nanoseconds.
  using Mark = std::array<std::int64_t, 3>;
  std::vector<Mark> marks() const;
  // The first one that was so; empty: none.
  std::filesystem::path changed_since(const std::vector<Mark>& marks) const;

 private:
  struct Entry {
    std::filesystem::path path;
    std::vector<sandbox::WayPoint> way;
    std::string content;
  };
  std::vector<Entry> entries_;
};

}  // namespace tools

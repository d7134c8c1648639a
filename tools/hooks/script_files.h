// The files that a command line of the user's own runs or reads: what an agent's tools must not
// change, because errand obeys it.
#pragma once
#include "agent/environment.h"

#include <filesystem>
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
  agent::Environment environment = {};                  // the command's: module_files() has which
};

// Python, as a line starts it.
struct PythonStart {
  std::string program;  // without its folders
  std::string next;     // the word behind it

  bool operator==(const PythonStart&) const = default;
};

struct Scripts {
  // Regular files that are there now, as the line names them: absolute, links not followed.
  std::vector<std::filesystem::path> files;
  // Beside these: what its words name in the folder where nothing stands yet (those with a `.` or a
  // `/`, and what a shell or an interpreter is to run), and what is named in a line that is not
  // understood.
  std::vector<std::filesystem::path> more;
  // Of what is not there yet, in the folder or elsewhere, what is run: by the line itself, by a
  // shell or by an interpreter.
  std::vector<std::filesystem::path> to_run;
  // Of the files, what is run.
  std::vector<std::filesystem::path> run;
  // Where interpreters look for what is named there without a path, there already or not.
  std::vector<std::filesystem::path> modules;
  std::vector<PythonStart> pythons;  // where one of these modules is there
  // Folders behind which `..` stands: a link in their place would lead elsewhere.
  std::vector<std::filesystem::path> ways;
  std::string unclear;  // why there may be others; empty: there are not
};

// The files that the command line names. It is understood where it is made of simple commands, and
// what these run and read is written there: whole words, behind `=` or `@`, in the line of a `sh
// -c`; with `$PWD`, `$HOME` and `~/`, from the folder that a `cd FOLDER` names (one in the middle:
// from both). What else only a running shell knows may go to programs that take it for text alone
// (`echo "$x"`), and behind a script that is named.
Scripts read_scripts(std::string_view command, const CommandPlace& place);

// The environment, and what a command's own setting adds to it.
agent::Environment with_own(agent::Environment environment, const agent::Environment& own);

// The same words for a shell.
std::string line_of(std::span<const std::string> words);

// The command line with the home folder in place of each `~/` in front of a word.
std::string with_home(std::string command, const std::filesystem::path& home);

}  // namespace tools

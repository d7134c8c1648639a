// What the kernel starts in the place of a script: its `#!`.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tools {

struct InterpreterLine {
  // All words that stand there. Where a path would be too long for the line, Python's installers
  // write it into the next one, for a shell: that one, too.
  std::vector<std::string> words = {};
  // The program and its words, which the script's name follows; empty where the kernel starts the
  // file itself, and where what it starts is not told.
  std::vector<std::string> runs = {};
  bool is_plain = true;  // of the forms below, or there is none
};

// Understood are `#!/path/program`, the same with one plain word, `#!/path/env NAME`, and
// `#!/path/env -S` with plain words, the first of which is a program.
InterpreterLine interpreter_line(const std::filesystem::path& file);

}  // namespace tools

// The files that checks go by: who could change them could make a check pass that does not.
#pragma once
#include "agent/spec.h"
#include "tools/hooks/script_files.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tools {

// By absolute path: SHA-256 of a file and its mode, or, of one over 64 MiB, its size and when it
// was changed;
// `-> TARGET` of a link to a folder that `protect` would look
// into; empty: there is none.
using FileSums = std::map<std::string, std::string>;

struct CheckPlace {
  CommandPlace command;  // its folders of PATH are absolute
  // Whether tools can write the path, in which no link is left.
  std::function<bool(const std::filesystem::path&)> tools_write = {};
};

// What processes before this one have looked at, and what it was then.
struct CheckedBefore {
  std::vector<std::string> commands;
  std::vector<std::string> protect;
  FileSums files;
};

// What they saw, and for the rest how it is now: what the commands name (of `make`, the file that
// it reads), the programs that PATH finds for them and the interpreters of these, where tools can
// write, and what `protect` matches. Links are followed, but for those to folders below the first
// one. What these files read in turn is not among them.
FileSums checked_files(const agent::ChecksSpec& checks,
                       const CheckPlace& place,
                       const CheckedBefore& before = {});

// Why the work cannot be checked, in a sentence that names the first file that is not what it was,
// or that `protect` matches and was not there; empty: it can.
std::string why_changed(const FileSums& before,
                        const agent::ChecksSpec& checks,
                        const CheckPlace& place);

}  // namespace tools

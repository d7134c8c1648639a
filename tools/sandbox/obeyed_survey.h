// What git and errand would obey in the folders that programs may write, before the first program
// of a run. Kept in the run's own folder for as long as programs may have made more of it, so that
// whoever carries on a run whose process was killed can tell what that has left.
#pragma once
#include "tools/sandbox/obeyed_below.h"

#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tools::sandbox {

struct ObeyedSurvey {
  std::map<std::filesystem::path, ObeyedPlace::Identity> places;
  std::map<std::filesystem::path, std::string> files;  // FileTree::fingerprint of what errand reads
  timespec time = {};
  bool is_whole = true;
};

// In that folder, where no program writes, by the roots that it is of. What cannot be kept is not:
// then what a killed process leaves is taken for the user's.
void keep_survey(const ObeyedSurvey& survey,
                 const std::vector<std::filesystem::path>& roots,
                 const std::filesystem::path& folder);

// Nullopt: there is none of these roots, or one of them is another folder than then (the machine
// was started anew, or another disk is there), where a file's number tells nothing.
std::optional<ObeyedSurvey> recall_survey(const std::vector<std::filesystem::path>& roots,
                                          const std::filesystem::path& folder);

void forget_survey(const std::vector<std::filesystem::path>& roots,
                   const std::filesystem::path& folder);

}  // namespace tools::sandbox

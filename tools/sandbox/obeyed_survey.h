// What git and errand would obey in the folders that programs may write, as a run found it. Kept in
// the run's own folder for as long as programs may have changed it: who carries on a run whose
// process was killed sees by it what that has left (ProtectedFiles::sweep_after_kill).
#pragma once
#include "tools/sandbox/obeyed_below.h"
#include "tools/sandbox/sight.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tools::sandbox {

struct ObeyedSurvey {
  using Path = std::filesystem::path;
  std::vector<Path> roots;  // these four as ProtectedFiles::Options has them
  std::vector<Path> tops;
  std::vector<Path> single;  // its `files`
  std::vector<Path> allowed;
  std::map<Path, ObeyedPlace::Identity> places;  // anywhere below the roots
  std::map<Path, std::string> files;         // FileTree::fingerprint of what errand reads of these
  std::map<Path, std::string> looked_after;  // the same of what each call is compared with
  std::map<Path, std::uint32_t> ways;        // folders that lead there, and their modes
  timespec time = {};
  bool is_whole = true;
  bool has_mounts = false;  // which keep programs from changing what is there
};

// In that folder, where no program writes, by a name of its own. What cannot be kept is not: then
// what a killed process leaves is taken for the user's.
void keep_survey(const ObeyedSurvey& survey, const ObeyedSurvey::Path& folder, std::uintptr_t name);
void forget_survey(const ObeyedSurvey::Path& folder, std::uintptr_t name);

bool has_surveys(const std::filesystem::path& folder, Sight& sight);

// Those in that folder. Not of roots of which one is another folder than then (the machine was
// started anew, or another disk is there): a file's number tells nothing.
std::vector<ObeyedSurvey> read_surveys(const std::filesystem::path& folder, Sight& sight);
// Once what they tell is done.
void forget_surveys(const std::filesystem::path& folder);

}  // namespace tools::sandbox

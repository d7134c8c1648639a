// What stood at the places that git and errand obey in folders that programs may write, and which
// places these are. What programs change of it is undone by such a picture (protected_files.h).
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/file_tree.h"
#include "tools/sandbox/obeyed_survey.h"
#include "tools/sandbox/sight.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tools::sandbox {

struct ProtectedPlaces {
  using Path = std::filesystem::path;
  std::vector<Path> roots;    // folders that programs may write
  std::vector<Path> tops;     // these, and what is checked out in them
  std::vector<Path> files;    // single places in them that are obeyed
  std::vector<Path> crossed;  // folders in them that must not become links
  std::vector<Path> allowed;  // places in them that are not protected
  bool is_for_git = false;    // git itself runs, and no other program: it writes beside its data
  bool operator==(const ProtectedPlaces&) const = default;

  bool has(const Path& place) const;
  bool is_allowed(const Path& place) const;
  // Whether mounts, where there are some, keep programs from it, or from renaming that folder.
  bool is_mounted(const Path& place) const;
  bool leads_to_mounts(const Path& folder) const;
  const Path& root_of(const Path& place) const;  // itself where it is in none
};

struct Picture {
  using Path = std::filesystem::path;
  using Oddities = std::set<std::pair<Path, std::string>>;  // by the index
  struct GitFolder {
    struct stat status = {};
    agent::Descriptor handle;
    std::vector<struct stat> data;  // objects, refs, index
    // What is odd of its indexes; none where nobody has looked.
    std::optional<Oddities> oddities;
  };
  std::vector<Path> tops;                             // folders where names are obeyed
  std::map<Path, FileTree> places;                    // what is obeyed, where it is there
  std::map<Path, GitFolder> folders;                  // git's own
  std::map<Path, struct stat> roots;                  // the tops, as they were
  std::map<Path, struct stat> ways;                   // git's folders, and those that lead there
  std::vector<std::pair<Path, struct stat>> watched;  // folders that say when there are others
  bool is_behind_mounts = false;                      // all but what is obeyed by its name alone
};

// How far a picture tells what was there: what is in it, or was not there.
struct PictureExtent {
  using Path = std::filesystem::path;
  bool has_looked_into_git = false;
  // What was obeyed anywhere below the roots (obeyed_below.h) when a run began, and nothing else;
  // nullopt: it is a picture of calls.
  std::optional<std::map<Path, ObeyedPlace::Identity>> below;
  std::map<Path, std::string> files;  // ObeyedSurvey's, likewise
};

// What another call, run or process goes by.
struct OthersPicture {
  ProtectedPlaces places;
  Picture picture;  // tops, places, folders, roots and ways alone
  PictureExtent extent;
};

// Makes it, of what its places are about, the picture of the time before the others' programs could
// change anything. Returns the places that it then has otherwise than they stand there.
std::set<std::filesystem::path> take_over(Picture& picture,
                                          const ProtectedPlaces& places,
                                          const OthersPicture& others,
                                          Sight& sight);
// The same of what a run has just found that begins beside these.
void take_over(ObeyedSurvey& survey, const OthersPicture& others);

// As bytes, for a process of the same version on the same machine. From them; nullopt: they are
// none, or about other folders than these and what is in or around them.
std::string encode(const ProtectedPlaces& places,
                   const Picture& picture,
                   const PictureExtent& extent);
std::optional<OthersPicture> decode_picture(std::string_view bytes,
                                            const std::vector<std::filesystem::path>& roots);

// Whether one of the folders is, or lies in, one of the others.
bool overlap(const std::vector<std::filesystem::path>& some,
             const std::vector<std::filesystem::path>& others);
bool is_same_folder(const struct stat& a, const struct stat& b);  // with its mode

}  // namespace tools::sandbox

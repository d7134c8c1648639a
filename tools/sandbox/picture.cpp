#include "tools/sandbox/picture.h"

#include "tools/sandbox/places.h"
#include "tools/sandbox/repository.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ranges>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using Cbor = nlohmann::json;  // its strings are bytes, as paths are
using Status = struct stat;

bool contains(const std::vector<fs::path>& paths, const fs::path& path) {
  return std::ranges::find(paths, path) != paths.end();
}

bool is_the_folder(const Status& a, const Status& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode;
}

bool is_in_git_folder(const Picture& picture, const fs::path& place) {
  return std::ranges::any_of(picture.folders, [&](const auto& folder) {
    return place != folder.first && is_below(place, folder.first);
  });
}

// Whether the others would have seen what stood there.
bool has_seen(const OthersPicture& others, const fs::path& place) {
  const ProtectedPlaces& theirs = others.places;
  return theirs.has(place) && ((contains(others.picture.tops, place.parent_path()) &&
                                is_obeyed_name(place.filename().native())) ||
                               contains(theirs.files, place) || contains(theirs.crossed, place) ||
                               (others.extent.has_looked_into_git && !theirs.is_for_git &&
                                is_in_git_folder(others.picture, place)));
}

// Further below, a run judges what was made since it began, and no call does. Of what
// find_obeyed_below() finds.
bool is_made_in_run(const OthersPicture& others, const fs::path& place) {
  const std::optional<std::set<fs::path>>& before = others.extent.below;
  return before && others.places.has(place) && !before->contains(place) &&
         !contains(others.places.tops, place.parent_path());
}

bool is_found_by_name(const fs::path& place) {
  const std::string name = place.filename();
  return is_obeyed_anywhere(name) || is_obeyed_file(name);
}

template <typename Map>
void erase_below(Map& map, const std::set<fs::path>& places) {
  std::erase_if(map, [&](const auto& one) {
    for (fs::path at = one.first; at.has_relative_path(); at = at.parent_path()) {
      if (places.contains(at)) {
        return true;
      }
    }
    return false;
  });
}

void take_out_what_was_made(Picture& picture, const OthersPicture& others, TakenOver& taken) {
  const Picture& then = others.picture;
  for (const auto& [place, tree] : picture.places) {
    if ((has_seen(others, place) && !then.places.contains(place)) ||
        (is_found_by_name(place) && is_made_in_run(others, place))) {
      taken.made.insert(place);
    }
  }
  std::set<fs::path> repositories;  // without a name: a folder of the work has become one
  for (const auto& [folder, found] : picture.folders) {
    if ((has_seen(others, folder) && !then.folders.contains(folder)) ||
        (is_found_by_name(folder) && is_made_in_run(others, folder))) {
      taken.made.insert(folder);
    } else if ((contains(then.tops, folder) && !then.folders.contains(folder)) ||
               (contains(picture.tops, folder) && is_made_in_run(others, folder))) {
      repositories.insert(folder);
    }
  }
  erase_below(picture.places, taken.made);
  erase_below(picture.folders, taken.made);
  erase_below(picture.ways, taken.made);
  for (const fs::path& folder : repositories) {
    picture.folders.erase(folder);
  }
}

void put_in_what_was_there(Picture& picture,
                           const ProtectedPlaces& ours,
                           const OthersPicture& others,
                           TakenOver& taken) {
  const Picture& then = others.picture;
  for (const auto& [place, tree] : then.places) {
    const auto now = picture.places.find(place);
    const bool is_known = now != picture.places.end();
    const bool is_gits_to_change = ours.is_for_git && !is_known && is_in_git_folder(then, place);
    if (ours.has(place) && !is_gits_to_change && (!is_known || !now->second.is_same(tree))) {
      picture.places.insert_or_assign(place, tree);
      taken.changed.insert(place);
      taken.made.erase(place);
    }
  }
  for (const auto& [path, folder] : then.folders) {
    const auto now = picture.folders.find(path);
    if (ours.has(path) &&
        (now == picture.folders.end() || !is_the_folder(now->second.status, folder.status))) {
      picture.folders.insert_or_assign(
          path,
          Picture::GitFolder{
              .status = folder.status, .handle = {}, .data = {}, .oddities = std::nullopt});
      taken.made.erase(path);
    }
  }
  for (const auto& [way, status] : then.ways) {
    if (ours.has(way)) {
      picture.ways.insert_or_assign(way, status);
    }
  }
  for (auto& [top, status] : picture.roots) {
    if (const auto before = then.roots.find(top); before != then.roots.end()) {
      status = before->second;
    }
  }
}

Cbor list_of(const auto& paths) {
  Cbor all = Cbor::array();
  for (const fs::path& path : paths) {
    all.push_back(path.native());
  }
  return all;
}

template <typename List>
List paths_in(const Cbor& list) {
  List paths;
  for (const Cbor& one : list) {
    paths.insert(paths.end(), fs::path(one.get<std::string>()));
  }
  return paths;
}

Cbor pairs_of(const std::map<fs::path, Status>& statuses) {
  Cbor all = Cbor::array();
  for (const auto& [path, status] : statuses) {
    all.push_back({path.native(), kept_status(status)});
  }
  return all;
}

std::map<fs::path, Status> statuses_in(const Cbor& pairs) {
  std::map<fs::path, Status> statuses;
  for (const Cbor& one : pairs) {
    statuses.emplace(one.at(0).get<std::string>(), status_from(one.at(1)));
  }
  return statuses;
}

}  // namespace

bool ProtectedPlaces::is_allowed(const Path& place) const {
  return std::ranges::any_of(
      allowed, [&](const Path& one) { return is_below(place, one) || is_below(one, place); });
}

bool ProtectedPlaces::has(const Path& place) const {
  return std::ranges::any_of(roots, [&](const Path& root) { return is_below(place, root); }) &&
         !is_allowed(place);
}

bool ProtectedPlaces::is_mounted(const Path& place) const {
  return std::ranges::any_of(tops,
                             [&](const Path& top) {
                               return is_below(place, top / ".git") ||
                                      is_below(place, top / ".errand");
                             }) ||
         std::ranges::any_of(files, [&](const Path& file) { return is_below(place, file); });
}

bool ProtectedPlaces::leads_to_mounts(const Path& folder) const {
  const auto is_there = [&](const Path& place) { return is_below(place, folder); };
  return std::ranges::any_of(tops, is_there) || std::ranges::any_of(files, is_there);
}

const fs::path& ProtectedPlaces::root_of(const Path& place) const {
  const auto root =
      std::ranges::find_if(roots, [&](const Path& one) { return is_below(place, one); });
  return root == roots.end() ? place : *root;
}

TakenOver take_over(Picture& picture, const ProtectedPlaces& places, const OthersPicture& others) {
  TakenOver taken;
  take_out_what_was_made(picture, others, taken);
  put_in_what_was_there(picture, places, others, taken);
  return taken;
}

void take_over(ObeyedSurvey& survey, const OthersPicture& others) {
  const Picture& then = others.picture;
  std::set<fs::path> made;
  for (const auto& [place, identity] : survey.places) {
    const bool was_there = then.places.contains(place) || then.folders.contains(place);
    if ((has_seen(others, place) && !was_there) || is_made_in_run(others, place)) {
      made.insert(place);
    }
  }
  erase_below(survey.files, made);
  for (const fs::path& place : made) {
    survey.places.erase(place);
  }
  for (const auto& [file, fingerprint] : others.extent.files) {
    if (std::ranges::any_of(survey.roots,
                            [&](const fs::path& root) { return is_below(file, root); })) {
      survey.files.insert_or_assign(file, fingerprint);
    }
  }
}

std::string encode(const ProtectedPlaces& places,
                   const Picture& picture,
                   const PictureExtent& extent) {
  Cbor trees = Cbor::array();
  for (const auto& [path, tree] : picture.places) {
    trees.push_back({path.native(), tree.kept()});
  }
  std::map<fs::path, Status> folders;
  for (const auto& [path, folder] : picture.folders) {
    folders.emplace(path, folder.status);
  }
  Cbor fingerprints = Cbor::array();
  for (const auto& [path, fingerprint] : extent.files) {
    fingerprints.push_back({path.native(), fingerprint});
  }
  const Cbor all = {
      {"roots", list_of(places.roots)},
      {"protected_tops", list_of(places.tops)},
      {"files", list_of(places.files)},
      {"crossed", list_of(places.crossed)},
      {"allowed", list_of(places.allowed)},
      {"is_for_git", places.is_for_git},
      {"tops", list_of(picture.tops)},
      {"places", std::move(trees)},
      {"folders", pairs_of(folders)},
      {"statuses", pairs_of(picture.roots)},
      {"ways", pairs_of(picture.ways)},
      {"has_looked_into_git", extent.has_looked_into_git},
      {"below", extent.below ? list_of(*extent.below) : Cbor()},
      {"fingerprints", std::move(fingerprints)},
  };
  std::string bytes;
  Cbor::to_cbor(all, bytes);
  return bytes;
}

std::optional<OthersPicture> decode_picture(std::string_view bytes) {
  const Cbor kept = Cbor::from_cbor(bytes, true, false);
  try {
    using Paths = std::vector<fs::path>;
    OthersPicture others{
        .places = {.roots = paths_in<Paths>(kept.at("roots")),
                   .tops = paths_in<Paths>(kept.at("protected_tops")),
                   .files = paths_in<Paths>(kept.at("files")),
                   .crossed = paths_in<Paths>(kept.at("crossed")),
                   .allowed = paths_in<Paths>(kept.at("allowed")),
                   .is_for_git = kept.at("is_for_git").get<bool>()},
        .picture = {},
        .extent = {.has_looked_into_git = kept.at("has_looked_into_git").get<bool>(),
                   .below = std::nullopt,
                   .files = {}}};
    others.picture.tops = paths_in<Paths>(kept.at("tops"));
    for (const Cbor& one : kept.at("places")) {
      others.picture.places.emplace(one.at(0).get<std::string>(), FileTree::from(one.at(1)));
    }
    for (const auto& [path, status] : statuses_in(kept.at("folders"))) {
      others.picture.folders[path].status = status;
    }
    others.picture.roots = statuses_in(kept.at("statuses"));
    others.picture.ways = statuses_in(kept.at("ways"));
    if (const Cbor& below = kept.at("below"); !below.is_null()) {
      others.extent.below = paths_in<std::set<fs::path>>(below);
    }
    for (const Cbor& one : kept.at("fingerprints")) {
      others.extent.files.emplace(one.at(0).get<std::string>(), one.at(1).get<std::string>());
    }
    return others;
  } catch (const Cbor::exception&) {
    return std::nullopt;
  }
}

}  // namespace tools::sandbox

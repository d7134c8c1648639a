#include "tools/sandbox/picture.h"

#include "tools/sandbox/places.h"
#include "tools/sandbox/repository.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <ranges>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using Cbor = nlohmann::json;  // its strings are bytes, as paths are
using Status = struct stat;

constexpr std::size_t k_length_digits = 16;  // in front, of what says which folders it is about

bool contains(const std::vector<fs::path>& paths, const fs::path& path) {
  return std::ranges::find(paths, path) != paths.end();
}

bool is_in_git_folder(const Picture& picture, const fs::path& place) {
  return std::ranges::any_of(picture.folders, [&](const auto& folder) {
    return place != folder.first && is_below(place, folder.first);
  });
}

// Whether who goes by such a picture sees what stands there, or comes to.
bool looks_after(const ProtectedPlaces& places,
                 const Picture& picture,
                 bool looks_into_git,
                 const fs::path& place) {
  return places.has(place) &&
         ((contains(picture.tops, place.parent_path()) &&
           is_obeyed_name(place.filename().native())) ||
          contains(places.files, place) ||
          (looks_into_git && !places.is_for_git && is_in_git_folder(picture, place)));
}

bool has_seen(const OthersPicture& others, const fs::path& place) {
  return looks_after(others.places, others.picture, others.extent.has_looked_into_git, place);
}

bool is_found_by_name(const fs::path& place) {
  const std::string name = place.filename();
  return is_obeyed_anywhere(name) || is_obeyed_file(name);
}

// Another file by its old name may be an editor's doing: what is in it is compared.
bool is_known_by_number(const fs::path& place) {
  return !is_obeyed_file(place.filename().native());
}

// Further below, a run judges what was made since it began, and no call does. Of what
// find_obeyed_below() finds.
bool is_made_in_run(const OthersPicture& others,
                    const fs::path& place,
                    const ObeyedPlace::Identity& now) {
  const auto& before = others.extent.below;
  const bool is_for_calls =
      is_found_by_name(place) && contains(others.places.tops, place.parent_path());
  if (!before || !others.places.has(place) || is_for_calls) {
    return false;
  }
  const auto known = before->find(place);
  return known == before->end() || (is_known_by_number(place) && known->second != now);
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

void take_out_what_was_made(Picture& picture, const OthersPicture& others, Sight& sight) {
  const Picture& then = others.picture;
  std::set<fs::path> made;
  const auto is_made_below = [&](const fs::path& place) {
    return others.extent.below && is_made_in_run(others, place, identity_of(place, sight));
  };
  for (const auto& [place, tree] : picture.places) {
    const bool was_crossed = contains(others.places.crossed, place) && tree.is_link();
    if (((has_seen(others, place) || was_crossed) && !then.places.contains(place)) ||
        (is_found_by_name(place) && is_made_below(place))) {
      made.insert(place);
    }
  }
  std::set<fs::path> repositories;  // without a name: a folder of the work has become one
  for (const auto& [folder, found] : picture.folders) {
    if ((has_seen(others, folder) && !then.folders.contains(folder)) ||
        (is_found_by_name(folder) && is_made_below(folder))) {
      made.insert(folder);
    } else if ((contains(then.tops, folder) && !then.folders.contains(folder)) ||
               (contains(picture.tops, folder) && is_made_below(folder))) {
      repositories.insert(folder);
    }
  }
  erase_below(picture.places, made);
  erase_below(picture.folders, made);
  erase_below(picture.ways, made);
  for (const fs::path& folder : repositories) {
    picture.folders.erase(folder);
  }
}

void take_over_places(Picture& picture,
                      const ProtectedPlaces& ours,
                      const Picture& then,
                      std::set<fs::path>& changed) {
  for (const auto& [place, tree] : then.places) {
    const auto now = picture.places.find(place);
    const bool is_known = now != picture.places.end();
    if ((is_known || looks_after(ours, picture, true, place)) &&
        (!is_known || !now->second.is_same(tree))) {
      picture.places.insert_or_assign(place, tree);
      changed.insert(place);
    }
  }
}

void take_over_folders(Picture& picture, const ProtectedPlaces& ours, const Picture& then) {
  for (const auto& [path, before] : then.folders) {
    const auto now = picture.folders.find(path);
    const bool is_known = now != picture.folders.end();
    const bool is_itself = is_known && now->second.status.st_dev == before.status.st_dev &&
                           now->second.status.st_ino == before.status.st_ino;
    if (is_itself) {
      now->second.status = before.status;
      if (now->second.oddities && before.oddities) {
        std::erase_if(*now->second.oddities,
                      [&](const auto& odd) { return !before.oddities->contains(odd); });
      }
    } else if (is_known || looks_after(ours, picture, true, path)) {
      picture.folders.insert_or_assign(
          path,
          Picture::GitFolder{
              .status = before.status, .handle = {}, .data = {}, .oddities = before.oddities});
    }
  }
}

void take_over_ways(Picture& picture, const ProtectedPlaces& ours, const Picture& then) {
  for (const auto& [way, status] : then.ways) {
    const auto is_on_it = [&](const auto& one) { return is_below(one.first, way); };
    if (ours.has(way) && (std::ranges::any_of(picture.places, is_on_it) ||
                          std::ranges::any_of(picture.folders, is_on_it))) {
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

bool is_same_folder(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode;
}

bool overlap(const std::vector<fs::path>& some, const std::vector<fs::path>& others) {
  return std::ranges::any_of(some, [&](const fs::path& one) {
    return std::ranges::any_of(others, [&](const fs::path& other) {
      return is_below(one, other) || is_below(other, one);
    });
  });
}

std::set<fs::path> take_over(Picture& picture,
                             const ProtectedPlaces& places,
                             const OthersPicture& others,
                             Sight& sight) {
  std::set<fs::path> changed;
  take_out_what_was_made(picture, others, sight);
  take_over_places(picture, places, others.picture, changed);
  take_over_folders(picture, places, others.picture);
  take_over_ways(picture, places, others.picture);
  return changed;
}

void take_over(ObeyedSurvey& survey, const OthersPicture& others) {
  const Picture& then = others.picture;
  std::set<fs::path> made;
  for (const auto& [place, identity] : survey.places) {
    const bool was_there = then.places.contains(place) || then.folders.contains(place);
    if ((has_seen(others, place) && !was_there) || is_made_in_run(others, place, identity)) {
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
  Cbor folders = Cbor::array();
  for (const auto& [path, folder] : picture.folders) {
    Cbor odd = folder.oddities ? Cbor::array() : Cbor();
    for (const auto& [index, oddity] : folder.oddities.value_or(Picture::Oddities())) {
      odd.push_back({index.native(), oddity});
    }
    folders.push_back({path.native(), kept_status(folder.status), std::move(odd)});
  }
  Cbor below = extent.below ? Cbor::array() : Cbor();
  if (extent.below) {
    for (const auto& [path, identity] : *extent.below) {
      below.push_back({path.native(), kept_identity(identity)});
    }
  }
  Cbor fingerprints = Cbor::array();
  for (const auto& [path, fingerprint] : extent.files) {
    fingerprints.push_back({path.native(), fingerprint});
  }
  const Cbor all = {
      {"protected_tops", list_of(places.tops)},
      {"files", list_of(places.files)},
      {"crossed", list_of(places.crossed)},
      {"allowed", list_of(places.allowed)},
      {"is_for_git", places.is_for_git},
      {"tops", list_of(picture.tops)},
      {"places", std::move(trees)},
      {"folders", std::move(folders)},
      {"statuses", pairs_of(picture.roots)},
      {"ways", pairs_of(picture.ways)},
      {"has_looked_into_git", extent.has_looked_into_git},
      {"below", std::move(below)},
      {"fingerprints", std::move(fingerprints)},
  };
  std::string roots;
  Cbor::to_cbor(list_of(places.roots), roots);
  std::string bytes = fmt::format("{:0{}x}", roots.size(), k_length_digits) + roots;
  Cbor::to_cbor(all, bytes);
  return bytes;
}

std::optional<OthersPicture> decode_picture(std::string_view bytes,
                                            const std::vector<fs::path>& roots) {
  using Paths = std::vector<fs::path>;
  std::size_t length = 0;
  const char* const digits_end = bytes.data() + std::min(bytes.size(), k_length_digits);
  const auto [end, error] = std::from_chars(bytes.data(), digits_end, length, 16);
  if (error != std::errc() || bytes.size() < k_length_digits || end != digits_end ||
      length > bytes.size() - k_length_digits) {
    return std::nullopt;
  }
  try {
    const Cbor head = Cbor::from_cbor(bytes.substr(k_length_digits, length), true, false);
    Paths theirs = paths_in<Paths>(head);
    if (!overlap(theirs, roots)) {
      return std::nullopt;
    }
    const Cbor kept = Cbor::from_cbor(bytes.substr(k_length_digits + length), true, false);
    OthersPicture others{
        .places = {.roots = std::move(theirs),
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
    for (const Cbor& one : kept.at("folders")) {
      Picture::GitFolder folder{.status = status_from(one.at(1))};
      if (const Cbor& odd = one.at(2); !odd.is_null()) {
        folder.oddities.emplace();
        for (const Cbor& pair : odd) {
          folder.oddities->emplace(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
        }
      }
      others.picture.folders.emplace(one.at(0).get<std::string>(), std::move(folder));
    }
    others.picture.roots = statuses_in(kept.at("statuses"));
    others.picture.ways = statuses_in(kept.at("ways"));
    if (const Cbor& below = kept.at("below"); !below.is_null()) {
      others.extent.below.emplace();
      for (const Cbor& one : below) {
        others.extent.below->emplace(one.at(0).get<std::string>(), identity_from(one.at(1)));
      }
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

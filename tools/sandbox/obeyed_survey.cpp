#include "tools/sandbox/obeyed_survey.h"

#include "agent/descriptor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using Cbor = nlohmann::json;  // its strings are bytes, as paths are

constexpr std::string_view k_prefix = "survey-";
constexpr std::string_view k_unfinished = ".new";
constexpr off_t k_largest = 256 << 20;  // bytes

fs::path file_of(const fs::path& folder, std::uintptr_t name) {
  return folder / fmt::format("{}{:x}", k_prefix, name);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// By which device and number they go.
Cbor identities_of(const std::vector<fs::path>& roots) {
  Cbor all = Cbor::array();
  for (const fs::path& root : roots) {
    struct stat status = {};
    ::stat(root.c_str(), &status);
    all.push_back({status.st_dev, status.st_ino});
  }
  return all;
}

Cbor list_of(const std::vector<fs::path>& paths) {
  Cbor all = Cbor::array();
  for (const fs::path& path : paths) {
    all.push_back(path.native());
  }
  return all;
}

std::vector<fs::path> paths_in(const Cbor& list) {
  std::vector<fs::path> paths;
  for (const Cbor& one : list) {
    paths.emplace_back(one.get<std::string>());
  }
  return paths;
}

Cbor pairs_of(const std::map<fs::path, std::string>& fingerprints) {
  Cbor all = Cbor::array();
  for (const auto& [path, fingerprint] : fingerprints) {
    all.push_back({path.native(), fingerprint});
  }
  return all;
}

std::map<fs::path, std::string> fingerprints_in(const Cbor& pairs) {
  std::map<fs::path, std::string> fingerprints;
  for (const Cbor& one : pairs) {
    fingerprints.emplace(one.at(0).get<std::string>(), one.at(1).get<std::string>());
  }
  return fingerprints;
}

Cbor encoded(const ObeyedSurvey& survey) {
  Cbor places = Cbor::array();
  for (const auto& [path, identity] : survey.places) {
    places.push_back({path.native(), kept_identity(identity)});
  }
  Cbor ways = Cbor::array();
  for (const auto& [path, mode] : survey.ways) {
    ways.push_back({path.native(), mode});
  }
  return {{"boot", boot_id()},
          {"identities", identities_of(survey.roots)},
          {"roots", list_of(survey.roots)},
          {"tops", list_of(survey.tops)},
          {"single", list_of(survey.single)},
          {"allowed", list_of(survey.allowed)},
          {"places", std::move(places)},
          {"files", pairs_of(survey.files)},
          {"looked_after", pairs_of(survey.looked_after)},
          {"ways", std::move(ways)},
          {"time", {survey.time.tv_sec, survey.time.tv_nsec}},
          {"is_whole", survey.is_whole},
          {"has_mounts", survey.has_mounts}};
}

ObeyedSurvey decoded(const Cbor& kept) {
  ObeyedSurvey survey{.roots = paths_in(kept.at("roots")),
                      .tops = paths_in(kept.at("tops")),
                      .single = paths_in(kept.at("single")),
                      .allowed = paths_in(kept.at("allowed")),
                      .places = {},
                      .files = fingerprints_in(kept.at("files")),
                      .looked_after = fingerprints_in(kept.at("looked_after")),
                      .ways = {},
                      .time = {.tv_sec = kept.at("time").at(0).get<time_t>(),
                               .tv_nsec = kept.at("time").at(1).get<long>()},
                      .is_whole = kept.at("is_whole").get<bool>(),
                      .has_mounts = kept.at("has_mounts").get<bool>()};
  for (const Cbor& one : kept.at("places")) {
    survey.places.emplace(one.at(0).get<std::string>(), identity_from(one.at(1)));
  }
  for (const Cbor& one : kept.at("ways")) {
    survey.ways.emplace(one.at(0).get<std::string>(), one.at(1).get<std::uint32_t>());
  }
  return survey;
}

// Nullopt: nobody but errand writes it, and this is of another version; or its folders are others.
std::optional<ObeyedSurvey> read_survey(const fs::path& file, Sight& sight) {
  const agent::Descriptor opened = sight.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status = {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > k_largest) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (const ssize_t got = ::read(opened.get(), bytes.data(), bytes.size()); got != status.st_size) {
    sight.failed(got < 0 ? errno : 0, file);
    return std::nullopt;
  }
  const Cbor kept = Cbor::from_cbor(bytes, true, false);
  try {
    ObeyedSurvey survey = decoded(kept);
    const bool is_of_these =
        kept.at("boot") == boot_id() && kept.at("identities") == identities_of(survey.roots);
    return is_of_these ? std::optional(std::move(survey)) : std::nullopt;
  } catch (const Cbor::exception&) {
    return std::nullopt;
  }
}

std::vector<fs::path> surveys_in(const fs::path& folder, Sight& sight) {
  std::vector<fs::path> files;
  for (const Sight::Named& entry : sight.entries_of(folder)) {
    if (entry.name.starts_with(k_prefix)) {
      files.push_back(folder / entry.name);
    }
  }
  return files;
}

}  // namespace

void keep_survey(const ObeyedSurvey& survey, const fs::path& folder, std::uintptr_t name) {
  std::string bytes;
  Cbor::to_cbor(encoded(survey), bytes);
  const fs::path place = file_of(folder, name);
  const fs::path unfinished = fs::path(place) += k_unfinished;
  const agent::Descriptor file(::open(unfinished.c_str(),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                      S_IRUSR | S_IWUSR));
  if (file && agent::write_all(file.get(), bytes) == 0) {
    ::rename(unfinished.c_str(), place.c_str());
  } else if (file) {
    ::unlink(unfinished.c_str());
  }
}

void forget_survey(const fs::path& folder, std::uintptr_t name) {
  ::unlink(file_of(folder, name).c_str());
}

bool has_surveys(const fs::path& folder, Sight& sight) {
  return !surveys_in(folder, sight).empty();
}

std::vector<ObeyedSurvey> read_surveys(const fs::path& folder, Sight& sight) {
  std::vector<ObeyedSurvey> surveys;
  for (const fs::path& file : surveys_in(folder, sight)) {
    if (auto survey = read_survey(file, sight)) {
      surveys.push_back(*std::move(survey));
    }
  }
  return surveys;
}

void forget_surveys(const fs::path& folder) {
  Sight unheeded;
  for (const fs::path& file : surveys_in(folder, unheeded)) {
    ::unlink(file.c_str());
  }
}

}  // namespace tools::sandbox

#include "tools/sandbox/obeyed_survey.h"

#include "agent/descriptor.h"
#include "agent/sha256.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using Cbor = nlohmann::json;  // its strings are bytes, as paths are

constexpr std::string_view k_prefix = "survey-";
constexpr std::string_view k_unfinished = ".new";

fs::path file_of(const std::vector<fs::path>& roots, const fs::path& folder) {
  std::string all;
  for (const fs::path& root : roots) {
    all += root.native() + '\0';
  }
  return folder / (std::string(k_prefix) + agent::sha256_hex(all));
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

Cbor encoded(const ObeyedSurvey& survey, const std::vector<fs::path>& roots) {
  Cbor places = Cbor::array();
  for (const auto& [path, identity] : survey.places) {
    Cbor birth = identity.birth ? Cbor({identity.birth->first, identity.birth->second}) : Cbor();
    places.push_back({path.native(),
                      identity.device.first,
                      identity.device.second,
                      identity.number,
                      std::move(birth)});
  }
  Cbor files = Cbor::array();
  for (const auto& [path, fingerprint] : survey.files) {
    files.push_back({path.native(), fingerprint});
  }
  return {{"boot", boot_id()},
          {"roots", identities_of(roots)},
          {"places", std::move(places)},
          {"files", std::move(files)},
          {"time", {survey.time.tv_sec, survey.time.tv_nsec}},
          {"is_whole", survey.is_whole}};
}

ObeyedSurvey decoded(const Cbor& kept) {
  ObeyedSurvey survey;
  for (const Cbor& one : kept.at("places")) {
    ObeyedPlace::Identity identity;
    identity.device = {one.at(1).get<std::uint32_t>(), one.at(2).get<std::uint32_t>()};
    identity.number = one.at(3).get<std::uint64_t>();
    if (const Cbor& birth = one.at(4); !birth.is_null()) {
      identity.birth = {birth.at(0).get<std::int64_t>(), birth.at(1).get<std::uint32_t>()};
    }
    survey.places.emplace(one.at(0).get<std::string>(), identity);
  }
  for (const Cbor& one : kept.at("files")) {
    survey.files.emplace(one.at(0).get<std::string>(), one.at(1).get<std::string>());
  }
  survey.time = {.tv_sec = kept.at("time").at(0).get<time_t>(),
                 .tv_nsec = kept.at("time").at(1).get<long>()};
  survey.is_whole = kept.at("is_whole").get<bool>();
  return survey;
}

}  // namespace

void keep_survey(const ObeyedSurvey& survey,
                 const std::vector<fs::path>& roots,
                 const fs::path& folder) {
  std::string bytes;
  Cbor::to_cbor(encoded(survey, roots), bytes);
  const fs::path place = file_of(roots, folder);
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

std::optional<ObeyedSurvey> recall_survey(const std::vector<fs::path>& roots,
                                          const fs::path& folder) {
  std::ifstream file(file_of(roots, folder), std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const Cbor kept = Cbor::from_cbor(bytes, true, false);
  try {
    const bool is_of_these =
        kept.at("boot") == boot_id() && kept.at("roots") == identities_of(roots);
    return is_of_these ? std::optional(decoded(kept)) : std::nullopt;
  } catch (const Cbor::exception&) {  // nobody but errand writes it: of another version
    return std::nullopt;
  }
}

void forget_survey(const std::vector<fs::path>& roots, const fs::path& folder) {
  ::unlink(file_of(roots, folder).c_str());
}

}  // namespace tools::sandbox

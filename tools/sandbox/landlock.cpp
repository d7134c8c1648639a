#include "tools/sandbox/landlock.h"

#include "tools/sandbox/mounts.h"
#include "tools/sandbox/places.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

// As linux/landlock.h has them today; Debian 12's knows the second of seven versions.
struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};
constexpr int k_path_rule = 1;
constexpr unsigned k_ask_version = 1;

constexpr std::uint64_t k_execute = 1u << 0;
constexpr std::uint64_t k_write_file = 1u << 1;
constexpr std::uint64_t k_read_file = 1u << 2;
constexpr std::uint64_t k_read_folder = 1u << 3;
constexpr std::uint64_t k_make_character_device = 1u << 6;
constexpr std::uint64_t k_make_block_device = 1u << 11;
constexpr std::uint64_t k_truncate = 1u << 14;
constexpr std::uint64_t k_control_device = 1u << 15;
constexpr std::uint64_t k_of_files =
    k_execute | k_write_file | k_read_file | k_truncate | k_control_device;
constexpr std::uint64_t k_tcp = 3;     // bind and connect
constexpr std::uint64_t k_scopes = 3;  // abstract sockets and signals
// Whoever can make a device can read the disk behind it.
constexpr std::uint64_t k_never = k_make_character_device | k_make_block_device;

constexpr std::size_t k_most_entries = 10'000;  // of a folder whose files are opened one by one

std::uint64_t file_rights(int abi) {
  const int count = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (std::uint64_t{1} << count) - 1;
}

struct Place {
  std::string path;
  unsigned char kind = DT_UNKNOWN;  // as its folder has it
};

class Rules {
 public:
  explicit Rules(const Profile& profile)
      : abi_(landlock_abi()), all_(abi_ > 0 ? file_rights(abi_) : 0) {
    RulesetAttributes attributes{.files = all_,
                                 .network = abi_ >= 4 && !profile.has_sockets() ? k_tcp : 0,
                                 .scopes = abi_ >= 6 ? k_scopes : 0};
    const std::size_t size = abi_ >= 6 ? 24 : abi_ >= 4 ? 16 : 8;
    rules_ =
        Descriptor(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  }

  // What does not exist needs no rule.
  void allow(const std::string& path, std::uint64_t rights) { allow(Place{.path = path}, rights); }

  // All that is below the path and that `reading` does not close.
  void allow_open(const std::string& path, std::uint64_t rights, const ReadingRules& reading) {
    allow_open(Place{.path = path}, rights, reading);
  }
  std::uint64_t all() const { return all_; }
  Descriptor take() { return std::move(rules_); }

 private:
  void allow(const Place& place, std::uint64_t rights);
  void allow_open(const Place& place, std::uint64_t rights, const ReadingRules& reading);

  int abi_;
  std::uint64_t all_;
  Descriptor rules_;
};

// The kernel takes no rights of folders for anything else: what has become something else since its
// folder was read has no rule, or fewer rights.
void Rules::allow(const Place& place, std::uint64_t rights) {
  if (place.kind == DT_LNK) {
    return;
  }
  const Descriptor opened(::open(place.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  bool is_folder = place.kind == DT_DIR;
  if (place.kind == DT_UNKNOWN) {
    struct stat status = {};
    if (!opened || ::fstat(opened.get(), &status) != 0 || S_ISLNK(status.st_mode)) {
      return;
    }
    is_folder = S_ISDIR(status.st_mode);
  }
  const PathRule rule{.allowed = rights & all_ & (is_folder ? ~std::uint64_t{0} : k_of_files),
                      .parent = opened.get()};
  ::syscall(SYS_landlock_add_rule, rules_.get(), k_path_rule, &rule, 0);
}

std::vector<Place> places_in(const std::string& folder) {
  std::vector<Place> places;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  while (const dirent* entry = entries != nullptr ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      places.push_back({.path = prefix + std::string(name), .kind = entry->d_type});
    }
  }
  return places;
}

// A rule holds for all that is below: so where a part is closed, its neighbours are opened one by
// one, and what comes later to stand beside them is closed until the next call.
void Rules::allow_open(const Place& place, std::uint64_t rights, const ReadingRules& reading) {
  if (!may_read(reading, place.path)) {
    return;
  }
  if (!has_closed_inside(reading, place.path)) {
    allow(place, rights);
    return;
  }
  const std::vector<Place> inner = places_in(place.path);
  if (inner.size() > k_most_entries) {
    return;
  }
  const ReadingRules rules = rules_around(reading, place.path);
  for (const Place& one : inner) {
    allow_open(one, rights, rules);
  }
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, k_ask_version);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Descriptor landlock_rules(const Profile& profile, bool has_mounts) {
  Rules rules(profile);
  rules.allow("/", k_read_folder);  // names are no secrets
  const ReadingRules& reading = profile.reading;
  rules.allow_open("/", k_execute | k_read_file | k_read_folder, reading);
  for (const std::string& path : reading.open) {
    rules.allow_open(path, k_execute | k_read_file | k_read_folder, reading);
  }
  for (const std::string& path : profile.writable) {
    rules.allow_open(path, rules.all() & ~k_never, reading);
  }
  for (const std::string_view device : harmless_devices()) {
    rules.allow(std::string(device), k_read_file | k_write_file | k_truncate | k_control_device);
  }
  if (has_mounts) {
    rules.allow(k_shared_memory, rules.all() & ~k_never);
    rules.allow(k_terminals, k_read_file | k_write_file | k_read_folder | k_control_device);
    rules.allow(k_terminal_maker, k_read_file | k_write_file | k_control_device);
  }
  return rules.take();
}

int restrict_self(int rules) {
  return ::syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : errno;
}

}  // namespace tools::sandbox

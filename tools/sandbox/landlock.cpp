#include "tools/sandbox/landlock.h"

#include "tools/sandbox/mounts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

constexpr std::array<std::string_view, 5> k_devices = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

std::uint64_t file_rights(int abi) {
  const int count = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (std::uint64_t{1} << count) - 1;
}

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
  void allow(const std::string& path, std::uint64_t rights) {
    const Descriptor place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!place || ::fstat(place.get(), &status) != 0 || S_ISLNK(status.st_mode)) {
      return;
    }
    const PathRule rule{
        .allowed = rights & all_ & (S_ISDIR(status.st_mode) ? ~std::uint64_t{0} : k_of_files),
        .parent = place.get()};
    ::syscall(SYS_landlock_add_rule, rules_.get(), k_path_rule, &rule, 0);
  }

  void allow_reading_beside(const std::string& folder, const std::vector<std::string>& hidden);
  std::uint64_t all() const { return all_; }
  Descriptor take() { return std::move(rules_); }

 private:
  int abi_;
  std::uint64_t all_;
  Descriptor rules_;
};

// A rule holds for all that is below: so the way down to each secret place is opened beside it.
void Rules::allow_reading_beside(const std::string& folder,
                                 const std::vector<std::string>& hidden) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (entries == nullptr) {
    return;
  }
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") {
      continue;
    }
    const std::string path = prefix + std::string(name);
    if (std::ranges::find(hidden, path) != hidden.end()) {
      continue;
    }
    const bool leads_there = std::ranges::any_of(
        hidden, [&](const std::string& place) { return place.starts_with(path + "/"); });
    if (leads_there) {
      allow_reading_beside(path, hidden);
    } else {
      allow(path, k_read_file | k_execute);
    }
  }
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, k_ask_version);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Descriptor landlock_rules(const Profile& profile, bool has_mounts) {
  Rules rules(profile);
  if (has_mounts || profile.hidden.empty()) {
    rules.allow("/", k_execute | k_read_file | k_read_folder);
  } else {
    rules.allow("/", k_read_folder);  // names are no secrets
    rules.allow_reading_beside("/", profile.hidden);
  }
  for (const std::string& path : profile.writable) {
    rules.allow(path, rules.all() & ~k_never);
  }
  if (has_mounts) {
    rules.allow(k_shared_memory, rules.all() & ~k_never);
  }
  for (const std::string_view device : k_devices) {
    rules.allow(std::string(device), k_read_file | k_write_file | k_truncate | k_control_device);
  }
  return rules.take();
}

int restrict_self(int rules) {
  return ::syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : errno;
}

}  // namespace tools::sandbox

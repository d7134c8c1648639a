#include "tools/sandbox/enforcer.h"

#include "tools/sandbox/landlock.h"
#include "tools/sandbox/mounts.h"
#include "tools/sandbox/namespaces.h"
#include "tools/sandbox/system_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <iterator>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

constexpr std::uint64_t bit(int capability) {
  return std::uint64_t{1} << capability;
}

// What root's own programs need to work on files: install, archive, change owners.
constexpr std::uint64_t k_kept =
    bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_SETGID) | bit(CAP_SETUID);
constexpr int k_capabilities = 64;

// What no program can have again, by whatever file it runs.
void bound_capabilities() {
  for (int capability = 0; capability < k_capabilities; ++capability) {
    if ((k_kept & bit(capability)) == 0) {
      ::prctl(PR_CAPBSET_DROP, capability);  // as an ordinary user there is none to drop
    }
  }
}

int drop_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) {
    return errno;
  }
  for (std::size_t half = 0; half < sets.size(); ++half) {
    const auto kept = static_cast<std::uint32_t>(k_kept >> (32 * half));
    sets[half].permitted &= kept;
    sets[half].effective &= kept;
    sets[half].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, sets.data()) == 0 ? 0 : errno;
}

void limit(__rlimit_resource resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit now{};
  ::getrlimit(resource, &now);
  const rlimit wanted{.rlim_cur = std::min<rlim_t>(soft, now.rlim_max),
                      .rlim_max = std::min<rlim_t>(hard, now.rlim_max)};
  ::setrlimit(resource, &wanted);
}

}  // namespace

Enforcer::Enforcer(const Profile& profile)
    : profile_(profile), group_(ControlGroup::create(profile)) {
  const int landlock = landlock_abi();
  const Namespaces own = enter_namespaces(profile_.egress_proxy);
  const bool has_mounts = own.are_there && make_mounts_private(profile_);
  egress_proxy_ = own.has_network ? listen_in_private_network() : Descriptor();
  rules_ = landlock > 0 ? landlock_rules(profile_, has_mounts) : Descriptor();
  bound_capabilities();
  const bool has_filter = install(system_call_filter(profile_, landlock)) == 0;
  if (has_mounts) {
    layers_.add(Layer::mounts);
    std::ranges::copy_if(profile_.locked, std::back_inserter(mounted_), [](const std::string& at) {
      return ::faccessat(AT_FDCWD, at.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    });
  }
  if (egress_proxy_) {
    layers_.add(Layer::hosts);
  }
  if (rules_) {
    layers_.add(Layer::files);
  }
  if (has_filter) {
    layers_.add(Layer::system_calls);
    layers_.add(Layer::network);
  }
  if (rules_ && landlock >= 6) {
    layers_.add(Layer::signals);
  }
  count_limits();
}

// Without a group nobody counts root's processes: its limit is none.
void Enforcer::count_limits() {
  if (group_) {
    layers_.add(Layer::control_group);
  }
  if (profile_.memory) {
    layers_.add(Layer::memory);
  }
  if (profile_.cpu_time) {
    layers_.add(Layer::cpu_time);
  }
  if (profile_.processes && (group_ || ::geteuid() != 0)) {
    layers_.add(Layer::processes);
  }
}

int Enforcer::put_on() const {
  if (const int error = group_ ? group_->enter() : 0; error != 0) {
    return error;
  }
  limit(RLIMIT_CORE, 0, 0);
  if (profile_.memory && !group_) {
    limit(RLIMIT_AS, *profile_.memory, *profile_.memory);
  }
  if (profile_.cpu_time) {
    limit(RLIMIT_CPU, *profile_.cpu_time, *profile_.cpu_time + 1);
  }
  if (profile_.processes && !group_) {
    limit(RLIMIT_NPROC, *profile_.processes, *profile_.processes);
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return errno;
  }
  if (const int error = rules_ ? restrict_self(rules_.get()) : 0; error != 0) {
    return error;
  }
  return drop_capabilities();
}

bool Enforcer::have_locks_held() const {
  return layers_.has(Layer::mounts) && are_mounts(mounted_);
}

void Enforcer::kill_all() const {
  if (group_) {
    group_->kill();
  }
}

}  // namespace tools::sandbox

#include "tools/sandbox/system_calls.h"

#include "agent/descriptor.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <memory>
#include <seccomp.h>
#include <span>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

// Refused with EPERM, whatever the arguments. Names that an architecture lacks are left out.
constexpr auto k_refused = std::to_array<const char*>({
    // other processes
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "kcmp",
    "perf_event_open",
    // mounts and namespaces
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "move_mount",
    "open_tree",
    "mount_setattr",
    "unshare",
    "setns",
    "chroot",
    "open_by_handle_at",
    // ways round the rules on files and sockets
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "fanotify_init",
    // keys
    "add_key",
    "request_key",
    "keyctl",
    // the kernel itself
    "bpf",
    "userfaultfd",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "iopl",
    "ioperm",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "vhangup",
    "nfsservctl",
    "lookup_dcookie",
    "migrate_pages",
    "move_pages",
});

// Refused where the network is: a socket from elsewhere must not be of use, either.
constexpr auto k_of_sockets =
    std::to_array<const char*>({"connect", "bind", "listen", "accept", "accept4"});

constexpr auto k_new_namespaces = std::to_array<scmp_datum_t>({CLONE_NEWNS,
                                                               CLONE_NEWCGROUP,
                                                               CLONE_NEWUTS,
                                                               CLONE_NEWIPC,
                                                               CLONE_NEWUSER,
                                                               CLONE_NEWPID,
                                                               CLONE_NEWNET});
constexpr auto k_internet = std::to_array<int>({AF_INET, AF_INET6, AF_NETLINK});
constexpr scmp_datum_t k_low_half = 0xffff'ffff;  // an int, whatever stands above it
constexpr scmp_datum_t k_tiocsti = 0x5412;
constexpr scmp_datum_t k_tioclinux = 0x541c;
constexpr int k_fchmodat2 = 452;                       // libseccomp may be too old for its name
constexpr scmp_datum_t k_nameless_file = 020'000'000;  // O_TMPFILE without O_DIRECTORY
constexpr scmp_datum_t k_io_priority_of_process = 1;   // IOPRIO_WHO_PROCESS
constexpr scmp_datum_t k_core_scheduling = 62;         // PR_SCHED_CORE
constexpr scmp_datum_t k_socket_type = 0xf;            // without SOCK_CLOEXEC and SOCK_NONBLOCK

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release) {
    is_good_ =
        context_ != nullptr &&
        ::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0;
  }

  void refuse(const char* name, int error, std::span<const scmp_arg_cmp> conditions = {}) {
    refuse(::seccomp_syscall_resolve_name(name), error, conditions);
  }
  void refuse(int number, int error, std::span<const scmp_arg_cmp> conditions = {}) {
    if (number >= 0 && is_good_) {
      is_good_ = ::seccomp_rule_add_array(context_.get(),
                                          SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)),
                                          number,
                                          static_cast<unsigned>(conditions.size()),
                                          conditions.data()) == 0;
    }
  }
  void refuse_where(const char* name, int error, const scmp_arg_cmp& condition) {
    refuse(name, error, std::span(&condition, 1));
  }

  std::vector<sock_filter> program() const {
    const Descriptor file(::memfd_create("filter", MFD_CLOEXEC));
    if (!is_good_ || !file || ::seccomp_export_bpf(context_.get(), file.get()) != 0) {
      return {};
    }
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    std::vector<sock_filter> program(static_cast<std::size_t>(size) / sizeof(sock_filter));
    const ssize_t got = ::pread(file.get(), program.data(), static_cast<std::size_t>(size), 0);
    return got == size ? program : std::vector<sock_filter>{};
  }

 private:
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  bool is_good_ = false;
};

scmp_arg_cmp has_bits(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

scmp_arg_cmp is(unsigned argument, scmp_datum_t value) {
  return has_bits(argument, k_low_half, value & k_low_half);
}

// Internet sockets pass where they may. A datagram socket of a pair could still speak to any
// socket with a name, so pairs are streams.
void refuse_sockets(Filter& filter, bool allows_network) {
  if (!allows_network) {
    filter.refuse("socket", EACCES);
    for (const char* name : k_of_sockets) {
      filter.refuse(name, EACCES);
    }
  } else {
    int from = 0;
    for (const int family : k_internet) {  // in rising order: what lies between is refused
      for (; from < family; ++from) {
        filter.refuse_where("socket", EACCES, is(0, static_cast<scmp_datum_t>(from)));
      }
      from = family + 1;
    }
    filter.refuse_where(
        "socket",
        EACCES,
        {.arg = 0, .op = SCMP_CMP_GE, .datum_a = static_cast<scmp_datum_t>(from), .datum_b = 0});
  }
  filter.refuse_where(
      "socketpair", EACCES, {.arg = 0, .op = SCMP_CMP_NE, .datum_a = AF_UNIX, .datum_b = 0});
  filter.refuse_where("socketpair", EACCES, has_bits(1, k_socket_type, SOCK_DGRAM));
  filter.refuse_where("socketpair", EACCES, has_bits(1, k_socket_type, SOCK_RAW));
}

// Processor, priority and input and output of a process are its own to set: the caller is 0, and
// another process is named by its number, by its group or by its user. What `taskset`, `nice`,
// `ionice` and `chrt` do to the program that they start is allowed; a thread that names itself by
// its number is refused, since no filter can tell whose number that is.
void refuse_scheduling_of_others(Filter& filter) {
  const auto refuse_others = [&](const char* name, unsigned argument, scmp_datum_t own) {
    filter.refuse_where(
        name, EPERM, {.arg = argument, .op = SCMP_CMP_NE, .datum_a = own, .datum_b = 0});
  };
  for (const char* name :
       {"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"}) {
    refuse_others(name, 0, 0);
  }
  refuse_others("setpriority", 0, PRIO_PROCESS);
  refuse_others("setpriority", 1, 0);
  refuse_others("ioprio_set", 0, k_io_priority_of_process);
  refuse_others("ioprio_set", 1, 0);
  filter.refuse_where("prctl", EPERM, is(0, k_core_scheduling));
}

// A file that is opened for reading alone can be emptied by it.
void refuse_truncation(Filter& filter) {
  filter.refuse("truncate", EPERM);
  filter.refuse("truncate64", EPERM);
  constexpr scmp_datum_t k_mask = O_TRUNC | O_ACCMODE;
  filter.refuse_where("open", EPERM, has_bits(1, k_mask, O_TRUNC | O_RDONLY));
  filter.refuse_where("openat", EPERM, has_bits(2, k_mask, O_TRUNC | O_RDONLY));
}

void refuse_mode_bit(Filter& filter, scmp_datum_t bit) {
  const auto refuse_mode = [&](const auto& call, unsigned mode) {
    const scmp_arg_cmp condition = has_bits(mode, bit, bit);
    filter.refuse(call, EPERM, std::span(&condition, 1));
  };
  refuse_mode("chmod", 1);
  refuse_mode("fchmod", 1);
  refuse_mode("fchmodat", 2);
  refuse_mode(k_fchmodat2, 2);
  refuse_mode("creat", 1);
  refuse_mode("mknod", 1);
  refuse_mode("mknodat", 2);
  for (const scmp_datum_t flag :
       {scmp_datum_t{O_CREAT}, k_nameless_file}) {  // else there is no mode
    const std::array open{has_bits(1, flag, flag), has_bits(2, bit, bit)};
    const std::array openat{has_bits(2, flag, flag), has_bits(3, bit, bit)};
    filter.refuse("open", EPERM, open);
    filter.refuse("openat", EPERM, openat);
  }
}

// A program of the user's own that whoever starts it runs as the user: no_new_privs holds only for
// who is confined. Groups are of importance where they are root's.
void refuse_set_user_id(Filter& filter) {
  refuse_mode_bit(filter, S_ISUID);
  if (::geteuid() == 0) {
    refuse_mode_bit(filter, S_ISGID);
  }
  filter.refuse("openat2", ENOSYS);  // its mode lies in memory
}

void refuse_signals(Filter& filter, const std::vector<pid_t>& untouchable) {
  filter.refuse_where("kill", EPERM, is(0, static_cast<scmp_datum_t>(-1)));
  filter.refuse("pidfd_send_signal", ENOSYS);          // a folder in /proc will do for it
  for (const int command : {F_SETOWN, F_SETOWN_EX}) {  // whom a file's readiness is signalled
    filter.refuse_where("fcntl", EPERM, is(1, static_cast<scmp_datum_t>(command)));
  }
  for (const pid_t pid : untouchable) {
    for (const char* name :
         {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"}) {
      filter.refuse_where(name, EPERM, is(0, static_cast<scmp_datum_t>(pid)));
    }
    filter.refuse_where("kill", EPERM, is(0, static_cast<scmp_datum_t>(-pid)));
  }
}

}  // namespace

std::vector<sock_filter> system_call_filter(const Profile& profile, int landlock) {
  Filter filter;
  for (const char* name : k_refused) {
    filter.refuse(name, EPERM);
  }
  for (const scmp_datum_t flag : k_new_namespaces) {
    filter.refuse_where("clone", EPERM, has_bits(0, flag, flag));
  }
  filter.refuse("clone3", ENOSYS);  // its flags lie in memory, where no filter sees them
  // A limit that is exceeded is a signal: those of other processes are theirs.
  filter.refuse_where(
      "prlimit64", EPERM, {.arg = 0, .op = SCMP_CMP_NE, .datum_a = 0, .datum_b = 0});
  filter.refuse_where("ioctl", EPERM, is(1, k_tiocsti));
  filter.refuse_where("ioctl", EPERM, is(1, k_tioclinux));
  refuse_scheduling_of_others(filter);
  refuse_set_user_id(filter);
  refuse_sockets(filter, profile.has_sockets());
  if (landlock < 3) {
    refuse_truncation(filter);
  }
  if (landlock < 6) {
    refuse_signals(filter, profile.untouchable);
  }
  return filter.program();
}

int install(const std::vector<sock_filter>& filter) {
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = const_cast<sock_filter*>(filter.data())};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return errno;
  }
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

}  // namespace tools::sandbox

#include "tools/sandbox/control_group.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

constexpr std::uint64_t k_most_processes = 4'194'304;  // what pids.max takes, on any machine
constexpr int k_removals = 50;
constexpr std::chrono::milliseconds k_removal_pause{2};

std::string read_at(int folder, const char* name) {
  const Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; file && (got = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool write_at(int folder, const char* name, std::string_view text) {
  const Descriptor file(::openat(folder, name, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The kernel writes spaces, and what else would break a line of mountinfo, as \040.
std::string unescaped(std::string_view word) {
  std::string text;
  while (!word.empty()) {
    int code = 0;
    const bool is_escape = word.front() == '\\' && word.size() >= 4 &&
                           std::from_chars(&word[1], &word[1] + 3, code, 8).ptr == &word[1] + 3;
    text += is_escape ? static_cast<char>(code) : word.front();
    word.remove_prefix(is_escape ? 4 : 1);
  }
  return text;
}

struct Mount {
  std::string root;  // the group that is seen at `point`
  std::string point;
};

// "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw": the fourth and fifth
// word, where the one after the dash says so.
std::optional<Mount> group_mount(std::string_view line) {
  if (!line.substr(std::min(line.find(" - "), line.size())).starts_with(" - cgroup2 ")) {
    return std::nullopt;
  }
  for (int skipped = 0; skipped < 3; ++skipped) {
    take_word(line);
  }
  Mount mount{.root = unescaped(take_word(line)), .point = {}};
  mount.point = unescaped(take_word(line));
  return mount;
}

// "0::/user.slice/…": cgroup v2 is hierarchy 0, and no controller has a hierarchy of that name.
std::optional<std::string_view> own_group(std::string_view groups) {
  while (!groups.empty()) {
    std::string_view line = take_line(groups);
    if (line.starts_with("0::/")) {
      line.remove_prefix(3);
      return line;
    }
  }
  return std::nullopt;
}

// nullopt: "max", or there is no such file.
std::optional<std::uint64_t> number_at(int folder, const char* name) {
  const std::string text = read_at(folder, name);
  std::uint64_t number = 0;
  const bool is_number =
      std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> one,
                                     std::optional<std::uint64_t> other) {
  return one && other ? std::min(*one, *other) : (one ? one : other);
}

std::vector<std::string> places_of_this_process() {
  return group_places(read_at(AT_FDCWD, "/proc/self/mountinfo"),
                      read_at(AT_FDCWD, "/proc/self/cgroup"));
}

Descriptor open_folder(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// No two processes have a number at the same time, so that the group of a dead one is found by it.
std::string group_name(pid_t shim) {
  return "errand-" + std::to_string(shim);
}

// Kernels may count a process in for a moment after it was reaped.
void remove_group(int place, const std::string& name) {
  for (int left = k_removals;
       ::unlinkat(place, name.c_str(), AT_REMOVEDIR) != 0 && errno == EBUSY && left > 0;
       --left) {
    std::this_thread::sleep_for(k_removal_pause);
  }
}

}  // namespace

std::vector<std::string> group_places(std::string_view mounts, std::string_view groups) {
  const auto own = own_group(groups);
  while (own && !mounts.empty()) {
    const auto mount = group_mount(take_line(mounts));
    if (!mount) {
      continue;
    }
    const std::string root = mount->root == "/" ? "" : mount->root;
    const std::string below = *own == "/" ? "" : std::string(*own);
    if (below == root) {
      return {mount->point};
    }
    if (below.starts_with(root + "/") && !below.contains("/../")) {
      const std::string folder = mount->point + below.substr(root.size());
      return {folder, folder.substr(0, folder.rfind('/'))};
    }
  }
  return {};
}

std::optional<ControlGroup> ControlGroup::create(const Profile& profile) {
  const auto places =
      profile.memory || profile.processes ? places_of_this_process() : std::vector<std::string>();
  if (places.empty()) {
    return std::nullopt;
  }
  // What this process itself may not exceed, its programs may not either.
  const Descriptor own = open_folder(places.front());
  const auto memory = smaller(profile.memory, number_at(own.get(), "memory.max"));
  const auto processes = smaller(profile.processes, number_at(own.get(), "pids.max"));
  for (const std::string& place : places) {
    ControlGroup group(place);
    if (group.is_usable() && (!memory || group.limit_memory(*memory)) &&
        (!processes || group.limit_processes(*processes))) {
      return group;
    }
  }
  return std::nullopt;
}

ControlGroup::ControlGroup(const std::string& place)
    : name_(group_name(::getpid())), place_(open_folder(place)) {
  // Who moves a process needs this right in the group that is around both of its groups.
  if (!place_ || ::faccessat(place_.get(), "cgroup.procs", W_OK, 0) != 0) {
    return;
  }
  int made = ::mkdirat(place_.get(), name_.c_str(), 0755);
  if (made != 0 && errno == EEXIST) {  // left by a process of this number that nobody survived
    remove_group(place_.get(), name_);
    made = ::mkdirat(place_.get(), name_.c_str(), 0755);
  }
  if (made != 0) {
    return;
  }
  const auto open_in = [this](const char* name, int flags) {
    return Descriptor(::openat(folder_.get(), name, flags | O_CLOEXEC));
  };
  folder_ = Descriptor(::openat(place_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  processes_ = open_in("cgroup.procs", O_WRONLY);
  end_ = open_in("cgroup.kill", O_WRONLY);
  events_ = open_in("memory.events", O_RDONLY);
}

ControlGroup::~ControlGroup() {
  if (folder_) {
    remove_group(place_.get(), name_);
  }
}

// Below a group whose threads are counted one by one there are none for whole processes.
bool ControlGroup::is_usable() const {
  return processes_ && read_at(folder_.get(), "cgroup.type") == "domain\n";
}

// All of them end, not the largest alone: who waits for that one would go on with half a result.
bool ControlGroup::limit_memory(std::uint64_t bytes) const {
  return write_at(folder_.get(), "memory.max", std::to_string(bytes)) &&
         write_at(folder_.get(), "memory.oom.group", "1") &&
         // A kernel that does not count what is swapped out has no such file.
         (write_at(folder_.get(), "memory.swap.max", "0") || errno == ENOENT);
}

bool ControlGroup::limit_processes(std::uint64_t most) const {
  return write_at(folder_.get(), "pids.max", std::to_string(std::min(most, k_most_processes)));
}

int ControlGroup::enter() const {
  return ::write(processes_.get(), "0", 1) == 1 ? 0 : errno;
}

void ControlGroup::kill() const {
  if (end_) {
    [[maybe_unused]] const ssize_t ignored = ::write(end_.get(), "1", 1);
  }
}

// "low 0\nhigh 0\nmax 31\noom 2\n…"
std::uint64_t ControlGroup::shortages() const {
  std::array<char, 512> buffer;
  const ssize_t got = events_ ? ::pread(events_.get(), buffer.data(), buffer.size(), 0) : 0;
  std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == "oom") {
      std::uint64_t count = 0;
      std::from_chars(line.data(), line.data() + line.size(), count);
      return count;
    }
  }
  return 0;
}

void remove_group_of(pid_t shim) {
  for (const std::string& path : places_of_this_process()) {
    if (const Descriptor place = open_folder(path)) {
      remove_group(place.get(), group_name(shim));
    }
  }
}

}  // namespace tools::sandbox

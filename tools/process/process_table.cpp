#include "tools/process/process_table.h"

#include "agent/descriptor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace tools {
namespace {

using agent::Descriptor;

struct Entry {
  pid_t pid = 0;
  pid_t parent = 0;
};

std::optional<std::string> read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

pid_t to_pid(std::string_view text) {
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

// "17 (name, which may hold ) and spaces) S 4 …": the parent is the second field after the name.
pid_t parent_of(const std::string& pid) {
  const std::optional<std::string> stat = read_whole("/proc/" + pid + "/stat");
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 4 > stat->size()) {
    return 0;
  }
  return to_pid(std::string_view(*stat).substr(name_end + 4));
}

std::vector<Entry> process_table() {
  std::vector<Entry> table;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) {
    return table;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = &entry->d_name[0];
    if (const pid_t pid = to_pid(name); pid > 0) {
      table.push_back({.pid = pid, .parent = parent_of(name)});
    }
  }
  ::closedir(folder);
  return table;
}

void append_children(const std::vector<Entry>& table, pid_t parent, std::vector<pid_t>& pids) {
  for (const Entry& entry : table) {
    if (entry.parent == parent) {
      pids.push_back(entry.pid);
    }
  }
}

}  // namespace

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> pids;
  // Cheaper than the table; not every kernel is built with it.
  const std::optional<std::string> list = read_whole("/proc/thread-self/children");
  if (!list) {
    append_children(process_table(), ::getpid(), pids);
    return pids;
  }
  for (std::size_t start = 0; start < list->size();) {
    const std::size_t end = std::min(list->find(' ', start), list->size());
    if (const pid_t pid = to_pid(std::string_view(*list).substr(start, end - start)); pid > 0) {
      pids.push_back(pid);
    }
    start = end + 1;
  }
  return pids;
}

std::vector<pid_t> descendants_of_this_process() {
  const std::vector<Entry> table = process_table();
  std::vector<pid_t> pids;
  append_children(table, ::getpid(), pids);
  // The list grows while it is walked. The table is no snapshot, and numbers are used again: a
  // circle in it must not make this endless.
  for (std::size_t i = 0; i < pids.size() && pids.size() <= table.size(); ++i) {
    append_children(table, pids[i], pids);
  }
  return pids;
}

void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) {
    return;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (int number = first; number < static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
       ++number) {
    ::close(number);
  }
}

}  // namespace tools

// What /proc says about processes, for those who have to end them.
#pragma once
#include <sys/types.h>
#include <vector>

namespace tools {

// Those whose parent is this (single-threaded) process. Some of them may be dead already.
std::vector<pid_t> children_of_this_process();

// Every descendant of this process, parents before their children.
std::vector<pid_t> descendants_of_this_process();

// Closes every descriptor from `first` on. Async-signal-safe.
void close_from(int first);

}  // namespace tools

// What other processes write into a journal while this one works.
#pragma once
#include "agent/event.h"
#include "agent/result.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace agent::store {

// The events of one run and of all that work for it, wherever they are at work. Not of forks: what
// they begin with is another run's.
class JournalWatch {
 public:
  // Of a run that a process began or carried on at that time (since the epoch): whether it is this
  // process that writes its events, and needs not be told them.
  using IsOurs = std::function<bool(const std::string& run_id, std::chrono::milliseconds begun)>;
  using Take = std::function<void(const Event&)>;

  // Begins now. storage.* as list_runs().
  static Result<std::unique_ptr<JournalWatch>> open(const std::filesystem::path& file,
                                                    std::string whole);
  ~JournalWatch();

  // Hands over what is new, once, of runs that a process has begun or carried on since open(), or
  // was at work on then: those of their events that say what a request has cost, in order. Some may
  // be older, or this process's own.
  Result<void> look(const IsOurs& is_ours, const Take& take);

 private:
  struct Impl;
  explicit JournalWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace agent::store

// What other processes spend meanwhile on a run and its members: on those that each are carried on
// by themselves.
#pragma once
#include "agent/event.h"
#include "agent/store/journal_watch.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace cli {

// Thread-safe.
class SpentElsewhere {
 public:
  // Null where the journal cannot be read.
  static std::unique_ptr<SpentElsewhere> from_now_on(const std::filesystem::path& journal,
                                                     const std::string& run_id);

  explicit SpentElsewhere(std::unique_ptr<agent::store::JournalWatch> watch)
      : watch_(std::move(watch)) {}

  // What is told here is of this process.
  void note_own(const agent::Event& event);
  // As JournalWatch::look(), some milliseconds after the last time. What cannot be read now is
  // read the next time.
  void look(const agent::store::JournalWatch::Take& take);

 private:
  std::mutex mutex_;
  const std::unique_ptr<agent::store::JournalWatch> watch_;
  std::map<std::string, std::chrono::milliseconds> begun_here_;  // when, last
  std::optional<std::chrono::steady_clock::time_point> looked_;
};

}  // namespace cli

#include "cli/spent_elsewhere.h"

#include <variant>

namespace cli {

// What is spent between two looks counts as under way at the same time.
constexpr std::chrono::milliseconds k_pause{20};

std::unique_ptr<SpentElsewhere> SpentElsewhere::from_now_on(const std::filesystem::path& journal,
                                                            const std::string& run_id) {
  auto watch = agent::store::JournalWatch::open(journal, run_id);
  return watch ? std::make_unique<SpentElsewhere>(*std::move(watch)) : nullptr;
}

void SpentElsewhere::note_own(const agent::Event& event) {
  if (std::holds_alternative<agent::RunStarted>(event.body)) {
    const std::lock_guard lock(mutex_);
    begun_here_[event.run_id] =
        std::chrono::floor<std::chrono::milliseconds>(event.time.time_since_epoch());
  }
}

void SpentElsewhere::look(const agent::store::JournalWatch::Take& take) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (looked_ && now - *looked_ < k_pause) {
    return;
  }
  looked_ = now;
  const auto is_ours = [this](const std::string& run_id, std::chrono::milliseconds begun) {
    const auto here = begun_here_.find(run_id);
    return here != begun_here_.end() && here->second == begun;
  };
  const auto read = watch_->look(is_ours, take);
  static_cast<void>(read);
}

}  // namespace cli

#include "cli/serve/outbox.h"

#include <utility>

namespace cli {
namespace {

constexpr std::size_t k_room = 1u << 20;  // bytes
constexpr std::size_t k_idle = 64u << 10;

}  // namespace

Outbox::Outbox(int descriptor, agent::WritePatience& patience, std::function<void(int)> on_failure)
    : descriptor_(descriptor),
      patience_(patience),
      on_failure_(std::move(on_failure)),
      thread_([this] { write_all_of_it(); }) {}

Outbox::~Outbox() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Outbox::put(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) {
    return;
  }
  bytes_ += bytes.size();
  waiting_.push_back(std::move(bytes));
  changed_.notify_all();
}

void Outbox::put_if_idle(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!has_failed_ && bytes_ < k_idle) {
    bytes_ += bytes.size();
    waiting_.push_back(std::move(bytes));
    changed_.notify_all();
  }
}

bool Outbox::has_room() const {
  const std::lock_guard lock(mutex_);
  return has_failed_ || bytes_ < k_room;
}

void Outbox::write_all_of_it() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const std::string bytes = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const int error = agent::write_all(descriptor_, bytes, &patience_);
    if (error != 0) {
      on_failure_(error);
    }
    lock.lock();
    bytes_ -= bytes.size();
    if (error != 0) {
      has_failed_ = true;
      waiting_.clear();
      bytes_ = 0;
    }
  }
}

}  // namespace cli

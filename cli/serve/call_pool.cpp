#include "cli/serve/call_pool.h"

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

namespace cli {

CallPool::~CallPool() {
  finish(
      {.error = agent::Error{.code = agent::Code::run_cancelled, .message = "the server has ended"},
       .signal = 0});
}

CallPool::Taken CallPool::begin(Key key, bool takes_turns, Work work, Sign sign) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const Entry& entry) { return !entry.is_answered && entry.key == key; };
  if (std::ranges::any_of(entries_, is_it)) {
    return Taken::twice;
  }
  if (is_over_ || entries_.size() >= options_.most_running + options_.most_waiting) {
    return Taken::full;
  }
  if (!start_signs()) {
    return Taken::full;
  }
  const auto waiting =
      static_cast<std::size_t>(std::ranges::count(entries_, false, &Entry::is_running));
  if (idle_ <= waiting && threads_.size() < options_.most_running && !start_thread() &&
      threads_.empty()) {
    return Taken::full;
  }
  Entry& entry = entries_.emplace_back();
  entry.key = std::move(key);
  entry.takes_turns = takes_turns;
  entry.work = std::move(work);
  entry.sign = std::move(sign);
  changed_.notify_all();
  return Taken::yes;
}

bool CallPool::start_thread() {
  try {
    threads_.emplace_back([this] { serve(); });
    ++idle_;
    return true;
  } catch (const std::system_error&) {
    return false;  // with fewer it takes longer
  }
}

bool CallPool::start_signs() {
  try {
    if (!signs_.joinable()) {
      signs_ = std::jthread([this](const std::stop_token& stop) { give_signs(stop); });
    }
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void CallPool::give_signs(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto never = [] { return false; };
  for (;;) {
    no_more_signs_.wait_for(lock, stop, options_.sign_every, never);
    if (stop.stop_requested()) {
      return;
    }
    for (const Entry& entry : entries_) {
      if (!entry.is_answered && entry.call.is_wanted) {
        entry.sign(entry.is_running);
      }
    }
  }
}

void CallPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = this->next();
    if (next == entries_.end()) {
      if (is_over_) {
        return;
      }
      changed_.wait(lock);
      continue;
    }
    next->is_running = true;
    --idle_;
    lock.unlock();
    perform(*next);
    lock.lock();
    ++idle_;
    entries_.erase(next);
    changed_.notify_all();
  }
}

// The first that may begin.
std::list<CallPool::Entry>::iterator CallPool::next() {
  const bool is_turn_taken = std::ranges::any_of(
      entries_, [](const Entry& entry) { return entry.is_running && entry.takes_turns; });
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return !entry.is_running && !(entry.takes_turns && is_turn_taken);
  });
}

// The second time: at once.
void CallPool::perform(Entry& entry) {
  const auto stop = [&] {
    if (const int signal = whole_.signal_number(); signal != 0) {
      entry.call.cancellation.signal(signal);
    }
  };
  const std::stop_callback stopped(whole_.stop(), stop);
  const std::stop_callback killed(whole_.kill(), stop);
  entry.work(entry.call);
}

void CallPool::cancel(const Key& key, const agent::Ending& why) {
  cancel_where([&](const Key& one) { return one == key; }, why);
}

void CallPool::cancel_all_of(std::uint64_t client, const agent::Ending& why) {
  cancel_where([&](const Key& one) { return one.client == client; }, why);
}

bool CallPool::take_answered(PooledCall& call) {
  const std::lock_guard lock(mutex_);
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& one) { return &one.call == &call; });
  if (entry != entries_.end()) {
    entry->is_answered = true;
  }
  return call.is_wanted;
}

bool CallPool::has_any_of(std::uint64_t client) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_,
                             [&](const Entry& entry) { return entry.key.client == client; });
}

// Those that wait are done with at once, and leave their places to others.
void CallPool::cancel_where(const std::function<bool(const Key&)>& is_meant,
                            const agent::Ending& why) {
  std::list<Entry> left;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = entries_.begin(); next != entries_.end();) {
      const auto entry = next++;
      if (!entry->is_answered && is_meant(entry->key)) {
        entry->call.is_wanted = false;
        entry->call.cancellation.end(why);
        if (!entry->is_running) {
          left.splice(left.end(), entries_, entry);
        }
      }
    }
  }
  for (Entry& entry : left) {
    entry.work(entry.call);
  }
}

void CallPool::finish(const agent::Ending& why) {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (Entry& entry : entries_) {
      entry.call.cancellation.end(why);
    }
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  signs_ = {};
}

}  // namespace cli

#include "tools/runner/live_output.h"

#include <fmt/format.h>

#include <utility>

namespace tools {
namespace {

constexpr std::size_t k_max_pending = 256 << 10;

}  // namespace

void CallUpdateQueue::post(std::size_t sender, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  CallUpdate& update = updates_[sender];
  if (update.dropped > 0 || update.bytes.size() + bytes.size() > k_max_pending) {
    update.dropped += bytes.size();
  } else {
    update.bytes += bytes;
  }
  news_.notify_one();
}

void CallUpdateQueue::finish(std::size_t sender, Done done) {
  const std::lock_guard lock(mutex_);
  updates_[sender].done = std::move(done);
  news_.notify_one();
}

void CallUpdateQueue::perform(std::size_t sender, std::function<void()> task) {
  if (std::this_thread::get_id() == owner_) {  // a call that got no thread of its own
    task();
    return;
  }
  std::packaged_task<void()> posted(std::move(task));
  std::future<void> done = posted.get_future();
  {
    const std::lock_guard lock(mutex_);
    updates_[sender].tasks.push_back(std::move(posted));
    news_.notify_one();
  }
  done.get();
}

std::vector<CallUpdate> CallUpdateQueue::collect() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return !updates_.empty(); });
  std::vector<CallUpdate> collected;
  for (auto& [sender, update] : std::exchange(updates_, {})) {
    update.sender = sender;
    collected.push_back(std::move(update));
  }
  return collected;
}

LiveText::LiveText(const agent::Redactor* redactor) : redactor_(redactor) {
  if (redactor_ != nullptr) {
    secrets_.emplace(*redactor_);
  }
}

std::string LiveText::feed(const CallUpdate& update) {
  std::string_view bytes = update.bytes;
  if (skips_line_) {
    const std::size_t end = bytes.find('\n');
    skips_line_ = end == std::string_view::npos;
    bytes.remove_prefix(skips_line_ ? bytes.size() : end);
  }
  std::string text = clean(bytes);
  if (update.dropped > 0) {
    text += start_anew(update.dropped);
  }
  return text;
}

std::string LiveText::finish() {
  std::string text = secrets_ ? utf8_.feed(secrets_->finish()) : std::string();
  return text + utf8_.finish();
}

std::string LiveText::clean(std::string_view bytes) {
  return utf8_.feed(secrets_ ? secrets_->feed(bytes) : std::string(bytes));
}

// What was kept back may be half a secret whose other half is lost, and so may the rest of the
// line after the gap: neither is shown.
std::string LiveText::start_anew(std::size_t dropped) {
  if (secrets_) {
    secrets_.emplace(*redactor_);
  }
  skips_line_ = true;
  return utf8_.finish() + fmt::format("\n[… {} bytes not shown live …]", dropped);
}

}  // namespace tools

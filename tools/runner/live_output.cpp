#include "tools/runner/live_output.h"

#include <fmt/format.h>

#include <utility>

namespace tools {
namespace {

constexpr std::size_t k_max_pending = 256 << 10;

}  // namespace

void Mailbox::post(std::size_t sender, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  Letter& letter = letters_.at(sender);
  if (letter.dropped > 0 || letter.bytes.size() + bytes.size() > k_max_pending) {
    letter.dropped += bytes.size();
  } else {
    letter.bytes += bytes;
  }
  has_news_ = true;
  news_.notify_one();
}

void Mailbox::finish(std::size_t sender, Done done) {
  const std::lock_guard lock(mutex_);
  letters_.at(sender).done = std::move(done);
  has_news_ = true;
  news_.notify_one();
}

std::vector<Letter> Mailbox::collect() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return has_news_; });
  has_news_ = false;
  std::vector<Letter> collected;
  for (std::size_t sender = 0; sender < letters_.size(); ++sender) {
    Letter letter = std::exchange(letters_[sender], {});
    if (letter.done || !letter.bytes.empty() || letter.dropped > 0) {
      letter.sender = sender;
      collected.push_back(std::move(letter));
    }
  }
  return collected;
}

LiveText::LiveText(const agent::Redactor* redactor) : redactor_(redactor) {
  if (redactor_ != nullptr) {
    secrets_.emplace(*redactor_);
  }
}

std::string LiveText::feed(const Letter& letter) {
  std::string_view bytes = letter.bytes;
  if (skips_line_) {
    const std::size_t end = bytes.find('\n');
    skips_line_ = end == std::string_view::npos;
    bytes.remove_prefix(skips_line_ ? bytes.size() : end);
  }
  std::string text = clean(bytes);
  if (letter.dropped > 0) {
    text += start_anew(letter.dropped);
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

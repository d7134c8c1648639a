#include "cli/batch_results.h"

#include "agent/json.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace cli {
namespace {

agent::Json json_of(const BatchItem& item, const agent::RunResult& result, bool is_earlier) {
  agent::Json json = agent::to_json(result);
  json["item"] = {{"index", item.index},
                  {"id", item.id.empty() ? agent::Json() : agent::Json(item.id)},
                  {"line", item.line},
                  {"earlier", is_earlier}};
  return json;
}

}  // namespace

void BatchResults::add(const BatchItem& item, const agent::RunResult& result, bool is_earlier) {
  Lines lines{.result =
                  agent::printable_json(redactor_.dump(json_of(item, result, is_earlier))) + '\n'};
  if (failed_ != nullptr && result.exit_code != 0) {
    lines.input = item.text.empty() ? "" : item.text + '\n';
  }
  const std::lock_guard lock(mutex_);
  if (!options_.is_ordered) {
    write(lines);
    return;
  }
  waiting_.emplace(item.index, std::move(lines));
  for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(++next_)) {
    write(next->second);
    waiting_.erase(next);
  }
  changed_.notify_all();
}

void BatchResults::wait_for_room(std::int64_t index, const std::stop_token& stop) {
  if (options_.is_ordered) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return index - next_ < options_.most_waiting; });
  }
}

void BatchResults::write(const Lines& lines) {
  out_.write(lines.result);
  if (!lines.input.empty()) {
    if (!std::exchange(has_head_, true)) {
      failed_->write(head_);
    }
    failed_->write(lines.input);
  }
  reader_is_gone_ = out_.reader_is_gone();
  is_broken_ = out_.failure() != nullptr || out_.is_given_up() ||
               (failed_ != nullptr && failed_->failure() != nullptr);
}

}  // namespace cli

// What a batch leaves behind: one result line an input on stdout, and a file of the inputs that
// failed.
#pragma once
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "cli/batch_input.h"
#include "cli/output.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>

namespace cli {

// Thread-safe. The outputs' failures are looked at by the caller, when nobody adds any more.
class BatchResults {
 public:
  struct Options {
    bool is_ordered = false;  // as the inputs are, not as they end
    // How many inputs may begin while the results of as many wait for an earlier one.
    std::int64_t most_waiting = 1'000;
  };

  // All borrowed. `failed` may be null; `head` is what a file of inputs begins with, and may become
  // known later.
  BatchResults(Options options,
               Output& out,
               Output* failed,
               const std::string& head,
               const agent::Redactor& redactor)
      : options_(options), out_(out), failed_(failed), head_(head), redactor_(redactor) {}

  // Each input once. `is_earlier`: it ended in an earlier process.
  void add(const BatchItem& item, const agent::RunResult& result, bool is_earlier);

  // Until the result of that input would not have to wait behind too many; soon after `stop`.
  void wait_for_room(std::int64_t index, const std::stop_token& stop);

  // Whether nothing can be written any more.
  bool is_broken() const { return is_broken_; }
  bool reader_is_gone() const { return reader_is_gone_; }

 private:
  struct Lines {
    std::string result;
    std::string input;  // empty: it did not fail
  };
  void write(const Lines& lines);

  const Options options_;
  Output& out_;
  Output* failed_;
  const std::string& head_;
  const agent::Redactor& redactor_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::int64_t, Lines> waiting_;  // by index
  std::int64_t next_ = 1;                  // the index of the result that is to be written next
  bool has_head_ = false;
  std::atomic<bool> is_broken_ = false;
  std::atomic<bool> reader_is_gone_ = false;
};

}  // namespace cli

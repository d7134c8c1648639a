// What running tools say on the way to whoever watches: collected from any thread without ever
// making a tool wait, handed out on one.
#pragma once
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "tools/tool.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tools {

struct Done {
  Output output;
  std::int64_t duration_ms = 0;
  std::string changes = {};  // in files, as a unified diff
};

// News of a call, numbered as its sender is.
struct CallUpdate {
  std::size_t sender = 0;
  std::string bytes;        // since the last update
  std::size_t dropped = 0;  // bytes after them that were too many to keep
  std::vector<std::packaged_task<void()>> tasks = {};  // of whoever collects, before all else
  std::optional<Done> done;
};

class CallUpdateQueue {
 public:
  // Thread-safe. Keeps at most 256 kB a sender until they are collected, and drops what follows.
  void post(std::size_t sender, std::string_view bytes);
  void finish(std::size_t sender, Done done);
  // Has it done on the thread that made the queue and collects from it, and waits until it is.
  void perform(std::size_t sender, std::function<void()> task);

  // Waits until there is news, and returns all of it, in the order of the senders.
  std::vector<CallUpdate> collect();

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::size_t, CallUpdate> updates_;  // of those who have any, by sender
};

// The bytes of one call, piece by piece, as text to show: redacted, valid UTF-8, gaps marked.
class LiveText {
 public:
  explicit LiveText(const agent::Redactor* redactor);

  std::string feed(const CallUpdate& update);  // what can be shown now
  std::string finish();                        // the rest

 private:
  std::string clean(std::string_view bytes);
  std::string start_anew(std::size_t dropped);

  const agent::Redactor* redactor_;
  std::optional<agent::StreamRedactor> secrets_;
  agent::Utf8Stream utf8_;
  bool skips_line_ = false;
};

}  // namespace tools

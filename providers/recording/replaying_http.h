// Answers requests from a recording. There is no network behind it.
#pragma once
#include "agent/http.h"
#include "agent/secrets/redact.h"
#include "providers/recording/cassette.h"
#include "providers/recording/recorded_timings.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace providers {

class ReplayingHttp final : public agent::Http {
 public:
  // Borrowed: the timings and the redactor. `is_room_shared`: as Tape::Run's.
  ReplayingHttp(Cassette cassette,
                ReplayingTimings& timings,
                const agent::Redactor& redactor,
                bool is_room_shared);

  // The first unused answer to the same method, URL and body (as JSON, whatever the order of its
  // keys; secrets out; where the room is shared, whatever the length that an answer may have), in
  // its pieces, or the error that came instead. replay.miss, with the differences to the nearest
  // recording, where there is none, and where the recorded run was stopped while it waited for this
  // answer.
  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token stop) override;

 private:
  struct Exchange {
    RecordedExchange recorded;
    std::string body;      // of the request as it is compared, keys sorted
    bool is_used = false;  // under mutex_
  };

  agent::Json compared(agent::Json body) const;
  std::optional<std::size_t> take(const ShownRequest& request);
  const Timings& before(std::size_t index) const;  // that exchange, or the end of the run
  agent::Error miss(const ShownRequest& request) const;
  agent::Error unfinished(const RecordedExchange& exchange) const;
  agent::Error at(const RecordedExchange& exchange, std::string message) const;

  const std::string file_;
  const Timings after_;
  ReplayingTimings& timings_;
  const agent::Redactor& redactor_;
  const bool is_room_shared_;
  mutable std::mutex mutex_;
  std::vector<Exchange> exchanges_;
};

// Where two JSON values part, in the words of a person: `messages[2].content: recorded "a", asked
// "b"`. At most `most` of them; `total` counts all.
struct Differences {
  std::vector<std::string> lines;
  std::size_t total = 0;
  std::size_t values = 0;  // that differ, each member of what is only on one side counted
};
Differences differences(const agent::Json& recorded, const agent::Json& asked, std::size_t most);

}  // namespace providers

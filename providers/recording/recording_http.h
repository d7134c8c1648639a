// An HTTP client whose exchanges are written to a recording as they end.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "providers/recording/cassette.h"
#include "providers/recording/recorded_timings.h"

#include <string>
#include <utility>

namespace providers {

class RecordingHttp final : public agent::Http {
 public:
  // All borrowed but for the name of the run. A recording that cannot be written is no failure of
  // the exchange: the answer was paid for. Who has the writer asks it.
  RecordingHttp(agent::Http& inner,
                CassetteWriter& writer,
                RecordingTimings& timings,
                const agent::Redactor& redactor,
                std::string member = {})
      : inner_(inner),
        writer_(writer),
        timings_(timings),
        redactor_(redactor),
        member_(std::move(member)) {}

  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token stop) override;

 private:
  agent::Http& inner_;
  CassetteWriter& writer_;
  RecordingTimings& timings_;
  const agent::Redactor& redactor_;
  const std::string member_;
  agent::SystemClock clock_;  // of the pieces, which no replay waits for
};

}  // namespace providers

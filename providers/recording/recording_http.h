// An HTTP client whose exchanges are written to a recording as they end.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "providers/recording/cassette.h"
#include "providers/recording/tape_track.h"

namespace providers {

class RecordingHttp final : public agent::Http {
 public:
  // All borrowed. A recording that cannot be written is no failure of the exchange: the answer was
  // paid for. Who has the writer asks it.
  RecordingHttp(agent::Http& inner,
                CassetteWriter& writer,
                RecordingTrack& track,
                const agent::Redactor& redactor)
      : inner_(inner), writer_(writer), track_(track), redactor_(redactor) {}

  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token stop) override;

 private:
  agent::Http& inner_;
  CassetteWriter& writer_;
  RecordingTrack& track_;
  const agent::Redactor& redactor_;
  agent::SystemClock clock_;  // of the pieces, which no replay waits for
};

}  // namespace providers

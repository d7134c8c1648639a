// What stands between a run and the world: nothing, a recorder, or a recording in its place.
#pragma once
#include "agent/clock.h"
#include "agent/environment.h"
#include "agent/event.h"
#include "agent/http.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/toolbox.h"
#include "providers/recording/cassette.h"

#include <cstdint>
#include <memory>
#include <string>

namespace providers {

// One run's. Belongs to the thread that made it, on which the run's loop has to go.
class RunIo {
 public:
  virtual ~RunIo() = default;

  virtual agent::Clock& clock() = 0;  // the loop's and the providers'
  virtual agent::Http& http() = 0;
  virtual std::uint64_t seed() const = 0;
  // The tools as the run has them; borrowed, and to be asked for once.
  virtual agent::Toolbox& toolbox(agent::Toolbox& tools) = 0;
  // Tells the loop that the recording cannot be written; null where there is none.
  virtual agent::EventSink* watcher() { return nullptr; }
  // After the run. storage.io where the rest of a recording cannot be written.
  virtual agent::Result<void> finish() { return {}; }
};

// `http` and `redactor` are borrowed, here and below.
std::unique_ptr<RunIo> live_io(agent::Http& http);

struct RecordingOptions {
  std::string file;
  std::string run_id;
  std::string key_variable;
  std::string folder;  // the run's temporary one
  std::string store;   // as RecordedRun's
};
// Errors: those of CassetteWriter::create.
agent::Result<std::unique_ptr<RunIo>> recording_io(const RecordingOptions& options,
                                                   agent::Http& http,
                                                   const agent::Redactor& redactor);

// `folder` is the run's temporary one of now. Holds no HTTP client.
std::unique_ptr<RunIo> replaying_io(Cassette cassette,
                                    std::string folder,
                                    const agent::Redactor& redactor);

}  // namespace providers

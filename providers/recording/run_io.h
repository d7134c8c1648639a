// What stands between runs and the world: nothing, a recorder, or a recording in its place.
#pragma once
#include "agent/clock.h"
#include "agent/environment.h"
#include "agent/event.h"
#include "agent/http.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "providers/recording/cassette.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace providers {

// One run's. Belongs to the thread that made it, on which the run's loop has to go.
class RunIo {
 public:
  virtual ~RunIo() = default;

  virtual agent::Clock& clock() = 0;  // the loop's and the providers'
  virtual agent::Http& http() = 0;
  virtual std::uint64_t seed() const = 0;
  virtual std::string store() const = 0;  // as RecordedRun's
  // The tools as the run has them; borrowed, and to be asked for once.
  virtual agent::Toolbox& toolbox(agent::Toolbox& tools) = 0;
  // The same of a program that is no tool's, by a name of its own: how long it took, and what it
  // said. Thread-safe.
  virtual agent::Milliseconds took(const std::string& /*program*/, agent::Milliseconds measured) {
    return measured;
  }
  virtual std::string said(std::string text) { return text; }
  // Tells the loop that the recording cannot be written; null where there is none.
  virtual agent::EventSink* watcher() { return nullptr; }
  // After the run. Where the rest of a recording cannot be written, its tape says so.
  virtual void finish() {}
};

// `http` is borrowed, here and below.
std::unique_ptr<RunIo> live_io(agent::Http& http, std::string store);

// One for a run and those of all its members. Thread-safe.
class Tape {
 public:
  struct Run {
    std::string member;  // RecordedRun's, as the next ones
    std::string run_id;
    std::string key_variable;
    std::string folder;  // the run's temporary one
    std::string store;
    // Of a limit that others use up, too: how long an answer may be depends on who asks first.
    bool is_room_shared = false;
  };

  virtual ~Tape() = default;

  virtual bool is_replay() const = 0;
  // That of the member in the recording that is played; else a new one.
  virtual std::string run_id_of(const std::string& member) const = 0;
  // Once a run, the whole first. Errors: those of CassetteWriter::create; replay.miss where the
  // recording has no such run.
  virtual agent::Result<std::unique_ptr<RunIo>> open(const Run& run, agent::Http& http) = 0;
  virtual std::optional<agent::Error> failure() const = 0;  // storage.io: it is not whole
};

// The redactor is borrowed. The file is made for the whole.
std::unique_ptr<Tape> recording_tape(std::string file, const agent::Redactor& redactor);
std::unique_ptr<Tape> replaying_tape(Cassette cassette, const agent::Redactor& redactor);

}  // namespace providers

#include "providers/recording/tape.h"

#include "providers/recording/recording_http.h"
#include "providers/recording/replaying_http.h"
#include "providers/recording/tape_clock.h"
#include "providers/recording/tape_toolbox.h"

#include <optional>
#include <random>
#include <utility>

namespace providers {
namespace {

// Of 62 bits: a number that JSON keeps, and that nobody guesses.
std::uint64_t fresh_seed() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(0, (1ULL << 62) - 1)(device);
}

class LiveTape final : public Tape {
 public:
  explicit LiveTape(agent::Http& http) : http_(http) {}

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return http_; }
  std::uint64_t seed() const override { return seed_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override { return tools; }

 private:
  agent::SystemClock clock_;
  agent::Http& http_;
  const std::uint64_t seed_ = fresh_seed();
};

// A recording was asked for: a run that cannot have it ends.
class RecordingWatcher final : public agent::EventSink {
 public:
  explicit RecordingWatcher(const CassetteWriter& writer) : writer_(writer) {}

  void on(const agent::Event& /*event*/) override { failure_ = writer_.failure(); }
  const agent::Error* failure() const override { return failure_ ? &*failure_ : nullptr; }

 private:
  const CassetteWriter& writer_;
  std::optional<agent::Error> failure_;
};

class RecordingTape final : public Tape {
 public:
  static agent::Result<std::unique_ptr<Tape>> create(const RecordingOptions& options,
                                                     agent::Http& http,
                                                     const agent::Redactor& redactor) {
    std::unique_ptr<RecordingTape> tape(new RecordingTape);
    TRY_ASSIGN(tape->writer_,
               CassetteWriter::create(options.file,
                                      {.run_id = options.run_id,
                                       .start = tape->clock_.start(),
                                       .seed = tape->seed_,
                                       .key_variable = options.key_variable,
                                       .folder = options.folder},
                                      redactor));
    tape->http_.emplace(http, *tape->writer_, tape->track_, redactor);
    tape->watcher_.emplace(*tape->writer_);
    return tape;
  }

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return *http_; }
  std::uint64_t seed() const override { return seed_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, track_);
  }
  agent::EventSink* watcher() override { return &*watcher_; }
  agent::Result<void> finish() override {
    writer_->end(track_.take());
    if (auto failure = writer_->failure()) {
      return agent::fail(*std::move(failure));
    }
    return {};
  }

 private:
  RecordingTape() = default;

  RecordingTrack track_;
  RecordingClock clock_{track_};
  const std::uint64_t seed_ = fresh_seed();
  std::unique_ptr<CassetteWriter> writer_;
  std::optional<RecordingHttp> http_;
  std::optional<RecordingToolbox> toolbox_;
  std::optional<RecordingWatcher> watcher_;
};

class ReplayingTape final : public Tape {
 public:
  ReplayingTape(Cassette cassette, std::string folder, const agent::Redactor& redactor)
      : clock_(cassette.run.start, track_),
        seed_(cassette.run.seed),
        folder_{.recorded = cassette.run.folder, .now = std::move(folder)},
        http_(std::move(cassette), track_, redactor) {}

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return http_; }
  std::uint64_t seed() const override { return seed_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, track_, folder_);
  }

 private:
  ReplayingTrack track_;
  ReplayingClock clock_;
  const std::uint64_t seed_;
  const FolderNames folder_;
  ReplayingHttp http_;
  std::optional<ReplayingToolbox> toolbox_;
};

}  // namespace

std::unique_ptr<Tape> live_tape(agent::Http& http) {
  return std::make_unique<LiveTape>(http);
}

agent::Result<std::unique_ptr<Tape>> recording_tape(const RecordingOptions& options,
                                                    agent::Http& http,
                                                    const agent::Redactor& redactor) {
  return RecordingTape::create(options, http, redactor);
}

std::unique_ptr<Tape> replaying_tape(Cassette cassette,
                                     std::string folder,
                                     const agent::Redactor& redactor) {
  return std::make_unique<ReplayingTape>(std::move(cassette), std::move(folder), redactor);
}

}  // namespace providers

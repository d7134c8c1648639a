#include "providers/recording/run_io.h"

#include "providers/recording/recorded_clock.h"
#include "providers/recording/recorded_toolbox.h"
#include "providers/recording/recording_http.h"
#include "providers/recording/replaying_http.h"

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

class LiveRunIo final : public RunIo {
 public:
  explicit LiveRunIo(agent::Http& http) : http_(http) {}

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

class RecordingRunIo final : public RunIo {
 public:
  static agent::Result<std::unique_ptr<RunIo>> create(const RecordingOptions& options,
                                                      agent::Http& http,
                                                      const agent::Redactor& redactor) {
    std::unique_ptr<RecordingRunIo> io(new RecordingRunIo);
    TRY_ASSIGN(io->writer_,
               CassetteWriter::create(options.file,
                                      {.run_id = options.run_id,
                                       .start = io->clock_.start(),
                                       .seed = io->seed_,
                                       .key_variable = options.key_variable,
                                       .folder = options.folder,
                                       .store = options.store},
                                      redactor));
    io->http_.emplace(http, *io->writer_, io->timings_, redactor);
    io->watcher_.emplace(*io->writer_);
    return io;
  }

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return *http_; }
  std::uint64_t seed() const override { return seed_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, timings_);
  }
  agent::EventSink* watcher() override { return &*watcher_; }
  agent::Result<void> finish() override {
    writer_->end(timings_.take());
    if (auto failure = writer_->failure()) {
      return agent::fail(*std::move(failure));
    }
    return {};
  }

 private:
  RecordingRunIo() = default;

  RecordingTimings timings_;
  RecordingClock clock_{timings_};
  const std::uint64_t seed_ = fresh_seed();
  std::unique_ptr<CassetteWriter> writer_;
  std::optional<RecordingHttp> http_;
  std::optional<RecordingToolbox> toolbox_;
  std::optional<RecordingWatcher> watcher_;
};

class ReplayingRunIo final : public RunIo {
 public:
  ReplayingRunIo(Cassette cassette, std::string folder, const agent::Redactor& redactor)
      : clock_(cassette.run.start, timings_),
        seed_(cassette.run.seed),
        folder_{.recorded = cassette.run.folder, .now = std::move(folder)},
        http_(std::move(cassette), timings_, redactor) {}

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return http_; }
  std::uint64_t seed() const override { return seed_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, timings_, folder_);
  }

 private:
  ReplayingTimings timings_;
  ReplayingClock clock_;
  const std::uint64_t seed_;
  const FolderNames folder_;
  ReplayingHttp http_;
  std::optional<ReplayingToolbox> toolbox_;
};

}  // namespace

std::unique_ptr<RunIo> live_io(agent::Http& http) {
  return std::make_unique<LiveRunIo>(http);
}

agent::Result<std::unique_ptr<RunIo>> recording_io(const RecordingOptions& options,
                                                   agent::Http& http,
                                                   const agent::Redactor& redactor) {
  return RecordingRunIo::create(options, http, redactor);
}

std::unique_ptr<RunIo> replaying_io(Cassette cassette,
                                    std::string folder,
                                    const agent::Redactor& redactor) {
  return std::make_unique<ReplayingRunIo>(std::move(cassette), std::move(folder), redactor);
}

}  // namespace providers

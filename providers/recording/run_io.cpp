#include "providers/recording/run_io.h"

#include "agent/id.h"
#include "agent/text.h"
#include "providers/recording/recorded_clock.h"
#include "providers/recording/recorded_toolbox.h"
#include "providers/recording/recording_http.h"
#include "providers/recording/replaying_http.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace providers {
namespace {

using agent::Code;

// Of 62 bits: a number that JSON keeps, and that nobody guesses.
std::uint64_t fresh_seed() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(0, (1ULL << 62) - 1)(device);
}

class LiveRunIo final : public RunIo {
 public:
  LiveRunIo(agent::Http& http, std::string store) : http_(http), store_(std::move(store)) {}

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return http_; }
  std::uint64_t seed() const override { return seed_; }
  std::string store() const override { return store_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override { return tools; }

 private:
  agent::SystemClock clock_;
  agent::Http& http_;
  const std::string store_;
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
  // Where the file is begun by it, with a record of what it is; `writer` is not there yet then.
  static agent::Result<std::unique_ptr<RunIo>> create(const Tape::Run& run,
                                                      const std::string& file,
                                                      std::unique_ptr<CassetteWriter>& writer,
                                                      agent::Http& http,
                                                      const agent::Redactor& redactor) {
    std::unique_ptr<RecordingRunIo> io(new RecordingRunIo(run));
    const RecordedRun recorded{.member = run.member,
                               .run_id = run.run_id,
                               .start = io->clock_.start(),
                               .seed = io->seed_,
                               .key_variable = run.key_variable,
                               .folder = run.folder,
                               .store = run.store};
    if (!writer) {
      TRY_ASSIGN(writer, CassetteWriter::create(file, recorded, redactor));
    } else {
      writer->begin(recorded);
    }
    io->writer_ = writer.get();
    io->http_.emplace(http, *io->writer_, io->timings_, redactor, run.member);
    io->watcher_.emplace(*io->writer_);
    return io;
  }

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return *http_; }
  std::uint64_t seed() const override { return seed_; }
  std::string store() const override { return store_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, timings_);
  }
  agent::Milliseconds took(const std::string& program, agent::Milliseconds measured) override {
    timings_.note_tool(program, measured.count());
    return measured;
  }
  agent::EventSink* watcher() override { return &*watcher_; }
  void finish() override { writer_->end(timings_.take(), member_); }

 private:
  explicit RecordingRunIo(const Tape::Run& run) : member_(run.member), store_(run.store) {}

  const std::string member_;
  const std::string store_;
  RecordingTimings timings_;
  RecordingClock clock_{timings_};
  const std::uint64_t seed_ = fresh_seed();
  CassetteWriter* writer_ = nullptr;
  std::optional<RecordingHttp> http_;
  std::optional<RecordingToolbox> toolbox_;
  std::optional<RecordingWatcher> watcher_;
};

class ReplayingRunIo final : public RunIo {
 public:
  ReplayingRunIo(Cassette cassette, const Tape::Run& run, const agent::Redactor& redactor)
      : clock_(cassette.run.start, timings_),
        seed_(cassette.run.seed),
        store_(cassette.run.store),
        folder_{.recorded = cassette.run.folder, .now = run.folder},
        http_(std::move(cassette), timings_, redactor, run.is_room_shared) {}

  agent::Clock& clock() override { return clock_; }
  agent::Http& http() override { return http_; }
  std::uint64_t seed() const override { return seed_; }
  std::string store() const override { return store_; }
  agent::Toolbox& toolbox(agent::Toolbox& tools) override {
    return toolbox_.emplace(tools, timings_, folder_);
  }
  agent::Milliseconds took(const std::string& program, agent::Milliseconds measured) override {
    return agent::Milliseconds(timings_.time_of(program).value_or(measured.count()));
  }
  std::string said(std::string text) override { return folder_.as_recorded(std::move(text)); }

 private:
  ReplayingTimings timings_;
  ReplayingClock clock_;
  const std::uint64_t seed_;
  const std::string store_;
  const FolderNames folder_;
  ReplayingHttp http_;
  std::optional<ReplayingToolbox> toolbox_;
};

class RecordingTape final : public Tape {
 public:
  RecordingTape(std::string file, const agent::Redactor& redactor)
      : file_(std::move(file)), redactor_(redactor) {}

  bool is_replay() const override { return false; }
  std::string run_id_of(const std::string& /*member*/) const override {
    return agent::new_run_id();
  }
  agent::Result<std::unique_ptr<RunIo>> open(const Run& run, agent::Http& http) override {
    const std::lock_guard lock(mutex_);
    return RecordingRunIo::create(run, file_, writer_, http, redactor_);
  }
  std::optional<agent::Error> failure() const override {
    const std::lock_guard lock(mutex_);
    return writer_ ? writer_->failure() : std::nullopt;
  }

 private:
  const std::string file_;
  const agent::Redactor& redactor_;
  mutable std::mutex mutex_;
  std::unique_ptr<CassetteWriter> writer_;  // under mutex_; there once the whole has begun
};

class ReplayingTape final : public Tape {
 public:
  ReplayingTape(Cassette cassette, const agent::Redactor& redactor)
      : file_(cassette.file), redactor_(redactor) {
    std::vector<Cassette> members = std::exchange(cassette.members, {});
    members.push_back(std::move(cassette));
    for (Cassette& one : members) {
      std::string member = one.run.member;
      run_ids_.emplace(member, one.run.run_id);
      runs_.emplace(std::move(member), std::move(one));
    }
  }

  bool is_replay() const override { return true; }
  std::string run_id_of(const std::string& member) const override {
    const auto found = run_ids_.find(member);
    return found == run_ids_.end() ? agent::new_run_id() : found->second;
  }
  agent::Result<std::unique_ptr<RunIo>> open(const Run& run, agent::Http& /*http*/) override {
    const std::lock_guard lock(mutex_);
    auto recorded = runs_.extract(run.member);
    if (recorded.empty()) {
      return agent::fail(
          Code::replay_miss,
          run.member.empty()
              ? fmt::format("the recording `{}` was played already", file_)
              : fmt::format(
                    "the recording `{}` has no run of `{}`", file_, agent::one_line(run.member)),
          {});
    }
    return std::make_unique<ReplayingRunIo>(std::move(recorded.mapped()), run, redactor_);
  }
  std::optional<agent::Error> failure() const override { return std::nullopt; }

 private:
  const std::string file_;
  const agent::Redactor& redactor_;
  std::map<std::string, std::string> run_ids_;
  std::mutex mutex_;
  std::map<std::string, Cassette> runs_;  // under mutex_: not yet played
};

}  // namespace

std::unique_ptr<RunIo> live_io(agent::Http& http, std::string store) {
  return std::make_unique<LiveRunIo>(http, std::move(store));
}

std::unique_ptr<Tape> recording_tape(std::string file, const agent::Redactor& redactor) {
  return std::make_unique<RecordingTape>(std::move(file), redactor);
}

std::unique_ptr<Tape> replaying_tape(Cassette cassette, const agent::Redactor& redactor) {
  return std::make_unique<ReplayingTape>(std::move(cassette), redactor);
}

}  // namespace providers

// What a person sees while a run goes on: plain lines on stderr, and on a terminal one live line
// that is always the last. Never on stdout.
#pragma once
#include "agent/clock.h"
#include "agent/descriptor.h"
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "cli/terminal/answer_sink.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace cli {

class Progress final : public agent::EventSink {
 public:
  struct Options {
    int descriptor = STDERR_FILENO;
    int verbosity = 0;  // -1: errors alone; 0: tools, waits, the bill; 1: turns; 2: everything
    bool live = false;  // stderr is a terminal that understands escape sequences
    bool color = false;
    bool shows_partial = false;                // text mode: a partial answer has no other place
    const AnswerSink* beside = nullptr;        // writes to the same terminal; may be null
    agent::WritePatience* patience = nullptr;  // with who reads stderr; null: without end
  };

  Progress(Options options, const agent::Redactor& redactor);
  ~Progress() override;

  void on(const agent::Event& event) override;
  void make_room();  // takes the live line away, until the next event
  // The line is somebody else's until the next event.
  void fall_silent();

 private:
  using Steady = std::chrono::steady_clock;

  class EventView;

  void finish(const agent::RunResult& result);
  void line(std::string_view text);
  void write(std::string_view text);
  void paragraph(std::string_view title, std::string_view text);
  void draw();
  void erase();
  void tick(std::stop_token stop);
  std::string paint(std::string_view style, std::string_view text) const;
  std::string clean(std::string_view text) const;
  void wait_for(std::string what);

  Options options_;
  const agent::Redactor& redactor_;
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  bool is_drawn_ = false;
  std::string waiting_for_;  // empty: nothing
  Steady::time_point waiting_since_;
  Steady::time_point last_line_;
  std::jthread ticker_;  // last: it uses all of the above
};

}  // namespace cli

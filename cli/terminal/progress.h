// What a person sees while a run goes on: plain lines on stderr, and on a terminal a few live ones
// that are always the last. Never on stdout.
#pragma once
#include "agent/cancellation.h"
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/message.h"
#include "agent/secrets/redact.h"
#include "cli/terminal/answer_sink.h"
#include "cli/terminal/member_lines.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cli {

// A mutex that is waited for until `stop`.
class TurnLock {
 public:
  // False: `stop` came before.
  bool lock_until(const std::stop_token& stop);
  void lock() { lock_until({}); }
  void unlock();

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_held_ = false;
};

// Held, or `stop` came before.
std::unique_lock<TurnLock> take_turn(TurnLock& lock, const std::stop_token& stop);

class Progress final : public agent::EventSink {
 public:
  struct Options {
    int descriptor = STDERR_FILENO;
    int verbosity = 0;  // -1: errors alone; 0: tools, waits, the bill; 1: turns; 2: everything
    bool live = false;  // stderr is a terminal that understands escape sequences
    bool color = false;
    bool shows_partial = false;  // text mode: a partial answer has no other place
    // Nothing that may be an answer is shown before the run's end: guardrails have yet to look.
    bool is_guarded = false;
    const AnswerSink* beside = nullptr;  // writes to the same terminal; may be null
    // What stops the run: said at once, and the patience with who reads stderr; null: nothing does,
    // and it is without end.
    agent::Cancellation* cancellation = nullptr;
  };

  Progress(Options options, const agent::Redactor& redactor);
  ~Progress() override;

  void on(const agent::Event& event) override;
  void make_room();  // takes the live lines away, until the next event
  // The person at the terminal is asked something, as long as it lives: by one at a time, and what
  // is to be shown meanwhile is shown behind it. Thread-safe.
  class Question {
   public:
    // Null: nothing is shown, and nobody else asks. Waits for another one, at most until `stop`.
    Question(Progress* progress, const std::stop_token& stop);
    ~Question();
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    Progress* const progress_;
    std::unique_lock<TurnLock> turn_;
  };
  // What is done before the run begins ("starting MCP servers: docs"); empty: nothing any more. A
  // line about it is for those who asked for more.
  void start(std::string what);
  void tell_of_start(std::string_view text);

  // Calls of an earlier process: what becomes of them is shown with what they were called with.
  void recall(std::span<const agent::ToolCall> calls);
  // Whether it wants to know what calls change in files.
  bool shows_changes() const { return options_.live ? is_loud(0) : is_loud(1); }

 private:
  using Steady = std::chrono::steady_clock;

  // A call from the reply that asks for it to its end.
  struct Call {
    const agent::ToolCall* asked = nullptr;  // in the last reply
    std::string shown;                       // as a person would write it; empty: not yet
    bool is_announced = false;               // its line is there
    bool has_changes_shown = false;
    std::deque<std::string> tail;  // of its output: the last whole lines
    std::string line;              // and the one that goes on
    std::size_t lines = 0;         // how many in all
  };

  void show(const agent::RunStarted& run, const agent::Event& event);
  void show(const agent::TurnStarted& turn, const agent::Event& event);
  void show(const agent::ModelRequested&, const agent::Event&) {}
  void show(const agent::ModelDelta&, const agent::Event&) {}
  void show(const agent::ModelBroken&, const agent::Event&) {}
  void show(const agent::ModelReset&, const agent::Event& event);
  void show(const agent::ModelRetrying& retry, const agent::Event& event);
  void show(const agent::ModelFallback& fallback, const agent::Event& event);
  void show(const agent::ModelResponded& reply, const agent::Event& event);
  void show(const agent::UserSaid& said, const agent::Event& event);
  void show(const agent::ToolStarted& started, const agent::Event& event);
  void show(const agent::ToolOutput& output, const agent::Event& event);
  void show(const agent::ToolFinished& finished, const agent::Event& event);
  void show(const agent::ToolsAdded& added, const agent::Event& event);
  void show(const agent::ApprovalRequested& asked, const agent::Event& event);
  void show(const agent::ApprovalAnswered&, const agent::Event&) {}
  void show(const agent::RunParked& parked, const agent::Event& event);
  void show(const agent::HookRan& hook, const agent::Event& event);
  void show(const agent::GuardrailRan& guardrail, const agent::Event& event);
  void show(const agent::CheckRan& check, const agent::Event& event);
  void show(const agent::ContextCompacted& compacted, const agent::Event& event);
  void show(const agent::MemberStarted& member, const agent::Event& event);
  void show(const agent::MemberFinished& member, const agent::Event& event);
  void show(const agent::LimitWarning& limit, const agent::Event& event);
  void show(const agent::Warning& warning, const agent::Event& event);
  void show(const agent::RunFinished& end, const agent::Event& event);

  void begin_question();
  void end_question();
  void show_of_member(const agent::Event& event);
  std::vector<std::string> live_lines() const;
  bool is_loud(int verbosity) const { return options_.verbosity >= verbosity; }
  Call& call_of(const std::string& id, std::string_view name, std::string_view arguments);
  std::string shown(std::string_view name, std::string_view arguments) const;
  void announce(const std::string& id, Call& call, std::string_view style);
  void show_result(const agent::ToolResult& result, const Call& call);
  void show_tail(const Call& call);
  void show_changes(std::string_view diff);
  void say_that_it_stops();
  // A command is copied as it stands: a line end within it would make two.
  enum class Breaks : std::uint8_t { between_words, by_terminal };
  void line(std::string_view text);
  void lines(std::string_view text, Breaks breaks);
  void note(std::string_view style, std::string_view text);
  void write(std::string_view text);
  void paragraph(std::string_view title, std::string_view text);
  void draw();
  void erase();
  void tick(std::stop_token stop);
  std::string paint(std::string_view style, std::string_view text) const;
  std::string clean(std::string_view text) const;
  void wait_for(std::string what);
  std::size_t columns() const;  // 0: nothing is to be broken

  Options options_;
  const agent::Redactor& redactor_;
  TurnLock question_;  // held while one is asked
  std::mutex mutex_;   // of all of the next
  std::condition_variable_any wakeup_;
  std::vector<std::size_t> drawn_;  // how wide the live lines are
  std::string waiting_for_;         // empty: nothing
  std::string waited_for_;          // and before that, while nothing has come of it
  bool is_starting_ = false;        // what it says is what is done, not what is waited for
  Steady::time_point waiting_since_;
  Steady::time_point last_line_;
  Steady::time_point last_draw_;
  agent::SharedReply last_reply_;      // the calls of which are asked for
  std::map<std::string, Call> calls_;  // by their ids
  std::set<std::string> running_;      // of them
  MemberLines members_;                // of a flow
  std::string at_work_;                // the call that has said something last
  std::string last_announced_;         // the call whose line is the last one
  std::string last_said_;              // by the model, in one line
  bool is_asking_ = false;             // the lines are a question's
  std::string held_back_;              // until it is answered
  bool has_said_stop_ = false;
  std::jthread ticker_;  // last: it uses all of the above
};

}  // namespace cli

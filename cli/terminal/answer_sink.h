// The product of a run on stdout (or in --output-file): the answer, the result object, or the
// events. Nothing else is ever written there.
#pragma once
#include "agent/cancellation.h"
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "cli/output.h"
#include "cli/terminal/markdown.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace cli {

enum class Format { text, json, jsonl };

// What a failing write means for the run: EPIPE ends it as SIGPIPE would, all else is 74.
class AnswerSink final : public agent::EventSink {
 public:
  struct Options {
    Format format = Format::text;
    bool is_for_terminal = false;  // text with control characters made visible
    bool streams = false;          // and as it comes
    // The width of that terminal, 0: not known; where this is there, Markdown is set.
    std::function<std::size_t()> columns = {};
    std::string run_id =
        {};  // whose answer it is: members have runs of their own; empty: there is one
  };

  AnswerSink(Options options,
             Output& output,
             const agent::Redactor& redactor,
             agent::Cancellation& cancellation);

  void on(const agent::Event& event) override;
  const agent::Error* failure() const override;
  bool is_cut_off() const override;
  // True while streamed text stands on an unfinished line of the terminal. Thread-safe.
  bool is_mid_line() const { return mid_line_; }
  // Called before streamed text goes out: whoever shares the terminal makes room.
  void make_room_by(std::function<void()> make_room) { make_room_ = std::move(make_room); }

 private:
  bool is_of_member(const agent::Event& event) const {
    return !options_.run_id.empty() && event.run_id != options_.run_id;
  }
  void write(std::string_view text);
  void stream(std::string_view text);
  void write_streamed(std::string_view text);
  void answer(const agent::RunResult& result);
  void break_off();
  void break_line();

  Options options_;
  Output& output_;
  const agent::Redactor& redactor_;
  agent::Cancellation& cancellation_;
  std::optional<agent::StreamRedactor> stream_redactor_;
  std::optional<MarkdownSetter> markdown_;
  std::function<void()> make_room_;
  std::atomic<bool> mid_line_ = false;
  bool has_written_ = false;
  bool streamed_ = false;  // something of the last reply was shown
};

}  // namespace cli

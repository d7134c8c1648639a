#include "tools/mcp/program_transport.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tools/mcp/asking.h"
#include "tools/mcp/last_words.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tools::mcp {
namespace {

class ProgramTransport final : public Transport {
 public:
  explicit ProgramTransport(Listener&& listener) : listener_(std::move(listener)) {}

  agent::Result<void> start(ProgramRunner& runner, const ProgramRequest& program) {
    auto started = runner.talk(program,
                               {.on_line = [this](std::string_view line) { hear(line); },
                                .on_rest = [this](std::string_view line) { hear_rest(line); },
                                .on_end = listener_.on_end});
    if (!started) {
      return agent::fail(std::move(started).error());
    }
    program_ = *std::move(started);
    return {};
  }

  void send(Outgoing message) override { program_->write(std::move(message.text)); }
  void agree(const Agreement& /*agreement*/,
             std::string notification,
             std::chrono::steady_clock::time_point /*until*/,
             std::stop_token /*stop*/) override {
    if (!notification.empty()) {
      program_->write(std::move(notification));
    }
  }
  void keep_asking(std::function<Outgoing()> next) override {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
      return;
    }
    asking_ = std::jthread([this, next = std::move(next)](const std::stop_token& stop) {
      mcp::keep_asking([&] { return ask_and_hear(next(), stop); },
                       [&](agent::Milliseconds pause) { return wait(pause, stop); });
    });
  }
  void cancel(std::int64_t /*id*/, std::string notification) override {
    program_->write(std::move(notification));
  }
  void close() override {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      asking_.request_stop();
    }
    program_->close();
  }

  std::string last_words() const override {
    if (const std::string words = last_words_in(program_->last_words()); !words.empty()) {
      return "; its last words: " + words;
    }
    return {};
  }
  std::string unfinished() const override { return shown(program_->unfinished_line()); }

 private:
  // False: the server refuses, or nobody waits any more.
  bool ask_and_hear(Outgoing message, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    asked_ = message.id;
    ended_as_.reset();
    lock.unlock();
    send(std::move(message));
    lock.lock();
    return changed_.wait(lock, stop, [&] { return ended_as_.has_value(); }) &&
           ended_as_ == Message::Kind::result;
  }

  bool wait(agent::Milliseconds pause, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, pause, [] { return false; });
    return !stop.stop_requested();
  }

  // Where it answers what was to be asked for as long as the session lasts, that is over.
  void note_end(const Message& message) {
    const std::lock_guard lock(mutex_);
    const bool is_answer =
        message.kind != Message::Kind::request && message.kind != Message::Kind::notification;
    if (is_answer && asked_ != 0 && id_of(message) == asked_) {
      ended_as_ = message.kind;
      changed_.notify_all();
    }
  }

  // Whole but for its end, or cut off where the program has died.
  void hear_rest(std::string_view line) {
    if (agent::is_json(agent::to_valid_utf8(line)) || agent::trimmed(line).empty()) {
      hear(line);
    } else {
      listener_.on_noise(shown(line));
    }
  }

  void hear(std::string_view line) {
    if (agent::trimmed(line).empty()) {
      return;
    }
    auto messages = read_messages(line, Reading::lenient);
    if (!messages) {
      listener_.on_noise(shown(line));
      return;
    }
    for (Message& message : *messages) {
      note_end(message);
      listener_.on_message(std::move(message));
    }
  }

  Listener listener_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Under mutex_, as asking_ is.
  std::int64_t asked_ = 0;  // the request that goes on for as long as the session; 0: none
  std::optional<Message::Kind> ended_as_;  // what answered it
  bool is_closed_ = false;
  std::unique_ptr<TalkingProgram> program_;  // its thread uses those before it
  std::jthread asking_;                      // the last member: it uses all others
};

}  // namespace

agent::Result<std::unique_ptr<Transport>> open_program(ProgramRunner& runner,
                                                       const ProgramRequest& program,
                                                       Transport::Listener&& listener) {
  auto transport = std::make_unique<ProgramTransport>(std::move(listener));
  TRY(transport->start(runner, program));
  return transport;
}

}  // namespace tools::mcp

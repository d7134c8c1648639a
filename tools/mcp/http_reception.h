// The messages in the body of one HTTP answer: a JSON text, or events. Knows no HTTP.
#pragma once
#include "agent/http.h"
#include "agent/sse.h"
#include "tools/mcp/message.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tools::mcp {

class HttpReception {
 public:
  struct Heard {
    std::function<void(Message message)> on_message;
    std::function<void(std::string noise)> on_noise = {};  // of a stream that answers nobody alone
    std::function<void(std::string_view path)> on_endpoint = {};  // of the form before 2025-03-26
  };

  // `id`: of the request that is answered; 0: none is.
  HttpReception(std::int64_t id, Heard heard) : id_(id), heard_(std::move(heard)) {}

  // An agent::OnData: enough once the answer is there.
  agent::Heard take(std::string_view bytes);
  // No more comes.
  void finish();
  // Of the same stream, taken up again.
  void begin_again();

  bool is_answered() const { return is_answered_; }
  // Why the body is none; empty: it is one so far.
  const std::string& problem() const { return problem_; }
  bool is_empty() const { return form_ == Form::unknown && events_ == 0; }
  // Where it can be taken up again, and when; empty: it cannot.
  const std::string& last_id() const { return last_id_; }
  std::chrono::milliseconds retry() const { return retry_; }
  std::size_t events() const { return events_; }  // that had something to say, so far

 private:
  enum class Form : std::uint8_t { unknown, json, events };

  bool take_event(const agent::StreamEvent& event);
  void take_messages(std::string_view text);
  void note_stream();

  std::int64_t id_;
  Heard heard_;
  Form form_ = Form::unknown;
  bool is_stream_ = false;  // it begins as one
  std::string json_;
  agent::SseParser stream_;
  std::string last_id_;
  std::chrono::milliseconds retry_{1'000};
  std::size_t events_ = 0;
  bool is_answered_ = false;
  std::string problem_;
};

}  // namespace tools::mcp

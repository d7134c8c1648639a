// One MCP server as a client has it: what was agreed with it, and requests to it. Which bytes go
// where is the transport's.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/mcp/message.h"
#include "tools/process/program_runner.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

// What client and server have found that they both speak.
struct Agreement {
  std::string revision;       // "2025-11-25"
  bool is_stateless = false;  // from 2026-07-28 on: no handshake, each request says its revision
  std::string server;         // its own name and version, for people; may be empty
};

struct SessionOptions {
  std::string name;     // of the server in the agent file
  std::string version;  // errand's
  agent::Milliseconds start{30'000};
  agent::Milliseconds call{300'000};
  agent::Milliseconds silence{120'000};  // of a call
};

// How a request is waited for.
struct Waiting {
  std::stop_token stop;
  agent::Milliseconds most;
  agent::Milliseconds silence;                             // progress holds it off
  std::function<void(std::string_view)> on_progress = {};  // a line for people
};

// Thread-safe, but for connect().
class Session {
 public:
  explicit Session(SessionOptions options) : options_(std::move(options)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Starts the program and agrees with it on a revision. Once. Errors: mcp.connection (it does not
  // start, or ends, or says nothing in time), mcp.initialization (it refuses, or speaks no revision
  // that errand does), run.cancelled.
  agent::Result<void> connect(ProgramRunner& runner,
                              const ProgramRequest& program,
                              const std::stop_token& stop);

  const Agreement& agreement() const { return agreement_; }
  bool is_over() const;  // it has ended

  // The result. Errors: mcp.tool_call (the server says no), mcp.transport (it has ended, or what it
  // says is no result), tool.timed_out, run.cancelled: the server is told of the last two.
  agent::Result<agent::Json> request(std::string_view method,
                                     agent::Json params,
                                     const Waiting& waiting);

  // All pages of a list: the items of `member` in the results. Errors as of request().
  agent::Result<std::vector<agent::Json>> list(std::string_view method,
                                               std::string_view member,
                                               std::stop_token stop);

  // Asks it to end, without waiting.
  void close();

 private:
  struct Open {  // a request that is waited for
    std::optional<Message> answer;
    std::chrono::steady_clock::time_point heard;
    const std::function<void(std::string_view)>* on_progress = nullptr;
  };

  agent::Result<void> negotiate(const std::stop_token& stop);
  agent::Result<std::optional<Message>> first_answer(std::chrono::steady_clock::time_point until,
                                                     const std::stop_token& stop);
  agent::Result<bool> accept_stateless(const Message& answer);
  agent::Result<void> accept_session(const Message& answer);
  std::int64_t send(std::string_view method, agent::Json params);
  agent::Json with_metadata(agent::Json params, std::int64_t progress_token) const;
  void hear(std::string_view line);
  void hear(Message message);
  void hear_progress(const agent::Json& params);
  void answer_request(const Message& request);
  void hear_end(const std::string& how);
  agent::Error ended_error(agent::Code code) const;
  agent::Error late_error() const;

  SessionOptions options_;
  Agreement agreement_;
  mutable std::mutex mutex_;  // of the next five
  std::condition_variable_any changed_;
  std::map<std::int64_t, Open> open_;
  std::int64_t last_id_ = 0;
  std::string ended_;                        // how; empty: it has not
  std::string noise_;                        // the first line that was no message
  std::unique_ptr<TalkingProgram> program_;  // the last member: its thread uses the others
};

}  // namespace tools::mcp

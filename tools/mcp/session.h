// One MCP server as a client has it: what was agreed with it, and requests to it. Which bytes go
// where is the transport's.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/mcp/agreement.h"
#include "tools/mcp/message.h"
#include "tools/mcp/trace_context.h"
#include "tools/mcp/transport.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tools::mcp {

struct SessionOptions {
  std::string name;     // of the server in the agent file
  std::string version;  // errand's
  agent::Milliseconds start{30'000};
  TraceContext trace = {};  // of what is asked without a session
  // What the server is answered where it asks the person; called on a thread of its own. Empty:
  // that is not offered.
  std::function<agent::Json(const agent::Json& params, const std::stop_token& stop)> elicit = {};
  // Hears that it asked what nobody was asked, and was told no, and why, in a sentence's end; null:
  // nobody hears it.
  std::function<void(std::string_view why)> told_no = {};
};

struct Question {
  std::string_view method;
  agent::Json params;
  std::string_view name = {};   // as Outgoing's
  agent::Headers mirrors = {};  // likewise
};

// An error of request() as it is where no model reads it: before a run, and by hand.
agent::Error before_a_run(agent::Error error);

// The server has not taken the request, and says so: it may be asked again.
bool asks_for_time(const agent::Error& error);

// How a request is waited for.
struct Waiting {
  std::stop_token stop;
  agent::Milliseconds most;
  agent::Milliseconds silence;                             // progress holds it off
  std::function<void(std::string_view)> on_progress = {};  // a line for people
  agent::Milliseconds spent{0};                            // of `most`, by what was tried before
};

// What a server lists.
struct ItemList {
  std::vector<agent::Json> items;
  bool goes_on = false;  // there are more, which it was not asked for
};

// Thread-safe, but for connect().
class Session {
 public:
  explicit Session(SessionOptions options) : options_(std::move(options)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Reaches the server and agrees with it on a revision. Once. Errors: mcp.connection (it does not
  // start, or ends, or says nothing in time), mcp.initialization (it refuses, or speaks no revision
  // that errand does), mcp.auth, run.cancelled.
  agent::Result<void> connect(const OpenTransport& open, const std::stop_token& stop);

  const Agreement& agreement() const { return agreement_; }
  bool is_over() const;  // it has ended, or is lost
  // The HTTP status by which the server said that it does not know it any more; 0: it has not said
  // so. What it took before, it may still answer.
  int lost_by() const;
  std::string ended() const;  // how, in words that follow its name; empty: it has not
  // What it wrote that answers nobody, in a sentence's end; empty: there is nothing.
  std::string misunderstood() const;

  // The result. Errors: mcp.tool_call (the server says no), mcp.transport (it has ended, or what it
  // says is no result), mcp.auth, tool.timed_out, run.cancelled: the server is told of the last
  // two.
  agent::Result<agent::Json> request(Question question, const Waiting& waiting);

  // The items of `member` in the results, page by page until there are `enough`, where that is not
  // 0. `waiting` is for all pages together. Errors as of request().
  agent::Result<ItemList> list(std::string_view method,
                               std::string_view member,
                               const Waiting& waiting,
                               std::size_t enough = 0);
  // As long as a start may take; where the server does not answer, the errors are those of one.
  agent::Result<std::vector<agent::Json>> list_at_start(std::string_view method,
                                                        std::string_view member,
                                                        const std::stop_token& stop);

  // Whether the server has said, since this was last asked, that its tools are others.
  bool take_tools_changed() { return tools_changed_.exchange(false); }
  bool has_news() const;  // of this, or of what follows
  // Why it will not say so, although it said that it would; once.
  std::optional<std::string> take_refusal();

  // Asks it to end, without waiting.
  void close();
  // And waits. What it has changed of what git and errand obey, where nobody has asked before.
  sandbox::ProtectedEnd end();

 private:
  struct Open {  // a request that is waited for
    std::optional<Message> answer;
    std::optional<agent::Error> failure;
    std::chrono::steady_clock::time_point heard;
    bool may_ask = false;  // the server, the person, for its sake
    const std::function<void(std::string_view)>* on_progress = nullptr;

    bool is_settled() const { return answer || failure; }
  };
  struct AskedPerson {  // a question of the server's
    agent::Json id;
    bool is_withdrawn = false;
    std::jthread thread;
  };
  struct Misunderstood {  // the first of each, on one line; empty: there was none
    std::string noise;    // that was no message
    std::string stray;    // an id that no request of ours had
    std::string refusal;  // of what it was told and need not answer, as an answer to its question
  };
  struct Answered {
    std::int64_t id;
    Open open;
  };

  enum class Begin : std::uint8_t { question, handshake };

  agent::Result<void> start(const OpenTransport& open);
  agent::Result<void> negotiate(Begin begin,
                                std::chrono::steady_clock::time_point ends,
                                const std::stop_token& stop);
  void drop_transport();
  agent::Result<std::optional<Answered>> first_answer(std::chrono::steady_clock::time_point until,
                                                      const std::stop_token& stop);
  bool is_open(std::int64_t id) const;
  agent::Result<bool> accept(const Answered& answer,
                             bool is_handshake,
                             std::chrono::steady_clock::time_point ends,
                             const std::stop_token& stop);
  agent::Result<ItemList> pages(std::string_view method,
                                std::string_view member,
                                const Waiting& waiting,
                                std::size_t enough,
                                agent::Error (*worded)(agent::Error));
  std::int64_t send(Question question);
  Outgoing outgoing(Question question);
  Outgoing listening();
  void cancel(std::int64_t id, std::string_view reason);
  void hear(Message message);
  void hear_notification(const Message& notification);
  void hear_progress(const agent::Json& params);
  void hear_withdrawal(const agent::Json& params);
  void hear_refusal(std::string why);
  void hear_failure(std::int64_t id, agent::Error error, std::string ended);
  void take(sandbox::ProtectedEnd looked);  // locked
  void hear_end(TalkingProgram::Ended ended);
  void answer_request(const Message& request);
  void answer_question(const Message& request);
  void stop_asking();
  bool may_ask() const;
  void answer(std::string text);
  agent::Error answer_error(const Open& answer) const;
  agent::Error ended_error(agent::Code code) const;
  agent::Error late_error() const;
  agent::Error silence_error(bool is_silent, const Waiting& waiting) const;
  void hear_noise(std::string noise);
  std::string misunderstood_lately() const;
  std::string told_of(const Misunderstood& heard) const;
  std::string asked_for_token() const;

  SessionOptions options_;
  Agreement agreement_;
  std::atomic<bool> is_negotiating_ = false;
  std::atomic<bool> tools_changed_ = false;
  mutable std::mutex mutex_;  // of the next fourteen
  std::condition_variable_any changed_;
  std::map<std::int64_t, Open> open_;
  std::int64_t last_id_ = 0;
  Misunderstood misunderstood_;
  Misunderstood lately_;                         // since all that wait now were asked
  std::int64_t listens_ = 0;                     // the request whose answer is a stream; 0: none
  std::optional<std::string> refusal_;           // of that request
  std::string ended_;                            // how; empty: it has not
  bool is_gone_ = false;                         // nothing will be answered any more
  int lost_ = 0;                                 // lost_by()
  sandbox::ProtectedEnd looked_;                 // behind those that have ended
  int asking_ = 0;                               // questions to the person that are open
  std::chrono::steady_clock::time_point asked_;  // when the last one was answered
  std::list<AskedPerson> questions_;
  std::unique_ptr<Transport> transport_;  // the last member: its threads use the others
};

}  // namespace tools::mcp

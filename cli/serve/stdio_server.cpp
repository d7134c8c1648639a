#include "cli/serve/stdio_server.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/serve/line_input.h"
#include "cli/serve/mcp_dialogue.h"
#include "cli/serve/outbox.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::chrono::milliseconds k_look_again{20};

agent::Ending ended_by_client(std::string message) {
  return {.error = agent::Error{.code = agent::Code::run_cancelled, .message = std::move(message)},
          .signal = SIGTERM};
}

class StdioServer {
 public:
  StdioServer(const StdioWorld& world, Outbox& outbox)
      : world_(world), outbox_(outbox), dialogue_(world.tools.tools(), ERRAND_VERSION) {}

  agent::Result<void> serve() {
    LineInput input(world_.in, k_most_message_bytes);
    for (;;) {
      TRY_ASSIGN(const auto line, input.next([&] { return is_over(); }));
      if (!line) {
        return {};
      }
      hear(*line);
    }
  }

 private:
  // Nobody is heard who does not read what was said to him; where nobody can read any more, runs
  // have nobody to work for, also while there is nothing to be written.
  bool is_over() const {
    const std::stop_token stop = world_.cancellation.stop();
    note_lost_reader();
    while (!stop.stop_requested() && !outbox_.has_room() && !is_hung_up(world_.in)) {
      std::this_thread::sleep_for(k_look_again);
      note_lost_reader();
    }
    return stop.stop_requested() || !outbox_.has_room();
  }

  void note_lost_reader() const {
    if (is_hung_up(world_.out) && !world_.cancellation.stop().stop_requested()) {
      world_.cancellation.signal(SIGPIPE);
    }
  }

  void hear(const LineInput::Line& line) {
    if (line.is_too_long) {
      reply(refused({},
                    tools::mcp::k_invalid_request,
                    fmt::format("a message has at most {} bytes", k_most_message_bytes)));
    } else if (!agent::trimmed(line.text).empty()) {
      for (Reaction& reaction : dialogue_.hear(line.text)) {
        heed(reaction);
      }
    }
  }

  void heed(Reaction& reaction) {
    reply(reaction);
    if (reaction.cancelled) {
      world_.pool.cancel({.id = agent::dump(*reaction.cancelled)},
                         ended_by_client("the client has cancelled the call"));
    }
    if (reaction.call) {
      begin(*std::move(reaction.call));
    }
  }

  void reply(const Reaction& reaction) {
    if (!reaction.reply.empty()) {
      outbox_.put(reaction.reply + '\n');
    }
  }

  void begin(AskedCall call) {
    const Json id = call.id;
    const auto taken = world_.pool.begin(
        {.id = agent::dump(id)},
        [this, call = std::move(call)](PooledCall& pooled) { perform(call, pooled); });
    if (taken == CallPool::Taken::twice) {
      reply(refused(id, tools::mcp::k_invalid_request, "a call of this id goes on"));
    } else if (taken == CallPool::Taken::full) {
      reply(refused(id, k_too_many_calls, "too many calls go on already; try again later"));
    }
  }

  void perform(const AskedCall& call, PooledCall& pooled) {
    std::int64_t said = 0;
    const auto progress = [&](std::string_view line) {
      if (!call.progress_token.is_null() && pooled.is_wanted) {
        const std::string safe = world_.redactor.apply(agent::one_line(line));
        outbox_.put_if_idle(progress_message(call, ++said, safe) + '\n');
      }
    };
    const ServedResult result =
        world_.tools.call(call.tool, call.arguments, pooled.cancellation, progress);
    if (pooled.is_wanted) {
      outbox_.put(call_reply(call, result) + '\n');
    }
  }

  const StdioWorld& world_;
  Outbox& outbox_;
  McpDialogue dialogue_;
};

// From its end on, readers are waited for as long as they are at the end of a program.
class LastWords {
 public:
  explicit LastWords(std::stop_source& no_more) : no_more_(no_more) {}
  ~LastWords() { no_more_.request_stop(); }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  std::stop_source& no_more_;
};

}  // namespace

agent::Result<void> serve_stdio(const StdioWorld& world) {
  std::stop_source no_more;  // is to be written than what is there
  const std::stop_callback stopped(world.cancellation.stop(), [&] { no_more.request_stop(); });
  agent::WritePatience patience(no_more.get_token(), world.cancellation.kill());
  int write_error = 0;
  auto served = [&] {
    Outbox outbox(world.out, patience, [&](int error) {
      write_error = error;
      const bool is_ending = world.cancellation.stop().stop_requested();
      if (error != ETIMEDOUT && !is_ending) {  // patience ends with the whole
        world.cancellation.signal(error == EPIPE ? SIGPIPE : SIGTERM);
      }
    });
    const LastWords last_words(no_more);
    StdioServer server(world, outbox);
    const EndOfCalls end_of_calls(world.pool, ended_by_client("the client has closed its end"));
    return server.serve();
  }();
  if (write_error != 0 && write_error != EPIPE && write_error != ETIMEDOUT) {
    return agent::fail(
        agent::Code::storage_io,
        fmt::format("cannot write to standard output: {}", std::strerror(write_error)));
  }
  return served;
}

}  // namespace cli

#include "cli/serve/stdio_server.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/serve/call_progress.h"
#include "cli/serve/line_input.h"
#include "cli/serve/mcp_dialogue.h"
#include "cli/serve/outbox.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
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

// What is answered to one line: a message, or, where that was a list, one list when all is known.
class Replies {
 public:
  Replies(Outbox& outbox, bool is_list, std::size_t messages)
      : outbox_(outbox), is_list_(is_list), open_(messages) {}

  // Once for each of the messages; empty: there is no answer to it.
  void settle(std::string_view reply) {
    const std::lock_guard lock(mutex_);
    if (!reply.empty()) {
      text_ += text_.empty() ? "" : ",";
      text_ += reply;
    }
    if (--open_ == 0 && !text_.empty()) {
      outbox_.put(is_list_ ? fmt::format("[{}]\n", text_) : text_ + '\n');
    }
  }

 private:
  Outbox& outbox_;
  const bool is_list_;
  std::mutex mutex_;  // of the rest
  std::size_t open_;
  std::string text_;
};

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
      const Reaction wrong =
          refused({},
                  tools::mcp::k_invalid_request,
                  fmt::format("a message has at most {} bytes", k_most_message_bytes));
      outbox_.put(wrong.reply + '\n');
    } else if (!agent::trimmed(line.text).empty()) {
      Heard heard = dialogue_.hear(line.text);
      const auto replies =
          std::make_shared<Replies>(outbox_, heard.is_list, heard.reactions.size());
      for (Reaction& reaction : heard.reactions) {
        heed(reaction, replies);
      }
    }
  }

  void heed(Reaction& reaction, const std::shared_ptr<Replies>& replies) {
    if (reaction.cancelled) {
      world_.pool.cancel({.id = agent::dump(*reaction.cancelled)},
                         ended_by_client("the client has cancelled the call"));
    }
    if (reaction.call) {
      begin(*std::move(reaction.call), replies);
    } else {
      replies->settle(reaction.reply);
    }
  }

  void begin(AskedCall call, const std::shared_ptr<Replies>& replies) {
    const Json id = call.id;
    const bool takes_turns = call.takes_turns;
    const auto progress =
        std::make_shared<CallProgress>(call, world_.redactor, [this](const std::string& message) {
          outbox_.put_if_idle(message + '\n');
        });
    const auto taken = world_.pool.begin(
        {.id = agent::dump(id)},
        takes_turns,
        [this, call = std::move(call), replies, progress](PooledCall& pooled) {
          perform(call, pooled, *replies, *progress);
        },
        [progress](bool is_running) { progress->give_sign(is_running); });
    if (taken == CallPool::Taken::twice) {
      replies->settle(
          refused(id, tools::mcp::k_invalid_request, "a call of this id goes on").reply);
    } else if (taken == CallPool::Taken::full) {
      replies->settle(
          refused(id, k_too_many_calls, "too many calls go on already; try again later").reply);
    }
  }

  void perform(const AskedCall& call,
               PooledCall& pooled,
               Replies& replies,
               CallProgress& progress) {
    const auto say = [&](std::string_view line) {
      if (pooled.is_wanted) {
        progress.say(line);
      }
    };
    const ServedResult result =
        world_.tools.call(call.tool, call.arguments, pooled.cancellation, say);
    replies.settle(world_.pool.take_answered(pooled) ? call_reply(call, result) : "");
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

#include "cli/approver.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/output.h"
#include "cli/render_error.h"
#include "config/source.h"
#include "config/user_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

using agent::Answer;

constexpr std::size_t k_largest_config = 1'048'576;
constexpr std::size_t k_longest_answer = 100;

class AlwaysYes final : public agent::Approver {
 public:
  Answer ask(const agent::ApprovalRequest&, std::stop_token) override { return Answer::once; }
  std::string_view name() const override { return "--yes"; }
};

// Wakes a poll() when the run is to stop.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Wake{event_}) {}
  ~StopSignal() { ::close(event_); }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int descriptor() const { return event_; }

 private:
  struct Wake {
    int event;
    void operator()() const { ::eventfd_write(event, 1); }
  };
  int event_;
  std::stop_callback<Wake> callback_;
};

// With a mark in front of each line: nothing in the call can look like a part of the prompt.
std::string with_marks(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += fmt::format("  | {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class Terminal final : public agent::Approver {
 public:
  Terminal(ApproverOptions options, const agent::Redactor& redactor)
      : options_(std::move(options)), redactor_(redactor) {}

  std::string_view name() const override { return "person"; }

  Answer ask(const agent::ApprovalRequest& request, std::stop_token stop) override {
    const StopSignal stopped(stop);
    const bool offers_always = request.may_always && !options_.user_config.empty();
    ::tcflush(STDIN_FILENO, TCIFLUSH);  // what was typed before was no answer to this
    say(fmt::format("\n{} asks to be run: {}\n{}",
                    paint("1", clean(request.call.name), options_.color),
                    clean(request.reason),
                    with_marks(clean(shown(request.call)))));
    for (;;) {
      say(fmt::format("Allow it? [y] once, [r] in this run, {}[s] stop the run, [N] no: ",
                      offers_always ? "[a] always, " : ""));
      const auto line = read_line(stopped.descriptor());
      if (!line) {
        say("\n");
        return Answer::nobody;
      }
      const auto answer = meaning(agent::trimmed(*line), offers_always);
      if (answer == Answer::always) {
        keep(request.rule);
      }
      if (answer) {
        return *answer;
      }
    }
  }

 private:
  static void say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
      if (count < 0 && errno != EINTR) {
        return;
      }
      text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
  }

  std::string clean(std::string_view text) const { return agent::printable(redactor_.apply(text)); }

  // A command line as it stands, all else as JSON.
  static std::string shown(const agent::ToolCall& call) {
    const auto arguments = agent::parse_json(call.arguments);
    if (arguments && arguments->size() == 1 && arguments->contains("command")) {
      return std::string(agent::text_at(*arguments, "command"));
    }
    return call.arguments;
  }

  // Up to its end; nullopt: the run is to stop. The end of the input is an empty line.
  static std::optional<std::string> read_line(int stopped) {
    std::string line;
    for (;;) {
      std::array<pollfd, 2> ready{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = stopped, .events = POLLIN, .revents = 0}};
      if (::poll(ready.data(), ready.size(), -1) < 0) {
        continue;
      }
      if (ready[1].revents != 0) {
        return std::nullopt;
      }
      char c = 0;
      const ssize_t count = ::read(STDIN_FILENO, &c, 1);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        continue;
      }
      if (count <= 0 || c == '\n') {
        return line;
      }
      if (line.size() < k_longest_answer) {
        line += c;
      }
    }
  }

  // nullopt: no answer to this question.
  static std::optional<Answer> meaning(std::string_view line, bool offers_always) {
    struct Word {
      std::string_view letter;
      std::string_view word;
      Answer answer;
    };
    constexpr auto k_words = std::to_array<Word>({{"", "", Answer::no},
                                                  {"n", "no", Answer::no},
                                                  {"y", "yes", Answer::once},
                                                  {"r", "run", Answer::run},
                                                  {"a", "always", Answer::always},
                                                  {"s", "stop", Answer::stop}});
    const std::string lower = agent::to_lower(line);
    for (const Word& word : k_words) {
      if ((lower == word.letter || lower == word.word) &&
          (word.answer != Answer::always || offers_always)) {
        return word.answer;
      }
    }
    return std::nullopt;
  }

  // Where it cannot be written, it still holds for this run.
  void keep(const std::string& rule) const {
    const auto kept = write(rule);
    say(kept ? fmt::format("errand: added to {}\n", options_.user_config.string())
             : fmt::format("errand: warning: only for this run: {}; {}\n",
                           clean(kept.error().message),
                           clean(kept.error().help)));
  }

  agent::Result<void> write(const std::string& rule) const {
    std::string text;
    std::error_code error;
    if (std::filesystem::exists(options_.user_config, error)) {
      TRY_ASSIGN(text, config::read_text_file(options_.user_config, k_largest_config));
    }
    TRY_ASSIGN(const std::string changed, config::with_allowed(text, rule));
    std::filesystem::create_directories(options_.user_config.parent_path(), error);
    TRY_ASSIGN(const auto file, Output::to_file(options_.user_config.string()));
    file->write(changed);
    file->commit();
    if (file->failure() != nullptr) {
      return agent::fail(*file->failure());
    }
    return {};
  }

  ApproverOptions options_;
  const agent::Redactor& redactor_;
};

bool is_ours(int terminal) {
  const pid_t group = ::tcgetpgrp(terminal);  // -1: a terminal that controls nobody
  return group < 0 || group == ::getpgrp();
}

}  // namespace

std::unique_ptr<agent::Approver> open_approver(ApproverOptions options,
                                               const agent::Redactor& redactor) {
  if (options.says_yes) {
    return std::make_unique<AlwaysYes>();
  }
  const bool is_there = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  if (!is_there || !is_ours(STDIN_FILENO)) {
    return nullptr;
  }
  return std::make_unique<Terminal>(std::move(options), redactor);
}

}  // namespace cli

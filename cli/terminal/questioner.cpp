#include "cli/terminal/questioner.h"

#include "agent/text.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <mutex>
#include <system_error>
#include <utility>

namespace cli {
namespace {

constexpr std::size_t k_longest_reply = 4'096;  // as long as a terminal's line can be

// Whoever types an option's words, or its number, means that option; all else is their own answer.
std::string meant(std::string_view line, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (agent::to_lower(option) == agent::to_lower(line)) {
      return option;
    }
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const bool is_number = error == std::errc() && end == line.data() + line.size();
  return is_number && number >= 1 && number <= options.size() ? options[number - 1]
                                                              : std::string(line);
}

class TerminalQuestioner final : public tools::Questioner {
 public:
  TerminalQuestioner(QuestionerOptions options, const agent::Redactor& redactor)
      : options_(std::move(options)), terminal_(redactor) {}

  std::unique_ptr<Conversation> begin(std::stop_token stop) override {
    return std::make_unique<Talk>(*this, stop);
  }

 private:
  class Talk final : public Conversation {
   public:
    Talk(TerminalQuestioner& questioner, const std::stop_token& stop)
        : questioner_(questioner),
          turn_(take_turn(questioner.mutex_, stop)),
          asking_(questioner.options_.progress, stop) {}

    std::optional<std::string> ask(const tools::Question& question, std::stop_token stop) override {
      return questioner_.ask(question, std::move(stop));
    }

   private:
    TerminalQuestioner& questioner_;
    std::unique_lock<TurnLock> turn_;
    Progress::Question asking_;
  };

  std::optional<std::string> ask(const tools::Question& question, std::stop_token stop) {
    if (!Terminal::is_there() || stop.stop_requested()) {
      return std::nullopt;  // it was closed since
    }
    Terminal::forget_typed();
    const std::string member =
        options_.who.empty() ? "" : fmt::format(" of {}", agent::one_line(options_.who));
    std::string text =
        fmt::format("\n{}\n{}",
                    paint("1", agent::one_line(question.who) + member + " asks:", options_.color),
                    terminal_.with_marks(question.text));
    for (std::size_t at = 0; at < question.options.size(); ++at) {
      text += terminal_.with_marks(fmt::format("{}. {}", at + 1, question.options[at]));
    }
    text += question.options.empty() ? "Your answer" : "A number, or your answer";
    std::vector<std::string> keys;
    if (!question.enter.empty()) {
      keys.push_back("Enter: " + agent::one_line(terminal_.clean(question.enter)));
    }
    if (question.may_leave) {
      keys.emplace_back("Ctrl-D: leave");
    }
    text += keys.empty() ? ": " : fmt::format(" ({}): ", fmt::join(keys, "; "));
    Terminal::say(text);
    const auto line = Terminal::read_line(stop, k_longest_reply);
    if (!line && stop.stop_requested()) {
      Terminal::say("No answer is waited for any more.\n");
    }
    const bool has_left = !line || (line->is_last && question.may_leave);
    return has_left ? std::nullopt
                    : std::optional(meant(agent::trimmed(line->text), question.options));
  }

  QuestionerOptions options_;
  Terminal terminal_;
  TurnLock mutex_;  // what asks by hand shares no progress
};

}  // namespace

std::unique_ptr<tools::Questioner> open_questioner(QuestionerOptions options,
                                                   const agent::Redactor& redactor) {
  if (!Terminal::is_there()) {
    return nullptr;
  }
  return std::make_unique<TerminalQuestioner>(std::move(options), redactor);
}

}  // namespace cli

#include "cli/terminal/questioner.h"

#include "agent/text.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>

#include <charconv>
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

  std::optional<std::string> ask(const tools::Question& question, std::stop_token stop) override {
    if (!Terminal::is_there()) {
      return std::nullopt;  // it was closed since
    }
    if (options_.fall_silent) {
      options_.fall_silent();
    }
    Terminal::forget_typed();
    std::string text = fmt::format("\n{}\n{}",
                                   paint("1", "The agent asks:", options_.color),
                                   terminal_.with_marks(question.text));
    for (std::size_t at = 0; at < question.options.size(); ++at) {
      text += terminal_.with_marks(fmt::format("{}. {}", at + 1, question.options[at]));
    }
    Terminal::say(text + (question.options.empty() ? "Your answer (Enter: none): "
                                                   : "A number, or your answer (Enter: none): "));
    const auto line = Terminal::read_line(stop, k_longest_reply);
    return line ? std::optional(meant(agent::trimmed(*line), question.options)) : std::nullopt;
  }

 private:
  QuestionerOptions options_;
  Terminal terminal_;
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

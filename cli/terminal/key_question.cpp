#include "cli/terminal/key_question.h"

#include "agent/text.h"
#include "cli/terminal/change_settings.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"
#include "config/user_config.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

namespace cli {
namespace {

constexpr std::size_t k_longest_answer_line = 100;
constexpr std::chrono::minutes k_patience{5};

// nullopt: no answer to this question.
std::optional<KeyAnswer> key_answer(std::string_view line, bool may_keep) {
  struct Word {
    std::string_view letter;
    std::string_view word;
    KeyAnswer answer;
  };
  constexpr auto k_words = std::to_array<Word>({{"", "", KeyAnswer::no},
                                                {"n", "no", KeyAnswer::no},
                                                {"y", "yes", KeyAnswer::once},
                                                {"a", "always", KeyAnswer::always}});
  const std::string lower = agent::to_lower(line);
  for (const Word& word : k_words) {
    if ((lower == word.letter || lower == word.word) &&
        (word.answer != KeyAnswer::always || may_keep)) {
      return word.answer;
    }
  }
  return std::nullopt;
}

}  // namespace

KeyAnswer ask_for_key(const KeyQuestion& question,
                      bool may_keep,
                      bool color,
                      const agent::Redactor& redactor,
                      const std::stop_token& stop) {
  const Terminal terminal(redactor);
  const auto deadline = std::chrono::steady_clock::now() + k_patience;
  Terminal::forget_typed();
  Terminal::say(fmt::format(
      "\n{} {} the value of {} to\n{}",
      terminal.clean(question.file),
      question.is_of_program ? "has a program or web_fetch that could take" : "would send",
      paint("1", terminal.clean(question.variable), color),
      terminal.with_marks(question.server)));
  for (;;) {
    Terminal::say(
        fmt::format("Send it there? [y] once, {}[N] no: ", may_keep ? "[a] always, " : ""));
    const auto line = Terminal::read_line(stop, k_longest_answer_line, deadline);
    if (!line) {
      return KeyAnswer::nobody;
    }
    if (const auto answer = key_answer(agent::trimmed(line->text), may_keep)) {
      return *answer;
    }
  }
}

void keep_key_host(const KeyQuestion& question,
                   const std::filesystem::path& user_config,
                   const agent::Redactor& redactor) {
  const Terminal terminal(redactor);
  const auto kept = change_settings(user_config, [&](const std::string& text) {
    return config::with_key_host(text, question.variable, question.origin);
  });
  Terminal::say(kept ? fmt::format("errand: added to {}\n", terminal.clean(user_config.string()))
                     : fmt::format("errand: warning: only for this run: {}; {}\n",
                                   terminal.clean(kept.error().message),
                                   terminal.clean(kept.error().help)));
}

}  // namespace cli

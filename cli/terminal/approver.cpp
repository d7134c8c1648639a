#include "cli/terminal/approver.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/terminal/change_settings.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"
#include "config/user_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <utility>

namespace cli {
namespace {

using agent::Answer;

constexpr std::size_t k_longest_answer = 100;

class AlwaysYes final : public agent::Approver {
 public:
  Answer ask(const agent::ApprovalRequest&, std::stop_token) override { return Answer::once; }
  std::string_view name() const override { return "--yes"; }
};

class Person final : public agent::Approver {
 public:
  Person(ApproverOptions options, const agent::Redactor& redactor)
      : options_(std::move(options)), terminal_(redactor) {}

  std::string_view name() const override { return "person"; }

  Answer ask(const agent::ApprovalRequest& request, std::stop_token stop) override {
    const bool offers_always = request.may_always && !options_.user_config.empty();
    Terminal::forget_typed();
    Terminal::say(fmt::format("\n{} asks to be run: {}\n{}",
                              paint("1", terminal_.clean(request.call.name), options_.color),
                              terminal_.clean(request.reason),
                              terminal_.with_marks(shown(request.call))));
    for (;;) {
      Terminal::say(fmt::format("Allow it? [y] once, [r] in this run, {}[s] stop the run, [N] no: ",
                                offers_always ? "[a] always, " : ""));
      const auto line = Terminal::read_line(stop, k_longest_answer);
      if (!line) {
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
  // A command line or a patch as it stands, all else as JSON.
  static std::string shown(const agent::ToolCall& call) {
    const auto arguments = agent::parse_json(call.arguments);
    for (const std::string_view plain : {"command", "patch"}) {
      if (arguments && arguments->size() == 1 && arguments->contains(plain)) {
        return std::string(agent::text_at(*arguments, plain));
      }
    }
    return call.arguments;
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
    const auto kept = change_settings(options_.user_config, [&](const std::string& text) {
      return config::with_allowed(text, rule);
    });
    Terminal::say(kept ? fmt::format("errand: added to {}\n", options_.user_config.string())
                       : fmt::format("errand: warning: only for this run: {}; {}\n",
                                     terminal_.clean(kept.error().message),
                                     terminal_.clean(kept.error().help)));
  }

  ApproverOptions options_;
  Terminal terminal_;
};

}  // namespace

std::unique_ptr<agent::Approver> open_approver(ApproverOptions options,
                                               const agent::Redactor& redactor) {
  if (options.says_yes) {
    return std::make_unique<AlwaysYes>();
  }
  if (!Terminal::is_there()) {
    return nullptr;
  }
  return std::make_unique<Person>(std::move(options), redactor);
}

}  // namespace cli

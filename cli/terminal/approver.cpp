#include "cli/terminal/approver.h"

#include "agent/text.h"
#include "agent/written_out.h"
#include "cli/terminal/call_sheet.h"
#include "cli/terminal/change_settings.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"
#include "config/user_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Answer;

constexpr std::size_t k_longest_answer = 100;

// Its own line ends, and the mark of an empty line that stays, are no part of what would change.
std::string diff_for(std::string_view changes) {
  std::vector<std::string_view> lines = agent::split_lines(changes);
  std::ranges::replace(lines, std::string_view(" "), std::string_view());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

class AlwaysYes final : public agent::Approver {
 public:
  Answer ask(const agent::ApprovalRequest&, std::stop_token) override { return Answer::once; }
  std::string_view name() const override { return "--yes"; }
};

class Person final : public agent::Approver {
 public:
  explicit Person(ApproverOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "person"; }

  Answer ask(const agent::ApprovalRequest& request, std::stop_token stop) override {
    const Progress::Question question(options_.progress, stop);
    if (!Terminal::is_there() || stop.stop_requested()) {
      return Answer::nobody;  // it was closed since
    }
    const bool offers_always = request.may_always && !options_.user_config.empty();
    const Terminal::Size size = Terminal::size();
    const CallSheet whole = whole_sheet(request, size.columns);
    const CallSheet sheet =
        request.changes.empty() ? whole : sheet_of_changes(request, size.columns);
    const std::size_t shown = sheet.size() <= room(size) ? sheet.size() : room(size) - 1;
    const bool has_more = shown < sheet.size() || !request.changes.empty();
    Terminal::forget_typed();
    Terminal::say("\n" + heading(request, size.columns) + sheet.lines(0, shown));
    if (shown < sheet.size()) {
      Terminal::say(fmt::format("  not shown: {} more lines, {} bytes; [v] shows all\n",
                                sheet.size() - shown,
                                sheet.bytes(shown)));
    }
    for (;;) {
      Terminal::say(fmt::format("Allow it? {}[y] once, {}{}{}[s] stop the run, [N] no: ",
                                has_more ? "[v] view all, " : "",
                                request.rule.empty() ? "" : "[r] in this run, ",
                                request.may_whole_tool ? "[t] this tool, in this run, " : "",
                                offers_always ? "[a] always, " : ""));
      const auto line = Terminal::read_line(stop, k_longest_answer);
      if (!line) {
        return Answer::nobody;
      }
      const std::string word = agent::to_lower(agent::trimmed(line->text));
      if (word == "v" || word == "view") {
        if (!page(whole, size, stop)) {
          return Answer::nobody;
        }
        continue;
      }
      const auto answer = meaning(word, offers_always, request);
      const std::string granted = answer ? granted_rule(*answer, request.rule) : std::string();
      const std::string rule = answer == Answer::always ? options_.lasting(granted) : granted;
      if (!rule.empty()) {
        const auto keeps = confirm_rule(rule, *answer, size, stop);
        if (!keeps) {
          return Answer::nobody;
        }
        if (!*keeps) {
          continue;
        }
      }
      if (answer == Answer::always) {
        keep(rule);
      }
      if (answer) {
        return *answer;
      }
    }
  }

 private:
  // What a call's own lines may take so that its heading and the question stay in sight.
  static std::size_t room(const Terminal::Size& size) {
    constexpr std::size_t k_around = 7;
    constexpr std::size_t k_least = 5;
    return std::max(k_least, size.rows - std::min(size.rows, k_around));
  }

  std::string heading(const agent::ApprovalRequest& request, std::size_t columns) const {
    const std::string& tool = request.call.name;
    CallSheet sheet(columns);
    sheet.add_line(fmt::format("{} asks to be run{}: {}",
                               tool,
                               options_.who.empty() ? "" : " by " + options_.who,
                               request.reason));
    std::string text = sheet.lines(0, sheet.size());
    return text.starts_with(tool) ? paint("1", tool, options_.color) + text.substr(tool.size())
                                  : text;
  }

  static void add_changes(CallSheet& sheet, const agent::ApprovalRequest& request) {
    sheet.add_text("what it would change", diff_for(request.changes));
  }

  static CallSheet sheet_of_changes(const agent::ApprovalRequest& request, std::size_t columns) {
    CallSheet sheet(columns);
    add_changes(sheet, request);
    sheet.explain_characters();
    return sheet;
  }

  static CallSheet whole_sheet(const agent::ApprovalRequest& request, std::size_t columns) {
    CallSheet sheet(columns);
    if (!request.changes.empty()) {
      add_changes(sheet, request);
    }
    sheet.add_arguments(request.call);
    if (!request.changes_unknown.empty()) {
      sheet.add_line("  what it would change cannot be shown: " + request.changes_unknown);
    }
    sheet.explain_characters();
    return sheet;
  }

  // Page by page; false: nobody answers.
  static bool page(const CallSheet& sheet,
                   const Terminal::Size& size,
                   const std::stop_token& stop) {
    const std::size_t step =
        std::max<std::size_t>(5, size.rows - std::min<std::size_t>(size.rows, 2));
    for (std::size_t begin = 0; begin < sheet.size(); begin += step) {
      const std::size_t end = std::min(begin + step, sheet.size());
      Terminal::say(sheet.lines(begin, end));
      if (end == sheet.size()) {
        Terminal::say(fmt::format("-- all {} lines shown\n", end));
        break;
      }
      Terminal::say(fmt::format("-- {} of {} lines; Enter: more, [q] back: ", end, sheet.size()));
      const auto line = Terminal::read_line(stop, k_longest_answer);
      if (!line) {
        return false;
      }
      if (agent::to_lower(agent::trimmed(line->text)) == "q") {
        break;
      }
    }
    return true;
  }

  // nullopt: nobody answers.
  std::optional<bool> confirm_rule(const std::string& rule,
                                   Answer answer,
                                   const Terminal::Size& size,
                                   const std::stop_token& stop) const {
    CallSheet sheet(size.columns);
    const bool is_for_ever = answer == Answer::always;
    sheet.add_text(is_for_ever ? "the rule that allows it, in every run"
                               : "the rule that allows it, in this run",
                   rule);
    sheet.explain_characters();
    if (!page(sheet, size, stop)) {
      return std::nullopt;
    }
    Terminal::say(is_for_ever
                      ? fmt::format("Keep this rule in {}? [y] yes, [N] no: ",
                                    agent::written_out_line(options_.user_config.string()))
                      : std::string("Keep this rule until the run ends? [y] yes, [N] no: "));
    const auto line = Terminal::read_line(stop, k_longest_answer);
    if (!line) {
      return std::nullopt;
    }
    const std::string word = agent::to_lower(agent::trimmed(line->text));
    return word == "y" || word == "yes";
  }

  // In small letters; nullopt: no answer to this question.
  static std::optional<Answer> meaning(std::string_view line,
                                       bool offers_always,
                                       const agent::ApprovalRequest& request) {
    struct Word {
      std::string_view letter;
      std::string_view word;
      Answer answer;
    };
    constexpr auto k_words = std::to_array<Word>({{"", "", Answer::no},
                                                  {"n", "no", Answer::no},
                                                  {"y", "yes", Answer::once},
                                                  {"r", "run", Answer::run},
                                                  {"t", "tool", Answer::tool},
                                                  {"a", "always", Answer::always},
                                                  {"s", "stop", Answer::stop}});
    for (const Word& word : k_words) {
      if ((line == word.letter || line == word.word) &&
          (word.answer != Answer::always || offers_always) &&
          (word.answer != Answer::run || !request.rule.empty()) &&
          (word.answer != Answer::tool || request.may_whole_tool)) {
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
    Terminal::say(kept ? fmt::format("errand: added to {}\n",
                                     agent::written_out_line(options_.user_config.string()))
                       : fmt::format("errand: warning: only for this run: {}; {}\n",
                                     agent::written_out_line(kept.error().message),
                                     agent::written_out_line(kept.error().help)));
  }

  ApproverOptions options_;
};

}  // namespace

std::unique_ptr<agent::Approver> open_approver(ApproverOptions options) {
  if (options.says_yes) {
    return std::make_unique<AlwaysYes>();
  }
  if (!options.is_attended || !Terminal::is_there()) {
    return nullptr;
  }
  return std::make_unique<Person>(std::move(options));
}

}  // namespace cli

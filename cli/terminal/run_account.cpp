#include "cli/terminal/run_account.h"

#include "agent/json.h"
#include "agent/text.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"
#include "tools/builtin/shown_call.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

constexpr std::string_view k_quiet_style = "2";
constexpr std::string_view k_warning_style = "33";
constexpr std::string_view k_call_style = "32";
constexpr std::string_view k_turn_style = "1";
constexpr std::size_t k_text_lines = 3;  // of a reply
constexpr std::size_t k_longest_line = 4'000;

class Account {
 public:
  Account(const AccountOptions& options, const agent::Redactor& redactor)
      : options_(options), redactor_(redactor) {}

  void add(const agent::Event& event) {
    std::visit([&](const auto& body) { show(body, event); }, event.body);
  }

  std::string finish() {
    for (const auto& [id, shown] : running_) {
      note(k_warning_style, fmt::format("  {}: no result is recorded", shown));
    }
    return std::move(text_);
  }

 private:
  bool is_whole() const { return options_.turn.has_value(); }

  void show(const agent::RunStarted& run, const agent::Event& event) {
    if (run.forked_from) {
      blank_line();
      note(k_turn_style,
           fmt::format("forked {} from {} after turn {}",
                       local_time(event.time),
                       agent::one_line(run.forked_from->run_id),
                       run.forked_from->turn));
    } else if (run.resumes) {
      blank_line();
      note(k_turn_style,
           fmt::format("carried on {} from event {}", local_time(event.time), *run.resumes));
    } else {
      note(k_turn_style, start_line(run, event.run_id));
    }
    note(k_quiet_style,
         fmt::format("begun {} in {}{}",
                     local_time(event.time),
                     run.cwd,
                     run.session.empty() ? "" : ", session " + run.session));
    note(k_quiet_style, sandbox_line(run, false));
    for (const agent::McpConnection& server : run.mcp_servers) {
      note(k_quiet_style, server_line(server));
    }
    if (!run.prompt.empty()) {
      cut("prompt: " + excerpt(run.prompt, k_longest_line));
    }
  }
  void show(const agent::TurnStarted&, const agent::Event&) { blank_line(); }
  void show(const agent::ModelRequested& asked, const agent::Event&) {
    if (is_whole()) {
      note(k_quiet_style,
           fmt::format("asked {}: messages: {}, about {} tokens",
                       asked.model,
                       asked.messages,
                       asked.estimated_input));
    }
  }
  void show(const agent::ModelDelta&, const agent::Event&) {}
  void show(const agent::ToolOutput&, const agent::Event&) {}
  void show(const agent::ModelBroken& broken, const agent::Event&) {
    note(k_warning_style,
         fmt::format("an answer broke off: {} in, {} out, cost {}",
                     broken.counted().input,
                     broken.counted().output,
                     agent::format_money(broken.cost)));
  }
  void show(const agent::ModelReset& reset, const agent::Event&) {
    note(k_warning_style,
         "the answer so far was void" + (reset.reason.empty() ? "" : ": " + reset.reason));
  }
  void show(const agent::ModelRetrying& retry, const agent::Event&) {
    note(k_warning_style, retry_line(retry));
  }
  void show(const agent::ModelFallback& fallback, const agent::Event&) {
    note(k_warning_style, fallback_line(fallback));
  }
  void show(const agent::ModelResponded& responded, const agent::Event&) {
    const agent::Reply& reply = *responded.reply;
    note(k_turn_style, reply_line(responded));
    calls_.clear();
    for (const agent::ToolCall& call : reply.tool_calls) {
      calls_[call.id] = &call;
    }
    if (is_whole() && !reply.reasoning.empty()) {
      paragraph("thought", reply.reasoning);
    }
    if (is_whole() && !reply.text.empty()) {
      paragraph("text", reply.text);
    } else {
      first_lines(reply.text);
    }
    if (is_whole()) {
      for (const agent::ToolCall& call : reply.tool_calls) {
        whole_call(call);
      }
    }
  }
  void show(const agent::UserSaid& said, const agent::Event&) {
    note(k_warning_style, said_line(said));
    if (is_whole()) {
      paragraph("to the model", said.text);
    }
  }
  void show(const agent::ToolStarted& started, const agent::Event&) {
    announce(started.call_id, started.name, started.arguments);
    running_[started.call_id] = name_of(started.name);
  }
  void show(const agent::ToolFinished& finished, const agent::Event&) {
    const agent::ToolResult& result = finished.result;
    if (running_.erase(result.call_id) == 0) {  // it has not run
      const auto asked = calls_.find(result.call_id);
      announce(result.call_id,
               result.name,
               asked == calls_.end() ? std::string_view() : asked->second->arguments);
    }
    const bool is_ok = result.is_well();
    note(is_ok ? k_quiet_style : k_warning_style,
         fmt::format("  {}{}, {} bytes, {}",
                     last_announced_ == result.call_id ? "" : name_of(result.name) + ": ",
                     result_words(result),
                     result.content.size(),
                     duration_words(result.duration_ms)));
    if (is_whole() && !result.content.empty()) {
      paragraph("result", result.content);
    }
  }
  void show(const agent::ApprovalRequested& asked, const agent::Event&) {
    const agent::ApprovalRequest& request = asked.request;
    cut("approval asked for: " + shown(request.call.name, request.call.arguments));
    const std::string why =
        fmt::format("  {}{}",
                    request.reason,
                    request.rule.empty() ? "" : fmt::format(" (rule {})", request.rule));
    if (is_whole()) {
      note("", why);
    } else {
      cut(why);
    }
  }
  void show(const agent::ApprovalAnswered& answered, const agent::Event&) {
    note(k_quiet_style,
         fmt::format("  answered: {}{}{}",
                     agent::to_string(answered.answer),
                     answered.by.empty() ? "" : ", by " + answered.by,
                     answered.reason.empty() ? "" : ": " + answered.reason));
  }
  void show(const agent::RunParked& parked, const agent::Event&) {
    for (const agent::ParkedCall& call : parked.calls) {
      note(k_warning_style, "parked: " + waiting_line(call));
    }
  }
  void show(const agent::HookRan& hook, const agent::Event&) {
    if (is_whole() || !is_quiet(hook)) {
      note(is_quiet(hook) ? k_quiet_style : k_warning_style, hook_line(hook));
    }
  }
  void show(const agent::GuardrailRan& guardrail, const agent::Event&) {
    const bool is_news = guardrail.action != "allow";
    if (is_whole() || is_news) {
      note(is_news ? k_warning_style : k_quiet_style, guardrail_line(guardrail));
    }
  }
  void show(const agent::CheckRan& check, const agent::Event&) {
    note(check.passed ? k_quiet_style : k_warning_style, check_line(check));
    if (is_whole() && !check.output.empty()) {
      paragraph("output", check.output);
    }
  }
  void show(const agent::ToolsAdded& added, const agent::Event&) {
    note(k_quiet_style, added_line(added));
  }
  void show(const agent::ContextCompacted& compacted, const agent::Event&) {
    if (compacted.action == "asked") {
      return;
    }
    note(compacted.error ? k_warning_style : k_quiet_style, compacted_line(compacted));
    if (is_whole() && !compacted.summary.empty()) {
      paragraph("summary", compacted.summary);
    }
  }
  void show(const agent::MemberStarted& member, const agent::Event&) {
    note(k_call_style,
         "▸ " + member_line(member) + (member.run_id.empty() ? "" : ", run " + member.run_id));
  }
  void show(const agent::MemberFinished& member, const agent::Event&) {
    note(member.result.exit_code == 0 ? k_quiet_style : k_warning_style,
         fmt::format("  {}: {}", name_of(member.member), member_words(member)));
    for (const std::string& words : last_words(member)) {
      note(k_quiet_style, words);
    }
  }
  void show(const agent::LimitWarning& limit, const agent::Event&) {
    note(k_warning_style,
         fmt::format("warning: {} of {} used of {}", limit.used, limit.max, limit.limit));
  }
  void show(const agent::Warning& warning, const agent::Event&) {
    note(k_warning_style, "warning: " + warning.message);
    if (!warning.help.empty()) {
      note("", "  help: " + warning.help);
    }
  }
  void show(const agent::RunFinished& end, const agent::Event&) {
    const agent::RunResult& result = end.result;
    blank_line();
    for (const agent::ModelUse& use : result.models) {
      note(k_quiet_style, bill_of(use));
    }
    std::vector<agent::Error> errors;
    if (result.error) {
      errors.push_back(*result.error);
    }
    text_ += render_ending(errors, result.exit_code, bill(result), options_.color, redactor_);
    text_ += '\n';
  }

  // Redacted before it is cut: then a secret is still known.
  std::string shown(std::string_view name, std::string_view arguments) const {
    const std::string text = redactor_.apply(arguments);
    return excerpt(tools::shown_call(name_of(name), text), k_longest_line);
  }

  void announce(const std::string& id, std::string_view name, std::string_view arguments) {
    last_announced_ = id;
    const std::string line = cut_to_columns("▸ " + clean(shown(name, arguments)), options_.columns);
    const std::size_t end = std::min(line.find(' ', std::string_view("▸ ").size()), line.size());
    text_ += paint(k_call_style, line.substr(0, end), options_.color) + line.substr(end) + '\n';
  }

  void whole_call(const agent::ToolCall& call) {
    const auto json = agent::parse_json(call.arguments);
    paragraph(
        fmt::format("call {} {}", name_of(call.id), name_of(call.name)),
        json ? json->dump(2, ' ', false, agent::Json::error_handler_t::replace) : call.arguments);
  }

  void first_lines(std::string_view text) {
    const std::string redacted = redactor_.apply(agent::trimmed(text));
    const auto lines = agent::split_lines(redacted);
    for (std::size_t at = 0; at < std::min(lines.size(), k_text_lines); ++at) {
      cut(lines[at].empty() ? "" : "  " + std::string(lines[at]));
    }
    if (lines.size() > k_text_lines) {
      note(k_quiet_style, fmt::format("  … {} more lines", lines.size() - k_text_lines));
    }
  }

  void paragraph(std::string_view title, std::string_view text) {
    text_ += paint(k_quiet_style, fmt::format("--- {} ---", title), options_.color) + '\n';
    text_ += agent::printable(redactor_.apply(text));
    text_ += text_.ends_with('\n') ? "" : "\n";
  }
  void cut(std::string_view text) { text_ += cut_to_columns(clean(text), options_.columns) + '\n'; }
  void note(std::string_view style, std::string_view text) {
    text_ += paint(style, clean(text), options_.color) + '\n';
  }
  void blank_line() { text_ += text_.empty() ? "" : "\n"; }
  std::string clean(std::string_view text) const {
    return agent::one_line(redactor_.apply(text), k_longest_line);
  }

  const AccountOptions& options_;
  const agent::Redactor& redactor_;
  std::string text_;
  std::map<std::string, const agent::ToolCall*, std::less<>> calls_;  // of the last reply
  std::map<std::string, std::string> running_;                        // by id: the tools' names
  std::string last_announced_;
};

}  // namespace

std::string account_of(std::span<const agent::Event> events,
                       const AccountOptions& options,
                       const agent::Redactor& redactor) {
  Account account(options, redactor);
  for (const agent::Event& event : options.turn ? events_of_turn(events, *options.turn) : events) {
    account.add(event);
  }
  return account.finish();
}

std::span<const agent::Event> events_of_turn(std::span<const agent::Event> events,
                                             std::int64_t turn) {
  const auto begin = std::ranges::find_if(events, [&](const agent::Event& event) {
    const auto* started = std::get_if<agent::TurnStarted>(&event.body);
    return started != nullptr && started->turn == turn;
  });
  if (begin == events.end()) {
    return {};
  }
  const auto end = std::find_if(begin + 1, events.end(), [&](const agent::Event& event) {
    const auto* started = std::get_if<agent::TurnStarted>(&event.body);
    return (started != nullptr && started->turn != turn) ||
           std::holds_alternative<agent::RunFinished>(event.body);
  });
  return {begin, end};
}

std::string local_time(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
  return date.data();
}

}  // namespace cli

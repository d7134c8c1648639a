#include "cli/run_document.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/terminal/event_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace cli {
namespace {

constexpr std::size_t k_name_bytes = 200;

class Document {
 public:
  explicit Document(const agent::Redactor& redactor) : redactor_(redactor) {}

  void add(const agent::Event& event) {
    std::visit([&](const auto& body) { write(body, event); }, event.body);
  }
  std::string finish() { return std::move(text_); }

 private:
  void write(const agent::RunStarted& run, const agent::Event& event) {
    if (run.forked_from) {
      heading(2,
              fmt::format("Forked {} from {} after turn {}",
                          agent::format_time(event.time),
                          code(run.forked_from->run_id),
                          run.forked_from->turn));
    } else if (run.resumes) {
      heading(2, fmt::format("Carried on {}", agent::format_time(event.time)));
    } else {
      heading(1, fmt::format("Run {}", code(event.run_id)));
      item("agent", code(run.agent_name));
      item("model", code(run.model));
      item("begun", agent::format_time(event.time));
      item("folder", code(run.cwd));
      if (!run.session.empty()) {
        item("session", code(run.session));
      }
      text_ += '\n';
    }
    for (const agent::OpeningMessage& opening : run.opening) {
      heading(2, opening.role == "user" ? "Said before by the user" : "Said before by the agent");
      fenced(opening.text);
    }
    if (!run.prompt.empty()) {
      heading(2, "Prompt");
      fenced(run.prompt);
    }
  }
  void write(const agent::TurnStarted& turn, const agent::Event&) {
    heading(2, fmt::format("Turn {}", turn.turn));
  }
  void write(const agent::ModelResponded& responded, const agent::Event&) {
    const agent::Reply& reply = *responded.reply;
    if (!reply.reasoning.empty()) {
      heading(3, "Thought");
      fenced(reply.reasoning);
    }
    if (!reply.text.empty()) {
      heading(3, "Said");
      fenced(reply.text);
    }
    for (const agent::ToolCall& call : reply.tool_calls) {
      heading(3, fmt::format("Call {} ({})", code(call.name), code(call.id)));
      fenced(call.arguments, "json");
    }
    line(reply_line(responded));
  }
  void write(const agent::ToolFinished& finished, const agent::Event&) {
    const agent::ToolResult& result = finished.result;
    heading(3,
            fmt::format("Result of {} ({}): {}",
                        code(result.name),
                        code(result.call_id),
                        plain(result_words(result))));
    fenced(result.content);
  }
  void write(const agent::ApprovalRequested& asked, const agent::Event&) {
    line(fmt::format("Approval asked for {} ({}): {}",
                     asked.request.call.name,
                     asked.request.call.id,
                     asked.request.reason));
  }
  void write(const agent::ApprovalAnswered& answered, const agent::Event&) {
    line(fmt::format("Answered: {} by {}{}",
                     agent::to_string(answered.answer),
                     answered.by,
                     answered.reason.empty() ? "" : ": " + answered.reason));
  }
  void write(const agent::RunParked& parked, const agent::Event&) {
    for (const agent::ParkedCall& call : parked.calls) {
      line(waiting_line(call));
    }
  }
  void write(const agent::UserSaid& said, const agent::Event&) {
    heading(3, fmt::format("To the model ({})", plain(said.reason)));
    fenced(said.text);
  }
  void write(const agent::ModelBroken& broken, const agent::Event&) {
    line("An answer broke off, cost " + agent::format_money(broken.cost));
  }
  void write(const agent::ModelRetrying& retry, const agent::Event&) { line(retry_line(retry)); }
  void write(const agent::ModelFallback& fallback, const agent::Event&) {
    line(fallback_line(fallback));
  }
  void write(const agent::HookRan& hook, const agent::Event&) {
    if (!is_quiet(hook)) {
      line(agent::trimmed(hook_line(hook)));
    }
  }
  void write(const agent::GuardrailRan& guardrail, const agent::Event&) {
    if (guardrail.action != "allow") {
      line(agent::trimmed(guardrail_line(guardrail)));
    }
  }
  void write(const agent::CheckRan& check, const agent::Event&) {
    line(agent::trimmed(check_line(check)));
    if (!check.output.empty()) {
      heading(3, fmt::format("Output of {}", code(check.command)));
      fenced(check.output);
    }
  }
  void write(const agent::ToolsAdded& added, const agent::Event&) { line(added_line(added)); }
  void write(const agent::ContextCompacted& compacted, const agent::Event&) {
    if (compacted.action == "asked") {
      return;
    }
    line(compacted_line(compacted));
    if (!compacted.summary.empty()) {
      heading(3, "Summary");
      fenced(compacted.summary);
    }
  }
  void write(const agent::MemberStarted& member, const agent::Event&) { line(member_line(member)); }
  void write(const agent::MemberFinished& member, const agent::Event&) {
    line(fmt::format("{}: {}", name_of(member.member), member_words(member)));
  }
  void write(const agent::LimitWarning& limit, const agent::Event&) {
    line(fmt::format("Warning: {} of {} used of {}", limit.used, limit.max, limit.limit));
  }
  void write(const agent::Warning& warning, const agent::Event&) {
    line("Warning: " + warning.message);
  }
  void write(const agent::RunFinished& end, const agent::Event&) {
    const agent::RunResult& result = end.result;
    heading(
        2,
        fmt::format("Ending: {} ({})", agent::exit_row(result.exit_code).name, result.exit_code));
    if (result.error) {
      line(fmt::format("{}: {}", agent::row(result.error->code).name, result.error->message));
    }
    line(bill(result));
  }
  template <agent::IsOneOf<agent::ModelRequested,
                           agent::ModelDelta,
                           agent::ModelReset,
                           agent::ToolStarted,
                           agent::ToolOutput> Other>
  void write(const Other&, const agent::Event&) {}

  void heading(int level, std::string_view text) {
    text_ += fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), text);
  }
  void item(std::string_view name, std::string_view value) {
    text_ += fmt::format("- {}: {}\n", name, value);
  }
  void line(std::string_view text) { text_ += "> " + plain(text) + "\n\n"; }

  // A fence is longer than any in the text.
  void fenced(std::string_view text, std::string_view language = {}) {
    const std::string safe = agent::printable(redactor_.apply(text));
    const std::string fence(std::max<std::size_t>(3, longest_of('`', safe) + 1), '`');
    text_ += fmt::format(
        "{}{}\n{}{}{}\n\n", fence, language, safe, safe.ends_with('\n') ? "" : "\n", fence);
  }
  // In one line, as code, whatever a stranger has put into it.
  std::string code(std::string_view name) const {
    const std::string safe = agent::one_line(redactor_.apply(name), k_name_bytes);
    const std::string tick(longest_of('`', safe) + 1, '`');
    const std::string_view space = safe.starts_with('`') || safe.ends_with('`') ? " " : "";
    return safe.empty() ? "(none)" : tick + std::string(space) + safe + std::string(space) + tick;
  }
  // In one line, with nothing that Markdown reads.
  std::string plain(std::string_view text) const {
    std::string out;
    for (const char c : agent::one_line(redactor_.apply(text))) {
      if (std::string_view("\\`*_[]<>#|!&").contains(c)) {
        out += '\\';
      }
      out += c;
    }
    return out;
  }
  static std::size_t longest_of(char wanted, std::string_view text) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char c : text) {
      run = c == wanted ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  }

  const agent::Redactor& redactor_;
  std::string text_;
};

}  // namespace

std::string run_document(std::span<const agent::Event> events, const agent::Redactor& redactor) {
  Document document(redactor);
  for (const agent::Event& event : events) {
    document.add(event);
  }
  return document.finish();
}

}  // namespace cli

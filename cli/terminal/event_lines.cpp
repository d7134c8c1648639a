#include "cli/terminal/event_lines.h"

#include "agent/duration.h"
#include "agent/retry.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace cli {
namespace {

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// What is known, and not nothing.
std::string price_tag(std::optional<agent::Money> cost) {
  return cost && *cost != agent::Money{} ? ", " + agent::format_money(cost) : "";
}

}  // namespace

std::string duration_words(std::int64_t ms) {
  return ms < 10'000 ? fmt::format("{:.1f} s", static_cast<double>(ms) / 1000)
                     : agent::format_duration(std::chrono::milliseconds(ms / 1000 * 1000));
}

// One line of a text that may be long and may hold line breaks.
std::string excerpt(std::string_view text, std::size_t limit) {
  std::string one_line(agent::prefix(text, limit));
  for (char& c : one_line) {
    c = c == '\n' || c == '\t' ? ' ' : c;
  }
  return one_line.size() < text.size() ? one_line + "…" : one_line;
}

// Of a tool, a model or a check.
std::string name_of(std::string_view name) {
  return agent::one_line(name, k_excerpt_bytes);
}

std::string start_line(const agent::RunStarted& run, const std::string& run_id) {
  if (run.plan.is_flow) {
    return fmt::format("flow {}, run {}", name_of(run.agent_name), run_id);
  }
  std::string files;
  for (const agent::Attachment& one : run.attachments) {
    files += fmt::format(", {} ({})", one.name, one.media_type);
  }
  return fmt::format("agent {}, model {}, {}{}, run {}",
                     name_of(run.agent_name),
                     name_of(run.model),
                     plural(static_cast<std::int64_t>(run.tools.size()), "tool"),
                     files,
                     run_id);
}

std::string server_line(const agent::McpConnection& server) {
  return fmt::format("MCP server {}: {}, {}, {}{}",
                     name_of(server.name),
                     server.server.empty() ? "nameless" : name_of(server.server),
                     name_of(server.revision),
                     plural(static_cast<std::int64_t>(server.tools.size()), "tool"),
                     server.is_searched ? ", to be found" : "");
}

// The layers, which differ from machine to machine, for those who ask twice.
std::string sandbox_line(const agent::RunStarted& run, bool has_layers) {
  const agent::SandboxInForce& sandbox = run.sandbox;
  if (sandbox.mode != "read_only" && sandbox.mode != "workspace_write") {
    return "sandbox: off";
  }
  std::string line =
      fmt::format("sandbox: {} in {}, network: {}", sandbox.mode, run.cwd, sandbox.network);
  if (!sandbox.hosts.empty()) {
    line += fmt::format(" but {}", fmt::join(sandbox.hosts, ", "));
  }
  if (has_layers && !sandbox.layers.empty()) {
    line += fmt::format(", layers: {}", fmt::join(sandbox.layers, ", "));
  }
  if (has_layers && !sandbox.missing.empty()) {
    line += fmt::format(", missing: {}", fmt::join(sandbox.missing, ", "));
  }
  return line;
}

std::string reply_line(const agent::ModelResponded& reply) {
  return fmt::format("turn {}: {} in, {} out{}, {}, {}",
                     reply.turn,
                     reply.reply->counted().input,
                     reply.reply->counted().output,
                     price_tag(reply.reply->cost),
                     agent::to_string(reply.reply->stop_reason),
                     duration_words(reply.duration_ms));
}

std::string retry_line(const agent::ModelRetrying& retry) {
  if (retry.max_attempts == 0) {
    return fmt::format("it waits {}: {}",
                       duration_words(retry.delay.count()),
                       excerpt(retry.error.message, 4 * k_excerpt_bytes));
  }
  return fmt::format("retry {} of {} in {}: {}",
                     retry.attempt,
                     agent::attempts_at_most(retry.max_attempts, retry.error) - 1,
                     duration_words(retry.delay.count()),
                     excerpt(retry.error.message, 4 * k_excerpt_bytes));
}

std::string fallback_line(const agent::ModelFallback& event) {
  const auto cooldown = event.cooldown.count();
  if (event.skipped) {
    return fmt::format("{} failed before and is skipped for {}: {} is asked",
                       name_of(event.from),
                       duration_words(cooldown),
                       name_of(event.to));
  }
  return fmt::format("{} failed: {}; {} is asked{}",
                     name_of(event.from),
                     excerpt(event.error.message, 4 * k_excerpt_bytes),
                     name_of(event.to),
                     cooldown > 0 ? fmt::format(" instead, for {}", duration_words(cooldown)) : "");
}

std::string waiting_line(const agent::ParkedCall& call) {
  return fmt::format("{} waits for approval as `{}`: {}",
                     name_of(call.request.call.name),
                     name_of(call.request.call.id),
                     excerpt(call.request.reason, 2 * k_excerpt_bytes));
}

std::string said_line(const agent::UserSaid& said) {
  if (said.reason == "hook") {
    return "a hook tells the model: " + excerpt(said.text, k_excerpt_bytes);
  }
  if (said.reason == "sent_on") {
    return "a hook sends the model on: " + excerpt(said.text, k_excerpt_bytes);
  }
  if (said.reason == "output_invalid") {
    return "the answer does not fit `output.schema`: the model is asked to correct it";
  }
  if (said.reason == "checks_failed") {
    return "the model is told which checks failed";
  }
  if (said.reason == "wrap_up") {
    return "a limit is nearly used up: the model is asked for its last answer";
  }
  if (said.reason == "carried_on") {
    return "the model is told that it can go on";
  }
  return fmt::format("the reply was {}: the model is asked again", said.reason);
}

std::string added_line(const agent::ToolsAdded& added) {
  std::string names;
  for (const agent::AddedTool& tool : added.tools) {
    names += (names.empty() ? "" : ", ") + name_of(tool.name);
  }
  return fmt::format("tools added ({}): {}", added.reason, excerpt(names, 2 * k_excerpt_bytes));
}

std::string member_line(const agent::MemberStarted& member) {
  const std::string again = member.round > 1 ? fmt::format(" (round {})", member.round) : "";
  return fmt::format(
      "{}{}: {}", name_of(member.member), again, excerpt(member.runs, k_excerpt_bytes));
}

std::string member_words(const agent::MemberFinished& member) {
  const agent::RunResult& result = member.result;
  const bool was_cut_off = result.error && result.error->code == agent::Code::tool_interrupted;
  std::string how =
      result.exit_code == 0 ? "ok"
      : was_cut_off         ? "interrupted"
      : member.exit_status
          ? fmt::format("exit {}", *member.exit_status)
          : fmt::format("{} ({})", agent::exit_row(result.exit_code).name, result.exit_code);
  if (member.taken_from) {
    return fmt::format("{}, from the run {}", how, name_of(*member.taken_from));
  }
  if (result.turns > 0) {
    how += ", " + plural(result.turns, "turn") + price_tag(result.cost);
  }
  how += ", " + duration_words(result.duration_ms);
  const bool is_told_below = member.exit_status.has_value();  // by last_words()
  return result.error && !is_told_below
             ? fmt::format("{}: {}", how, excerpt(result.error->message, 2 * k_excerpt_bytes))
             : how;
}

std::vector<std::string> last_words(const agent::MemberFinished& member) {
  constexpr std::size_t k_most = 8;  // of each stream
  std::vector<std::string> lines;
  const bool is_of_a_call = !member.call_id.empty();  // else the flow's ending may say it
  if (is_of_a_call && member.result.error && !member.result.error->help.empty()) {
    lines.push_back("    help: " + excerpt(member.result.error->help, 2 * k_excerpt_bytes));
  }
  if (!member.exit_status || member.result.exit_code == 0 || member.taken_from) {
    return lines;
  }
  for (const std::string* text : {&member.result.text, member.errors ? &*member.errors : nullptr}) {
    auto said = text == nullptr ? std::vector<std::string_view>() : agent::split_lines(*text);
    std::erase_if(said, [](std::string_view line) { return agent::trimmed(line).empty(); });
    const std::size_t begin = said.size() - std::min(said.size(), k_most);
    for (const std::string_view line : std::span(said).subspan(begin)) {
      lines.push_back("    " + excerpt(line, 2 * k_excerpt_bytes));
    }
  }
  return lines;
}

std::string compacted_line(const agent::ContextCompacted& compacted) {
  std::string did;
  if (compacted.action == "cleared") {
    did = plural(static_cast<std::int64_t>(compacted.results.size()), "old result") + " cleared";
  } else if (compacted.action == "summarized") {
    did = "older turns summarized";
  } else if (compacted.action == "left_out") {
    did = "older turns left out without a summary";
  } else {
    did = "no summary";
  }
  if (compacted.summarizer) {
    did += price_tag(compacted.summarizer->cost);
  }
  if (compacted.error) {
    return fmt::format(
        "context: {}: {}", did, excerpt(compacted.error->message, 2 * k_excerpt_bytes));
  }
  return fmt::format("context: {}: about {} tokens of {}, before {}",
                     did,
                     compacted.after,
                     compacted.window,
                     compacted.before);
}

// Whether it went as it mostly goes.
bool is_quiet(const agent::HookRan& hook) {
  return hook.message.empty() && (hook.outcome == "ok" || hook.outcome == "allowed");
}

std::string hook_line(const agent::HookRan& hook) {
  std::string text = fmt::format("  hook {} {}: {}",
                                 agent::to_string(hook.point),
                                 excerpt(hook.hook, k_excerpt_bytes),
                                 hook.outcome);
  for (const std::string& part : {hook.reason, hook.message}) {
    text += part.empty() ? "" : ": " + excerpt(part, 2 * k_excerpt_bytes);
  }
  return text;
}

std::string check_line(const agent::CheckRan& check) {
  std::string how = check.passed ? "passed" : "failed";
  if (!check.reason.empty()) {
    how += ": " + excerpt(check.reason, 2 * k_excerpt_bytes);
  } else if (!check.passed) {
    how += fmt::format(": exit status {}", check.exit_status.value_or(0));
  }
  return fmt::format("  check {}: {} ({})",
                     excerpt(check.check, k_excerpt_bytes),
                     how,
                     duration_words(check.duration_ms));
}

std::string guardrail_line(const agent::GuardrailRan& guardrail) {
  return fmt::format(
      "  guardrail {} ({}): {}{}",
      name_of(guardrail.guardrail),
      agent::to_string(guardrail.point),
      guardrail.action,
      guardrail.reason.empty() ? "" : ": " + excerpt(guardrail.reason, 2 * k_excerpt_bytes));
}

// Where it ends the run, its message is said there.
std::string result_words(const agent::ToolResult& result) {
  if (result.status == agent::ToolStatus::ok) {
    return result.is_well() ? "ok" : fmt::format("exit {}", *result.exit_status);
  }
  return fmt::format("{}{}",
                     agent::to_string(result.status),
                     result.fatal || result.message.empty()
                         ? ""
                         : ": " + excerpt(result.message, 2 * k_excerpt_bytes));
}

std::string bill(const agent::RunResult& result) {
  std::string tokens = fmt::format("{} tokens in", result.usage.input);
  if (result.usage.cache_read > 0) {
    tokens += fmt::format(" ({} cached)", result.usage.cache_read);
  }
  return fmt::format("{}, {}, {}, {} out{}, {}",
                     plural(result.turns, "turn"),
                     plural(result.tool_calls, "tool call"),
                     tokens,
                     result.usage.output,
                     price_tag(result.cost),
                     duration_words(result.duration_ms));
}

std::string bill_of(const agent::ModelUse& use) {
  const agent::Usage& usage = use.usage;
  std::string line =
      fmt::format("{}: {}, {} in", name_of(use.model), plural(use.turns, "turn"), usage.input);
  if (usage.cache_read > 0 || usage.cache_write > 0) {
    line +=
        fmt::format(" ({} cached, {} written to the cache)", usage.cache_read, usage.cache_write);
  }
  line += fmt::format(", {} out", usage.output);
  if (usage.reasoning > 0) {
    line += fmt::format(" ({} reasoning)", usage.reasoning);
  }
  return line + ", cost " + agent::format_money(use.cost);
}

}  // namespace cli

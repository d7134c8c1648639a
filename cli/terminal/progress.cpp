#include "cli/terminal/progress.h"

#include "agent/duration.h"
#include "agent/text.h"
#include "cli/terminal/render_error.h"

#include <fmt/format.h>

#include <system_error>
#include <variant>

namespace cli {
namespace {

constexpr auto k_live_interval = std::chrono::seconds(1);
constexpr auto k_heartbeat = std::chrono::seconds(30);
constexpr std::size_t k_argument_bytes = 120;
constexpr std::size_t k_output_bytes = 2'000;
constexpr std::size_t k_line_bytes = 4'000;

constexpr std::string_view k_dim = "2";
constexpr std::string_view k_red = "31";
constexpr std::string_view k_yellow = "33";
constexpr std::string_view k_green = "32";

std::string seconds(std::int64_t ms) {
  return ms < 10'000 ? fmt::format("{:.1f} s", static_cast<double>(ms) / 1000)
                     : agent::format_duration(std::chrono::milliseconds(ms / 1000 * 1000));
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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
  return agent::one_line(name, k_argument_bytes);
}

// What is known, and not nothing.
std::string price_tag(std::optional<agent::Money> cost) {
  return cost && *cost != agent::Money{} ? ", " + agent::format_money(cost) : "";
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
                     seconds(result.duration_ms));
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

std::string said_line(const agent::UserSaid& said) {
  if (said.reason == "hook") {
    return "a hook tells the model: " + excerpt(said.text, k_argument_bytes);
  }
  if (said.reason == "sent_on") {
    return "a hook sends the model on: " + excerpt(said.text, k_argument_bytes);
  }
  return fmt::format("the reply was {}: the model is asked again", said.reason);
}

// Whether it went as it mostly goes.
bool is_quiet(const agent::HookRan& hook) {
  return hook.message.empty() && (hook.outcome == "ok" || hook.outcome == "allowed");
}

std::string hook_line(const agent::HookRan& hook) {
  std::string text = fmt::format("  hook {} {}: {}",
                                 agent::to_string(hook.point),
                                 excerpt(hook.hook, k_argument_bytes),
                                 hook.outcome);
  for (const std::string& part : {hook.reason, hook.message}) {
    text += part.empty() ? "" : ": " + excerpt(part, 2 * k_argument_bytes);
  }
  return text;
}

std::string guardrail_line(const agent::GuardrailRan& guardrail) {
  return fmt::format(
      "  guardrail {} ({}): {}{}",
      name_of(guardrail.guardrail),
      agent::to_string(guardrail.point),
      guardrail.action,
      guardrail.reason.empty() ? "" : ": " + excerpt(guardrail.reason, 2 * k_argument_bytes));
}

std::string fallback_line(const agent::ModelFallback& event) {
  const auto cooldown = event.cooldown.count();
  if (event.skipped) {
    return fmt::format("{} failed before and is left alone for {}: {} is asked",
                       name_of(event.from),
                       seconds(cooldown),
                       name_of(event.to));
  }
  return fmt::format("{} failed: {}; {} is asked{}",
                     name_of(event.from),
                     excerpt(event.error.message, 4 * k_argument_bytes),
                     name_of(event.to),
                     cooldown > 0 ? fmt::format(" instead, for {}", seconds(cooldown)) : "");
}

}  // namespace

// What each event puts on the screen.
class Progress::EventView {
 public:
  EventView(Progress& progress, const agent::Event& event)
      : to_(progress), verbosity_(progress.options_.verbosity), event_(event) {}

  void operator()(const agent::RunStarted& run) const {
    if (verbosity_ < 1 || run.agent_name.empty()) {
      return;
    }
    std::string files;
    for (const agent::Attachment& one : run.attachments) {
      files += fmt::format(", {} ({})", one.name, one.media_type);
    }
    line(k_dim,
         fmt::format("agent {}, model {}, {}{}, run {}",
                     name_of(run.agent_name),
                     name_of(run.model),
                     plural(static_cast<std::int64_t>(run.tools.size()), "tool"),
                     files,
                     event_.run_id));
    line(k_dim, sandbox_line(run, verbosity_ >= 2));
  }

  void operator()(const agent::TurnStarted& event) const {
    to_.wait_for(fmt::format("the model, turn {}", event.turn));
  }

  void operator()(const agent::ModelRetrying& retry) const {
    if (verbosity_ >= 0) {
      line(k_yellow,
           fmt::format("attempt {}/{} failed: {}; again in {}",
                       retry.attempt,
                       retry.max_attempts,
                       excerpt(retry.error.message, 4 * k_argument_bytes),
                       seconds(retry.delay.count())));
    }
  }

  void operator()(const agent::ModelFallback& fallback) const {
    to_.wait_for(name_of(fallback.to));
    if (verbosity_ >= (fallback.skipped ? 1 : 0)) {
      line(k_yellow, fallback_line(fallback));
    }
  }

  void operator()(const agent::ModelReset&) const {
    if (verbosity_ >= 0) {
      line(k_yellow, "the answer so far is void: it is asked for again");
    }
  }

  void operator()(const agent::ModelResponded& event) const {
    const agent::Reply& reply = *event.reply;
    to_.wait_for({});
    if (verbosity_ >= 1) {
      line(k_dim,
           fmt::format("turn {}: {} in, {} out{}, {}, {}",
                       event.turn,
                       reply.counted().input,
                       reply.counted().output,
                       price_tag(reply.cost),
                       agent::to_string(reply.stop_reason),
                       seconds(event.duration_ms)));
    }
    if (verbosity_ >= 0 && to_.options_.beside == nullptr && !reply.tool_calls.empty() &&
        !reply.text.empty()) {
      to_.line(to_.clean(excerpt(reply.text, 4 * k_argument_bytes)));
    }
    if (verbosity_ >= 2 && !reply.reasoning.empty()) {
      to_.paragraph("reasoning", reply.reasoning);
    }
  }

  void operator()(const agent::UserSaid& said) const {
    if (verbosity_ >= (said.reason == "hook" ? 1 : 0)) {
      line(k_yellow, said_line(said));
    }
  }

  void operator()(const agent::ToolStarted& call) const {
    to_.wait_for(name_of(call.name));
    if (verbosity_ >= 0) {
      to_.line(fmt::format(
          "{} {}",
          to_.paint(k_green, "▸ " + to_.clean(name_of(call.name))),
          to_.clean(excerpt(call.arguments, verbosity_ >= 2 ? k_output_bytes : k_argument_bytes))));
    }
  }

  void operator()(const agent::ToolFinished& event) const {
    const agent::ToolResult& result = event.result;
    to_.wait_for({});
    if (verbosity_ >= 0 && result.status != agent::ToolStatus::ok) {
      line(k_yellow,
           fmt::format("  {}: {}: {}",
                       name_of(result.name),
                       agent::to_string(result.status),
                       excerpt(result.message, 2 * k_argument_bytes)));
    } else if (verbosity_ >= 1) {
      line(k_dim,
           fmt::format("  {}: ok, {} bytes, {}",
                       name_of(result.name),
                       result.content.size(),
                       seconds(result.duration_ms)));
    }
    if (verbosity_ >= 2) {
      to_.paragraph("output", agent::head_and_tail(result.content, k_output_bytes));
    }
  }

  void operator()(const agent::HookRan& hook) const {
    to_.wait_for({});
    if (verbosity_ >= (is_quiet(hook) ? 1 : 0)) {
      line(is_quiet(hook) ? k_dim : k_yellow, hook_line(hook));
    }
  }

  void operator()(const agent::GuardrailRan& guardrail) const {
    const bool is_news = guardrail.action != "allow";
    if (verbosity_ >= (is_news ? 0 : 1)) {
      line(is_news ? k_yellow : k_dim, guardrail_line(guardrail));
    }
  }

  void operator()(const agent::ApprovalRequested&) const {
    to_.wait_for({});  // the line is the prompt's
  }

  void operator()(const agent::LimitWarning& limit) const {
    if (verbosity_ >= 0) {
      line(k_yellow,
           fmt::format("warning: {} of {} used of {}", limit.used, limit.max, limit.limit));
    }
  }

  void operator()(const agent::Warning& warning) const {
    if (verbosity_ >= 0) {
      to_.line(to_.paint(k_yellow, to_.clean("warning: " + warning.message)) +
               (warning.help.empty() ? "" : "\n  help: " + to_.clean(warning.help)));
    }
  }

  void operator()(const agent::RunFinished& end) const { to_.finish(end.result); }

  // What others show (the answer, the prompt), or the event before or behind it.
  template <typename Body>
    requires agent::IsOneOf<Body,
                            agent::ModelRequested,
                            agent::ModelDelta,
                            agent::ModelBroken,
                            agent::ToolOutput,
                            agent::ApprovalAnswered>
  void operator()(const Body&) const {}

 private:
  void line(std::string_view style, std::string_view text) const {
    to_.line(to_.paint(style, to_.clean(text)));
  }

  Progress& to_;
  int verbosity_;
  const agent::Event& event_;
};

Progress::Progress(Options options, const agent::Redactor& redactor)
    : options_(options), redactor_(redactor), last_line_(Steady::now()) {
  if (options_.verbosity >= 0) {
    try {
      ticker_ = std::jthread([this](std::stop_token stop) { tick(stop); });
    } catch (const std::system_error&) {  // no thread is left: nothing ticks
    }
  }
}

Progress::~Progress() {
  ticker_ = {};
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::on(const agent::Event& event) {
  const std::lock_guard lock(mutex_);
  erase();
  std::visit(EventView(*this, event), event.body);
  draw();
}

void Progress::make_room() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::fall_silent() {
  const std::lock_guard lock(mutex_);
  wait_for({});
  erase();
}

// The error block, the partial answer, and the bill: always the last things said.
void Progress::finish(const agent::RunResult& result) {
  wait_for({});
  if (result.error) {
    line(render(*result.error, options_.color, redactor_));
  }
  if (options_.verbosity < 0) {
    return;
  }
  if (result.partial && options_.shows_partial) {
    paragraph("partial answer", result.text);
  }
  if (options_.verbosity >= 1) {
    for (const agent::ModelUse& use : result.models) {
      line(paint(k_dim, clean(bill_of(use))));
    }
  }
  const agent::ExitRow& row = agent::exit_row(result.exit_code);
  std::string verdict = fmt::format("{} ({})", row.name, result.exit_code);
  if (result.exit_code != 0) {
    verdict += fmt::format(", retry: {}", row.retry);
  }
  if (result.turns > 0 || result.exit_code == 0) {
    verdict += ": " + bill(result);
  }
  if (result.over_budget) {
    verdict += ", over budget";
  }
  line(paint(result.exit_code == 0 ? k_green : k_red, "errand: " + verdict));
}

void Progress::line(std::string_view text) {
  const bool after_text = options_.beside != nullptr && options_.beside->is_mid_line();
  write(fmt::format("{}{}\n", after_text ? "\n" : "", text));
  last_line_ = Steady::now();
}

void Progress::write(std::string_view text) {
  agent::write_all(options_.descriptor, text, options_.patience);  // an observer never fails a run
}

void Progress::paragraph(std::string_view title, std::string_view text) {
  std::string block = fmt::format("--- {} ---\n{}", title, agent::printable(redactor_.apply(text)));
  if (block.back() != '\n') {
    block += '\n';
  }
  line(block + "---");
}

std::string Progress::paint(std::string_view style, std::string_view text) const {
  return cli::paint(style, text, options_.color);
}

std::string Progress::clean(std::string_view text) const {
  return agent::one_line(redactor_.apply(text), k_line_bytes);
}

void Progress::wait_for(std::string what) {
  waiting_for_ = std::move(what);
  waiting_since_ = Steady::now();
}

void Progress::draw() {
  if (!options_.live || waiting_for_.empty() || options_.verbosity < 0 ||
      (options_.beside != nullptr && options_.beside->is_mid_line())) {
    return;
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::seconds>(Steady::now() - waiting_since_);
  write(fmt::format("\r\x1b[K{}",
                    paint(k_dim, fmt::format("… {}, {} s", clean(waiting_for_), waited.count()))));
  is_drawn_ = true;
}

void Progress::erase() {
  if (is_drawn_) {
    write("\r\x1b[K");
    is_drawn_ = false;
  }
}

// Keeps the live line's clock going; elsewhere says every 30 s that the run is alive.
void Progress::tick(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wakeup_.wait_for(lock, stop, k_live_interval, [] { return false; });
    if (stop.stop_requested() || waiting_for_.empty()) {
      continue;
    }
    if (options_.live) {
      draw();
    } else if (Steady::now() - last_line_ >= k_heartbeat) {
      const auto waited =
          std::chrono::duration_cast<std::chrono::seconds>(Steady::now() - waiting_since_);
      line(fmt::format("waiting for {}, {} s so far", clean(waiting_for_), waited.count()));
    }
  }
}

}  // namespace cli

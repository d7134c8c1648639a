#include "cli/terminal/progress.h"

#include "agent/descriptor.h"
#include "agent/text.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/word_wrap.h"
#include "tools/builtin/shown_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

constexpr auto k_live_interval = std::chrono::seconds(1);
constexpr auto k_draw_interval = std::chrono::milliseconds(100);
constexpr auto k_heartbeat = std::chrono::seconds(30);
constexpr std::size_t k_output_bytes = 2'000;
constexpr std::size_t k_line_bytes = 4'000;
constexpr std::size_t k_longest_read = 1u << 20;  // of arguments
constexpr std::size_t k_tail_lines = 5;           // of a call's output
constexpr std::size_t k_live_tail = 3;            // while it runs
constexpr std::size_t k_diff_lines = 24;
constexpr std::string_view k_answering_tool = "task_failed";  // its reason is an answer
constexpr std::size_t k_live_members = 8;
constexpr std::size_t k_most_held_back = 1u << 20;  // bytes, while a person thinks
constexpr std::size_t k_unknown_width = 80;
constexpr std::size_t k_hanging = 4;

constexpr std::string_view k_dim = "2";
constexpr std::string_view k_red = "31";
constexpr std::string_view k_yellow = "33";
constexpr std::string_view k_green = "32";
constexpr std::string_view k_cyan = "36";

std::string_view style_of_diff(std::string_view line) {
  return line.starts_with("+++") || line.starts_with("---") ? k_dim
         : line.starts_with('+')                            ? k_green
         : line.starts_with('-')                            ? k_red
         : line.starts_with("@@")                           ? k_cyan
                                                            : std::string_view();
}

std::string without_tabs(std::string_view line) {
  std::string text;
  for (const char c : line) {
    text += c == '\t' ? "    " : std::string_view(&c, 1);
  }
  return text;
}

std::string more_lines(std::size_t count) {
  return fmt::format("  … {} more line{}", count, count == 1 ? "" : "s");
}

// Of a flow, also of one that is a member itself.
bool is_about_step(const agent::Event& event) {
  const auto* begun = std::get_if<agent::MemberStarted>(&event.body);
  const auto* ended = std::get_if<agent::MemberFinished>(&event.body);
  return (begun != nullptr && begun->call_id.empty()) ||
         (ended != nullptr && ended->call_id.empty());
}

}  // namespace

Progress::Progress(Options options, const agent::Redactor& redactor)
    : options_(options),
      redactor_(redactor),
      last_line_(Steady::now()),
      members_([this](std::string_view tool, std::string_view arguments) {
        return shown(tool, arguments);
      }) {
  if (is_loud(0)) {
    try {
      ticker_ = std::jthread([this](std::stop_token stop) { tick(stop); });
    } catch (const std::system_error&) {  // no thread is left: nothing ticks
    }
  }
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    ticker_.request_stop();
    wakeup_.notify_all();
  }
  ticker_ = {};
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::on(const agent::Event& event) {
  const std::lock_guard lock(mutex_);
  if (std::holds_alternative<agent::ModelDelta>(event.body)) {
    return;  // there are many
  }
  if (members_.is_member(event.run_id) && !is_about_step(event)) {
    show_of_member(event);
    return;
  }
  if (const auto* output = std::get_if<agent::ToolOutput>(&event.body)) {
    show(*output, event);
    return;
  }
  erase();
  if (!std::holds_alternative<agent::RunStarted>(event.body)) {
    say_that_it_stops();
  }
  std::visit([&](const auto& body) { show(body, event); }, event.body);
  draw();
}

void Progress::make_room() {
  const std::lock_guard lock(mutex_);
  erase();
}

bool TurnLock::lock_until(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return !is_held_; })) {
    return false;
  }
  is_held_ = true;
  return true;
}

void TurnLock::unlock() {
  const std::lock_guard lock(mutex_);
  is_held_ = false;
  changed_.notify_all();
}

std::unique_lock<TurnLock> take_turn(TurnLock& lock, const std::stop_token& stop) {
  return lock.lock_until(stop) ? std::unique_lock(lock, std::adopt_lock)
                               : std::unique_lock(lock, std::defer_lock);
}

Progress::Question::Question(Progress* progress, const std::stop_token& stop)
    : progress_(progress) {
  if (progress_ == nullptr) {
    return;
  }
  turn_ = take_turn(progress_->question_, stop);
  if (turn_.owns_lock()) {
    progress_->begin_question();
  }
}

Progress::Question::~Question() {
  if (turn_.owns_lock()) {
    progress_->end_question();
  }
}

void Progress::begin_question() {
  const std::lock_guard lock(mutex_);
  wait_for({});
  erase();
  is_asking_ = true;
}

void Progress::end_question() {
  const std::lock_guard lock(mutex_);
  is_asking_ = false;
  write(std::exchange(held_back_, {}));
  draw();
}

// All start at once: the time is that of the first.
void Progress::start(std::string what) {
  const std::lock_guard lock(mutex_);
  const auto since = is_starting_ ? waiting_since_ : Steady::now();
  erase();
  is_starting_ = !what.empty();
  waiting_for_ = std::move(what);
  waiting_since_ = since;
  draw();
}

void Progress::tell_of_start(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (is_loud(1)) {
    erase();
    note(k_dim, text);
    draw();
  }
}

void Progress::show(const agent::RunStarted& run, const agent::Event& event) {
  if (is_loud(1) && !run.agent_name.empty()) {
    note(k_dim, start_line(run, event.run_id));
    note(k_dim, sandbox_line(run, is_loud(2)));
  }
}

void Progress::show(const agent::TurnStarted& turn, const agent::Event&) {
  wait_for(fmt::format("the model, turn {}", turn.turn));
}

void Progress::show(const agent::ModelReset&, const agent::Event&) {
  if (is_loud(0)) {
    note(k_yellow, "the answer so far is void: it is asked for again");
  }
}

void Progress::show(const agent::ModelRetrying& retry, const agent::Event&) {
  if (is_loud(0)) {
    note(k_yellow, retry_line(retry));
  }
}

void Progress::show(const agent::ModelFallback& fallback, const agent::Event&) {
  wait_for(name_of(fallback.to));
  if (is_loud(fallback.skipped ? 1 : 0)) {
    note(k_yellow, fallback_line(fallback));
  }
}

void Progress::show(const agent::ModelResponded& reply, const agent::Event&) {
  wait_for({});
  waited_for_.clear();
  const agent::Reply& said = *reply.reply;
  if (is_loud(1)) {
    note(k_dim, reply_line(reply));
  }
  calls_.clear();
  running_.clear();
  last_reply_ = reply.reply;
  for (const agent::ToolCall& call : said.tool_calls) {
    calls_[call.id].asked = &call;
  }
  last_said_.clear();
  if (is_loud(0) && options_.beside == nullptr && !options_.is_guarded &&
      !said.tool_calls.empty() && !said.text.empty()) {
    last_said_ = excerpt(said.text, 4 * k_excerpt_bytes);
    line(clean(last_said_));
  }
  if (is_loud(2) && !options_.is_guarded && !said.reasoning.empty()) {
    paragraph("reasoning", said.reasoning);
  }
}

void Progress::show(const agent::UserSaid& said, const agent::Event&) {
  if (is_loud(said.reason == "hook" ? 1 : 0)) {
    note(k_yellow, said_line(said));
  }
}

Progress::Call& Progress::call_of(const std::string& id,
                                  std::string_view name,
                                  std::string_view arguments) {
  Call& call = calls_[id];
  if (!arguments.empty()) {
    call.shown = shown(name, arguments);
  } else if (call.shown.empty()) {
    call.shown = shown(name, call.asked != nullptr ? call.asked->arguments : std::string_view());
  }
  return call;
}

void Progress::recall(std::span<const agent::ToolCall> calls) {
  const std::lock_guard lock(mutex_);
  for (const agent::ToolCall& call : calls) {
    call_of(call.id, call.name, call.arguments);
  }
}

// Redacted before it is cut: then a secret is still known. What is very long is not read for it.
std::string Progress::shown(std::string_view name, std::string_view arguments) const {
  if (options_.is_guarded && name == k_answering_tool) {
    return name_of(name);
  }
  const bool is_long = arguments.size() > k_longest_read;
  const std::string text =
      redactor_.apply(is_long ? agent::prefix(arguments, k_longest_read / 16) : arguments);
  return excerpt(
      is_long ? fmt::format("{}  {}", name_of(name), text) : tools::shown_call(name_of(name), text),
      is_loud(2) ? k_output_bytes : k_excerpt_bytes);
}

void Progress::announce(const std::string& id, Call& call, std::string_view style) {
  call.is_announced = true;
  last_announced_ = id;
  const std::string shown = clean(call.shown);
  const std::size_t name = std::min(shown.find(' '), shown.size());
  line(paint(style, "▸ " + shown.substr(0, name)) + shown.substr(name));
}

void Progress::show(const agent::ToolStarted& started, const agent::Event&) {
  Call& call = call_of(started.call_id, started.name, started.arguments);
  running_.insert(started.call_id);
  at_work_ = started.call_id;
  wait_for(call.shown);
  if (is_loud(0)) {
    announce(started.call_id, call, k_green);
  }
}

// The last lines are kept: a call may say more than anybody reads.
void Progress::show(const agent::ToolOutput& output, const agent::Event&) {
  if (!options_.live || !is_loud(0)) {
    return;
  }
  at_work_ = output.call_id;
  Call& call = calls_[output.call_id];
  std::string_view rest = output.text;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    call.line += rest.substr(0, std::min(end, k_line_bytes));
    call.tail.push_back(std::exchange(call.line, {}));
    ++call.lines;
    if (call.tail.size() > k_tail_lines) {
      call.tail.pop_front();
    }
    rest.remove_prefix(end + 1);
  }
  if (call.line.size() < k_line_bytes) {
    call.line += agent::prefix(rest, k_line_bytes);
  }
  if (Steady::now() - last_draw_ >= k_draw_interval) {
    erase();
    draw();
  }
}

void Progress::show(const agent::ToolFinished& finished, const agent::Event&) {
  const agent::ToolResult& result = finished.result;
  wait_for({});
  if (result.status != agent::ToolStatus::cancelled) {
    waited_for_.clear();
  }
  Call call = std::move(call_of(result.call_id, result.name, {}));
  calls_.erase(result.call_id);
  running_.erase(result.call_id);
  if (is_loud(0)) {
    show_result(result, call);
  }
  if (is_loud(2)) {
    paragraph("output", agent::head_and_tail(result.content, k_output_bytes));
  }
  if (!running_.empty()) {
    at_work_ = *running_.begin();
    wait_for(calls_[at_work_].shown);
  }
}

void Progress::show_result(const agent::ToolResult& result, const Call& call) {
  const bool is_ok = result.is_well();
  if (!call.is_announced) {  // it has not run
    Call unannounced = call;
    announce(result.call_id, unannounced, k_yellow);
  }
  const std::string who =
      last_announced_ == result.call_id ? name_of(result.name) : std::string(call.shown);
  if (!is_loud(2)) {
    show_tail(call);
  }
  if (!is_ok) {
    note(k_yellow, fmt::format("  {}: {}", who, result_words(result)));
  } else if (is_loud(1)) {
    note(k_dim,
         fmt::format("  {}: ok, {} bytes, {}",
                     who,
                     result.content.size(),
                     duration_words(result.duration_ms)));
  }
  if (!call.has_changes_shown && shows_changes()) {
    show_changes(result.changes);
  }
}

void Progress::show_tail(const Call& call) {
  if (!options_.live) {
    return;
  }
  const std::size_t width = columns();
  std::vector<std::string> last(call.tail.begin(), call.tail.end());
  std::size_t lines = call.lines;
  if (!call.line.empty()) {
    last.push_back(call.line);
    ++lines;
  }
  const std::size_t shown = std::min(last.size(), k_tail_lines);
  if (lines > shown) {
    line(paint(k_dim, more_lines(lines - shown)));
  }
  for (const std::string& one : std::span(last).last(shown)) {
    const std::string text = "  " + clean(without_tabs(one));
    line(paint(k_dim, width == 0 ? text : cut_to_columns(text, width)));
  }
}

void Progress::show_changes(std::string_view diff) {
  const std::string cleaned = redactor_.apply(diff);
  const auto lines = agent::split_lines(cleaned);
  const std::size_t width = columns();
  const std::size_t count = lines.size() > k_diff_lines + 1 ? k_diff_lines : lines.size();
  for (const std::string_view one : std::span(lines).first(count)) {
    const std::string text = "  " + agent::one_line(without_tabs(one), k_line_bytes);
    line(paint(style_of_diff(one), width == 0 ? text : cut_to_columns(text, width)));
  }
  if (count < lines.size()) {
    line(paint(k_dim, more_lines(lines.size() - count)));
  }
}

// The prompt shows the call as a whole, and what it would change.
void Progress::show(const agent::ApprovalRequested& asked, const agent::Event&) {
  wait_for({});
  Call& call =
      call_of(asked.request.call.id, asked.request.call.name, asked.request.call.arguments);
  call.has_changes_shown = !asked.request.changes.empty();
  call.is_announced = true;
  last_announced_ = asked.request.call.id;
}

void Progress::show(const agent::RunParked& parked, const agent::Event& event) {
  constexpr std::size_t k_most = 20;
  if (!is_loud(0)) {
    return;
  }
  const std::size_t shown = std::min(parked.calls.size(), k_most);
  for (const agent::ParkedCall& waiting : std::span(parked.calls).first(shown)) {
    const agent::ToolCall& asked = waiting.request.call;
    announce(asked.id, call_of(asked.id, asked.name, asked.arguments), k_yellow);
    note(k_yellow, "  " + waiting_line(waiting));
  }
  if (shown < parked.calls.size()) {
    note(k_yellow,
         fmt::format("  {} more calls wait for approval: `errand runs pending {}` shows them",
                     parked.calls.size() - shown,
                     event.run_id));
  }
}

void Progress::show(const agent::HookRan& hook, const agent::Event&) {
  wait_for({});
  if (is_loud(is_quiet(hook) ? 1 : 0)) {
    note(is_quiet(hook) ? k_dim : k_yellow, hook_line(hook));
  }
}

void Progress::show(const agent::GuardrailRan& guardrail, const agent::Event&) {
  const bool is_news = guardrail.action != "allow";
  if (is_loud(is_news ? 0 : 1)) {
    note(is_news ? k_yellow : k_dim, guardrail_line(guardrail));
  }
}

void Progress::show(const agent::CheckRan& check, const agent::Event&) {
  wait_for({});
  if (is_loud(0)) {
    note(check.passed ? k_dim : k_yellow, check_line(check));
  }
}

void Progress::show(const agent::ToolsAdded& added, const agent::Event&) {
  if (is_loud(1)) {
    note(k_dim, added_line(added));
  }
}

void Progress::show(const agent::ContextCompacted& compacted, const agent::Event&) {
  if (compacted.action == "asked") {
    wait_for("a summary of the older turns");
    return;
  }
  wait_for({});
  const bool is_loss = compacted.action == "left_out" || compacted.error;
  if (is_loud(0)) {
    note(is_loss ? k_yellow : k_dim, compacted_line(compacted));
  }
}

void Progress::show(const agent::MemberStarted& started, const agent::Event& event) {
  if (members_.is_empty() && waiting_for_.empty()) {
    waiting_since_ = Steady::now();
  }
  agent::MemberStarted member = started;
  member.member = members_.begin(started, event.run_id);
  if (is_loud(0) && member.call_id.empty()) {  // else the call is shown
    const std::string line = clean(member_line(member));
    const std::size_t name = std::min(line.find(' '), line.size());
    this->line(paint(k_green, "▸ " + line.substr(0, name)) + line.substr(name));
  }
}

void Progress::show(const agent::MemberFinished& member, const agent::Event& event) {
  const std::string name = members_.end(member, event.run_id);
  if (is_loud(0)) {
    note(member.result.exit_code == 0 ? k_dim : k_yellow,
         fmt::format("  {}: {}", name_of(name), member_words(member)));
    for (const std::string& words : last_words(member)) {
      note(k_dim, words);
    }
  }
}

void Progress::show_of_member(const agent::Event& event) {
  if (std::holds_alternative<agent::ToolOutput>(event.body)) {
    return;
  }
  erase();
  say_that_it_stops();
  if (const auto line = members_.add(event); line && is_loud(0)) {
    for (const std::string_view one : agent::split_lines(line->text)) {
      note(line->is_trouble ? k_yellow : std::string_view(), one);
    }
  }
  draw();
}

void Progress::show(const agent::LimitWarning& limit, const agent::Event&) {
  if (is_loud(0)) {
    note(k_yellow, fmt::format("warning: {} of {} used of {}", limit.used, limit.max, limit.limit));
  }
}

void Progress::show(const agent::Warning& warning, const agent::Event&) {
  if (is_loud(0)) {
    note(k_yellow, "warning: " + warning.message);
    if (!warning.help.empty()) {
      line("  help: " + clean(warning.help));
    }
  }
}

// The partial answer, the bill and how it ended: always the last things said.
void Progress::show(const agent::RunFinished& end, const agent::Event&) {
  const agent::RunResult& result = end.result;
  wait_for({});
  if (is_loud(0)) {
    const bool was_said = options_.beside != nullptr || last_said_ == result.text;
    if (result.partial && options_.shows_partial && !was_said) {
      paragraph("partial answer", result.text);
    }
    if (is_loud(1)) {
      for (const agent::ModelUse& use : result.models) {
        note(k_dim, bill_of(use));
      }
    }
  }
  std::vector<agent::Error> errors;
  if (result.error) {
    errors.push_back(*result.error);
    if (result.error->code == agent::Code::run_timeout && !waited_for_.empty()) {
      errors.front().message += " while it waited for " + waited_for_;
    }
  }
  if (!is_loud(0) && errors.empty()) {
    return;
  }
  const bool was_asked = result.turns > 0 || result.usage.total() > 0;
  std::string took;
  if (is_loud(0) && (was_asked || result.exit_code == 0)) {
    took = bill(result) + (result.over_budget ? ", over budget" : "");
  }
  line(render_ending(errors, result.exit_code, took, options_.color, redactor_));
  if (is_loud(0) && result.exit_code != 0 && was_asked && !result.resume_cmd.empty()) {
    lines(paint(k_dim, clean("carry it on: " + result.resume_cmd)), Breaks::by_terminal);
  }
}

// Once, as soon as somebody hears it.
void Progress::say_that_it_stops() {
  if (has_said_stop_ || is_asking_ || !is_loud(0) || options_.cancellation == nullptr) {
    return;
  }
  const int signal = options_.cancellation->signal_number();
  if (signal == 0 || signal == SIGPIPE) {
    return;
  }
  has_said_stop_ = true;
  erase();
  line(paint(k_yellow,
             signal == SIGINT ? "stopping… (Ctrl-C again: at once)"
                              : "stopping… (another signal: at once)"));
}

void Progress::line(std::string_view text) {
  lines(text, Breaks::between_words);
}

void Progress::lines(std::string_view text, Breaks breaks) {
  const bool after_text = options_.beside != nullptr && options_.beside->is_mid_line();
  std::string out = after_text ? "\n" : "";
  const std::size_t width = columns();
  if (width == 0 || breaks == Breaks::by_terminal) {
    out += text;
    out += '\n';
  } else {
    for (const std::string_view one : agent::split_lines(text)) {
      out += wrap_line(one, width, k_hanging) + '\n';
    }
  }
  write(out);
  last_line_ = Steady::now();
}

void Progress::note(std::string_view style, std::string_view text) {
  line(paint(style, clean(text)));
}

void Progress::write(std::string_view text) {
  if (is_asking_) {
    held_back_ += held_back_.size() < k_most_held_back ? text : std::string_view();
    return;
  }
  // An observer never fails a run.
  agent::write_all(options_.descriptor,
                   text,
                   options_.cancellation == nullptr ? nullptr : &options_.cancellation->patience());
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
  if (!waiting_for_.empty()) {
    waited_for_ = waiting_for_;
  }
}

std::size_t Progress::columns() const {
  return options_.live ? Terminal::columns(options_.descriptor) : 0;
}

// What is waited for and, of a call, what it says. No line is as wide as the terminal: it would
// take two, and erase() would not find the first. The cursor waits where the last one begins: what
// the terminal writes itself, as ^C, breaks none.
void Progress::draw() {
  if (!options_.live || is_asking_ || (waiting_for_.empty() && members_.is_empty()) ||
      !is_loud(0) || (options_.beside != nullptr && options_.beside->is_mid_line())) {
    return;
  }
  const std::vector<std::string> lines = live_lines();
  std::string out = "\r\x1b[J";
  for (const std::string& one : lines) {
    out += (&one == &lines.front() ? "" : "\n") + paint(k_dim, one);
  }
  write(out + "\r");
  drawn_.clear();
  std::ranges::transform(lines, std::back_inserter(drawn_), columns_of);
  last_draw_ = Steady::now();
}

std::vector<std::string> Progress::live_lines() const {
  std::vector<std::string> lines;
  if (!members_.is_empty()) {
    const std::size_t width = columns() == 0 ? k_unknown_width : columns();
    for (const std::string& member : members_.live(k_live_members)) {
      lines.push_back(cut_to_columns(clean(member), width - 1));
    }
    return lines;
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::seconds>(Steady::now() - waiting_since_);
  const std::size_t width = columns() == 0 ? k_unknown_width : columns();
  const std::string time = fmt::format(", {} s", waited.count());
  const std::size_t room = width - std::min(width, time.size() + 3);
  const auto call = calls_.find(at_work_);
  if (call != calls_.end() && call->second.shown == waiting_for_) {
    const auto& tail = call->second.tail;
    for (std::size_t at = tail.size() - std::min(tail.size(), k_live_tail); at < tail.size();
         ++at) {
      lines.push_back(cut_to_columns("  " + clean(without_tabs(tail[at])), width - 1));
    }
  }
  lines.push_back("… " + cut_to_columns(clean(waiting_for_), room) + time);
  return lines;
}

// A terminal that has become narrower has broken the lines anew, those above the cursor's into as
// many as they now take; most do.
void Progress::erase() {
  if (drawn_.empty()) {
    return;
  }
  const std::size_t width = columns();
  std::size_t above = 0;
  for (const std::size_t drawn : std::span(drawn_).first(drawn_.size() - 1)) {
    above += width == 0 ? 1 : std::max<std::size_t>(1, (drawn + width - 1) / width);
  }
  write((above > 0 ? fmt::format("\r\x1b[{}A", above) : "\r") + "\x1b[J");
  drawn_.clear();
}

// Keeps the live line's clock going; elsewhere says every 30 s that the run is alive. A signal
// wakes it.
void Progress::tick(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const std::stop_token cancelled =
      options_.cancellation == nullptr ? std::stop_token() : options_.cancellation->stop();
  while (!stop.stop_requested()) {
    if (cancelled.stop_requested()) {
      wakeup_.wait_for(lock, stop, k_live_interval, [] { return false; });
    } else {
      wakeup_.wait_for(lock, cancelled, k_live_interval, [&] { return stop.stop_requested(); });
    }
    if (stop.stop_requested()) {
      return;
    }
    say_that_it_stops();
    if (is_asking_ || (waiting_for_.empty() && members_.is_empty())) {
      continue;
    }
    if (options_.live) {
      erase();
      draw();
    } else if (Steady::now() - last_line_ >= k_heartbeat) {
      const auto waited =
          std::chrono::duration_cast<std::chrono::seconds>(Steady::now() - waiting_since_);
      const std::string who = members_.is_empty() ? waiting_for_ : members_.names();
      line(fmt::format(
          "{}{}, {} s so far", is_starting_ ? "" : "waiting for ", clean(who), waited.count()));
    }
  }
}

}  // namespace cli

#include "cli/terminal/batch_progress.h"

#include "agent/descriptor.h"
#include "agent/error.h"
#include "agent/text.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {
namespace {

using std::chrono::milliseconds;

constexpr auto k_redraw_interval = milliseconds(500);
constexpr std::int64_t k_told_failures = 10;
constexpr std::size_t k_told_warnings = 100;
constexpr std::size_t k_unknown_columns = 80;

double seconds_of(milliseconds time) {
  return std::max(static_cast<double>(time.count()) / 1000, 0.001);
}

std::string rate_words(std::int64_t count, milliseconds elapsed) {
  const double each_second = static_cast<double>(count) / seconds_of(elapsed);
  return each_second >= 1 ? fmt::format("{:.1f}/s", each_second)
                          : fmt::format("{:.1f}/min", each_second * 60);
}

// The failures by what they are called, the most frequent first.
std::string failure_words(const BatchCount& count) {
  std::vector<std::pair<int, std::int64_t>> all(count.failed.begin(), count.failed.end());
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const auto& one) { return one.second; });
  std::string words;
  for (const auto& [code, times] : all) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", times, agent::exit_row(code).name);
  }
  return words;
}

}  // namespace

std::int64_t BatchCount::failures() const {
  std::int64_t sum = 0;
  for (const auto& [code, times] : failed) {
    sum += times;
  }
  return sum;
}

std::string progress_words(const BatchCount& count, milliseconds elapsed) {
  std::string text = fmt::format("{} ended", count.ended());
  if (const auto failures = count.failures(); failures > 0) {
    text += fmt::format(", {} failed", failures);
  }
  text += fmt::format(", {} running", count.running);
  if (count.waiting > 0) {
    text += fmt::format(
        " ({} wait{} for the provider to be back)", count.waiting, count.waiting == 1 ? "s" : "");
  }
  if (count.has_share) {
    text += fmt::format(", {}%", static_cast<int>(count.share * 100));
  }
  if (const auto here = count.ended() - count.earlier; here > 0) {
    text += ", " + rate_words(here, elapsed);
  }
  text += ", " + (count.cost ? agent::format_money(count.cost) : "cost unknown");
  if (count.has_share && count.new_share > 0 && count.share < 1) {
    const double left = seconds_of(elapsed) * (1 - count.share) / count.new_share;
    constexpr double k_longest = 1e9;  // seconds: nobody knows
    if (left < k_longest) {
      text += fmt::format(", about {} left", duration_words(std::llround(left * 1000)));
    }
  }
  return text;
}

std::string sum_words(const BatchCount& count, milliseconds elapsed) {
  std::string text =
      fmt::format("{} input{}: {} ok", count.ended(), count.ended() == 1 ? "" : "s", count.ok);
  if (const auto failures = count.failures(); failures > 0) {
    text += fmt::format(", {} failed ({})", failures, failure_words(count));
  }
  if (count.not_begun > 0) {
    text += fmt::format(", {} not begun", count.not_begun);
  }
  if (count.earlier > 0) {
    text += fmt::format(", {} ended earlier", count.earlier);
  }
  return fmt::format("{}, {}, {}",
                     text,
                     count.cost ? agent::format_money(count.cost) : "cost unknown",
                     duration_words(elapsed.count()));
}

BatchProgress::BatchProgress(Options options, const agent::Redactor& redactor)
    : options_(options), redactor_(redactor) {
  if (is_loud(0)) {
    try {
      ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
    } catch (const std::system_error&) {  // no thread is left: nothing ticks
    }
  }
}

BatchProgress::~BatchProgress() {
  ticker_ = {};
  erase();
}

milliseconds BatchProgress::elapsed() const {
  return std::chrono::duration_cast<milliseconds>(Steady::now() - begin_);
}

void BatchProgress::say(std::string_view text, bool is_error) {
  const std::lock_guard lock(mutex_);
  if (is_error || is_loud(0)) {
    line(text);
  }
}

void BatchProgress::warn(const agent::Warning& warning) {
  const std::lock_guard lock(mutex_);
  if (is_loud(0) && warned_.size() < k_told_warnings && warned_.insert(warning.message).second) {
    line(render_warning(
        {.code = agent::Code::config_invalid, .message = warning.message, .help = warning.help},
        options_.color,
        redactor_));
  }
}

void BatchProgress::ended(std::string_view input,
                          const agent::RunResult& result,
                          const BatchCount& count) {
  const std::lock_guard lock(mutex_);
  count_ = count;
  const bool has_failed = result.exit_code != 0;
  if (!is_loud(has_failed ? 0 : 1)) {
    return;
  }
  if (has_failed && !is_loud(1) && ++told_failures_ > k_told_failures) {
    if (told_failures_ == k_told_failures + 1) {
      line("further failures: in the results");
    }
    return;
  }
  std::string text =
      fmt::format("{}: {} ({})", input, agent::exit_row(result.exit_code).name, result.exit_code);
  if (result.error) {
    text += ": " + result.error->message;
    for (const std::string& doing : result.error->context) {
      text += ", while " + doing;
    }
  } else if (!has_failed) {
    text += fmt::format(
        ", {}, {}", agent::format_money(result.cost), duration_words(result.duration_ms));
  }
  line(agent::one_line(redactor_.apply(text)));
}

void BatchProgress::update(const BatchCount& count) {
  const std::lock_guard lock(mutex_);
  count_ = count;
}

void BatchProgress::finish(const BatchCount& count) {
  const std::lock_guard lock(mutex_);
  count_ = count;
  const bool is_said = is_loud(0) || count.failures() + count.not_begun > 0;
  options_.verbosity = -1;  // nothing is drawn any more
  if (is_said) {
    line("errand: " + sum_words(count, elapsed()));
  }
}

void BatchProgress::line(std::string_view text) {
  erase();
  write(fmt::format("{}\n", text));
  last_line_ = Steady::now();
  draw();
}

void BatchProgress::write(std::string_view text) {
  // An observer never fails a batch.
  agent::write_all(options_.descriptor,
                   text,
                   options_.cancellation == nullptr ? nullptr : &options_.cancellation->patience());
}

// Narrower than the terminal: erase() would not find the first half of a broken line.
void BatchProgress::draw() {
  if (!options_.live || !is_loud(0)) {
    return;
  }
  const std::size_t columns = Terminal::columns(options_.descriptor);
  const std::size_t width = (columns == 0 ? k_unknown_columns : columns) - 1;
  const std::string text = cut_to_columns("… " + progress_words(count_, elapsed()), width);
  write("\r\x1b[J" + paint("2", text, options_.color) + "\r");
  is_drawn_ = true;
}

void BatchProgress::erase() {
  if (std::exchange(is_drawn_, false)) {
    write("\r\x1b[J");
  }
}

// Once, as soon as somebody hears it.
void BatchProgress::say_that_it_stops() {
  if (has_said_stop_ || options_.cancellation == nullptr) {
    return;
  }
  const int signal = options_.cancellation->signal_number();
  if (signal != 0 && signal != SIGPIPE) {
    has_said_stop_ = true;
    line(signal == SIGINT ? "stopping… (Ctrl-C again: at once)"
                          : "stopping… (another signal: at once)");
  }
}

void BatchProgress::tick(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wakeup_.wait_for(lock, stop, k_redraw_interval, [] { return false; });
    if (stop.stop_requested() || !is_loud(0)) {
      return;
    }
    say_that_it_stops();
    if (options_.live) {
      draw();
    } else if (Steady::now() - last_line_ >= options_.heartbeat) {
      line(progress_words(count_, elapsed()));
    }
  }
}

}  // namespace cli

#include "cli/batch.h"

#include "agent/duration.h"
#include "agent/id.h"
#include "agent/sha256.h"
#include "agent/state.h"
#include "agent/step.h"
#include "agent/text.h"
#include "cli/agents_above.h"
#include "cli/early_end.h"
#include "cli/find_run.h"
#include "cli/open_sandbox.h"
#include "cli/outside_input.h"
#include "cli/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Ending;
using agent::Error;
using agent::Result;
using agent::RunResult;

constexpr std::string_view k_total_cost = "--max-total-cost";
constexpr std::string_view k_total_timeout = "--total-timeout";

// Of an input that was not begun, or could not be.
RunResult result_of(const Ending& ending) {
  return agent::make_result(agent::State({}), ending);
}

// Of what people see on the way, and can do without.
template <typename Work>
void if_there_is_room(Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

// What other runs hold is free once they have ended.
template <typename Work>
void once_there_is_room(Work work) {
  constexpr int k_most_tries = 100;
  constexpr std::chrono::milliseconds k_pause{100};
  for (int tries = 1;; ++tries) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      if (tries == k_most_tries) {
        throw;
      }
    }
    std::this_thread::sleep_for(k_pause);
  }
}

bool is_of_the_whole(const std::optional<agent::Stop>& stop) {
  return stop && (stop->limit == k_total_cost || stop->limit == k_total_timeout);
}

// Nothing was sent: the models were known to be down, or had asked for a pause.
bool is_for_want_of_a_model(const RunResult& result) {
  return result.error && agent::is_for_want_of_a_model(*result.error);
}

// What a signal, a limit of the whole, a model that was not asked or what is alike for all has
// ended is not done: it is carried on.
bool was_cut_short(const RunResult& result) {
  return is_for_want_of_a_model(result) ||
         agent::status_of(result.exit_code) == agent::Status::cancelled ||
         is_of_the_whole(result.stop) || is_alike_for_all(result.exit_code);
}

// Of those that were not begun, after one that ended so.
Ending trouble_behind(Error error) {
  error.message = "not begun, for it would end as another input did: " + error.message;
  return Ending{.error = std::move(error)};
}

std::optional<Ending> trouble_of(const RunResult& result) {
  const bool is_journal = result.error && result.error->code == Code::storage_io;
  const bool was_sent = result.error && result.error->attempts > 0;
  const bool is_down = is_for_want_of_a_model(result) && !was_sent;
  if (!result.error || (!is_journal && !is_down && !is_alike_for_all(result.exit_code))) {
    return std::nullopt;
  }
  return trouble_behind(*result.error);
}

Ending at_limit_of_the_whole(
    Code code, std::string_view option, double used, double max, std::string message) {
  Ending ending = agent::stopped_at(code, used, max, std::move(message));
  ending.stop->limit = option;
  ending.stop->config_path.clear();
  ending.error->help = fmt::format("raise `{}`", option);
  return ending;
}

// Hears what a run warns of, what it costs and whether it waits for a provider, while it goes on.
class BatchRunSink final : public agent::EventSink {
 public:
  BatchRunSink(BatchProgress& progress,
               std::function<void(const std::optional<agent::Money>&)> add_cost,
               std::function<void(int more)> add_waiting)
      : progress_(progress), add_cost_(std::move(add_cost)), add_waiting_(std::move(add_waiting)) {}
  ~BatchRunSink() override { note_waiting(false); }

  void on(const agent::Event& event) override {
    const auto* retrying = std::get_if<agent::ModelRetrying>(&event.body);
    const bool waits = retrying != nullptr && agent::is_for_want_of_a_model(retrying->error);
    note_waiting(waits);
    if (waits) {
      const bool is_down = retrying->error.code == Code::provider_circuit_open;
      progress_.warn({.message = fmt::format("{}/{} {}",
                                             agent::one_line(retrying->error.provider, 60),
                                             agent::one_line(retrying->error.model, 100),
                                             is_down ? "keeps failing: inputs wait until it is back"
                                                     : "is not asked for a while: inputs wait"),
                      .help = {}});
    }
    if (const auto* warning = std::get_if<agent::Warning>(&event.body)) {
      progress_.warn(*warning);
    } else if (const auto use = agent::use_in(event.body)) {
      add_cost_(use->cost);
    }
  }

 private:
  void note_waiting(bool waits) {
    if (waits != waits_) {
      waits_ = waits;
      add_waiting_(waits ? 1 : -1);
    }
  }

  BatchProgress& progress_;
  std::function<void(const std::optional<agent::Money>&)> add_cost_;
  std::function<void(int more)> add_waiting_;
  bool waits_ = false;
};

}  // namespace

bool is_alike_for_all(int exit_code) {
  constexpr auto k_codes =
      std::to_array({Code::provider_auth, Code::provider_model_not_found, Code::provider_quota});
  return std::ranges::any_of(k_codes,
                             [&](Code code) { return agent::row(code).exit_code == exit_code; });
}

Batch::Batch(World world, BatchOptions options, const Plan& plan)
    : world_(std::move(world)),
      options_(std::move(options)),
      plan_(plan),
      reading_(reading_policy(plan.agent, plan.settings, world_.parsed, world_.context)),
      cancellation_(world_.context.cancellation),
      earlier_(options_.store, options_.name, world_.context) {
  count_.has_share = world_.input.size().value_or(0) > 0;
}

Result<int> Batch::run() {
  {
    const std::stop_callback stopped(cancellation_.stop(), [this] { no_more_.request_stop(); });
    start_workers();
  }
  leave_out_the_rest();
  if (count_.ended() > 0) {
    world_.progress.finish(count_);
  }
  if (cancellation_.signal_number() == 0) {
    if (input_error_) {
      return agent::fail(*input_error_);
    }
    if (count_.ended() == 0 && !cancellation_.is_expired()) {
      return agent::fail(Code::cli_no_input,
                         "there is no input",
                         "see whether the command that writes the inputs failed");
    }
  }
  return exit_code();
}

// Returns when they are done.
void Batch::start_workers() {
  std::vector<std::jthread> threads;
  for (std::size_t number = 0; number < options_.parallel; ++number) {
    try {
      threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads.empty()) {
        throw;
      }
      break;  // with fewer it takes longer
    }
  }
}

void Batch::work() {
  try {
    while (auto task = next_task()) {
      const BatchItem item = task->item;
      note_running(1);
      const Ended ended = run_item(*std::move(task));
      note_running(-1);
      settle(item, ended);
    }
  } catch (const std::exception& exception) {
    no_more_.request_stop();  // whoever waits for the result of this input waits in vain
    const std::lock_guard lock(input_mutex_);
    is_over_ = true;
    input_error_ = agent::error_of(exception);
  }
}

void Batch::note_running(int more) {
  const std::lock_guard lock(mutex_);
  count_.running += more;
  if (more > 0) {
    if_there_is_room([&] { world_.progress.update(count_); });
  }
}

std::optional<Batch::Task> Batch::next_task() {
  const std::lock_guard lock(input_mutex_);
  if (is_over_ || reason_to_stop()) {
    is_over_ = true;
    return std::nullopt;
  }
  auto item = world_.input.next(no_more_.get_token());
  if (!item || !*item) {
    is_over_ = true;
    input_error_ = item ? std::nullopt : std::optional(item.error());
    return std::nullopt;
  }
  world_.results.wait_for_room((*item)->index, no_more_.get_token());
  if (!std::exchange(has_greeted_, true) && !options_.greeting.empty()) {
    world_.progress.say(options_.greeting);
  }
  warn_of_same_id(**item);
  return task_of(**std::move(item));
}

// Where an input is another one than the run of its number has, or was run by something else, all
// behind it may be: nothing more is begun. That is known before the next input is given to anybody.
Batch::Task Batch::task_of(BatchItem item) {
  Task task{.item = std::move(item), .source = RunSource()};
  if (task.item.mistake) {
    return task;
  }
  task.source = source_of(task.item);
  if (!task.source || !task.source->earlier) {
    return task;
  }
  if (const auto same = check_is_same(task.item, *task.source); !same) {
    task.source = agent::fail(same.error());
    const std::lock_guard lock(mutex_);
    is_refused_ = true;
    if (!trouble_) {
      trouble_ = trouble_behind(same.error());
      stopped_with_ = agent::exit_code(same.error());
    }
  }
  return task;
}

void Batch::warn_of_same_id(const BatchItem& item) {
  if (!item.id.empty() && !ids_.insert(std::hash<std::string>()(item.id)).second) {
    world_.progress.warn(
        {.message = "two inputs have the same id: nobody can tell their results apart by it",
         .help = fmt::format("the second is input {}: `{}`; `index` counts the inputs",
                             item.index,
                             agent::one_line(item.id, 60))});
  }
}

// Those that were not begun have a result, too, as far as they can be read without waiting.
void Batch::leave_out_the_rest() {
  const auto why = reason_to_stop();
  if (!why || !world_.input.size() || input_error_) {
    return;
  }
  while (!cancellation_.kill().stop_requested() && !world_.results.is_broken()) {
    auto item = world_.input.next(cancellation_.kill());
    if (!item || !*item) {
      return;
    }
    const Task task = task_of(**std::move(item));
    settle(task.item, left_out(task, *why));
  }
}

void Batch::settle(const BatchItem& item, const Ended& ended) {
  once_there_is_room([&] { world_.results.add(item, ended.result, ended.is_earlier); });
  if (world_.results.reader_is_gone() && cancellation_.signal_number() == 0) {
    cancellation_.signal(SIGPIPE);
  }
  {
    const std::lock_guard lock(mutex_);
    const int code = ended.result.exit_code;
    ++(!ended.was_begun ? count_.not_begun : code == 0 ? count_.ok : count_.failed[code]);
    count_.earlier += ended.is_earlier ? 1 : 0;
    count_.failed_earlier += ended.is_earlier && code != 0 ? 1 : 0;
    if (!trouble_ && !ended.is_earlier) {
      trouble_ = trouble_of(ended.result);
    }
    if (trouble_ || is_of_the_whole(ended.result.stop)) {
      stopped_with_ = stopped_with_.value_or(code);
    }
    bytes_ += item.bytes;
    new_bytes_ += ended.is_earlier ? 0 : item.bytes;
    if (count_.has_share) {
      const auto all = static_cast<double>(*world_.input.size());
      count_.share = std::min(1.0, static_cast<double>(bytes_) / all);
      count_.new_share = static_cast<double>(new_bytes_) / all;
    }
    if_there_is_room([&] { tell_of_end(item, ended); });
  }
  if (reason_to_stop()) {
    no_more_.request_stop();
  }
}

// Under mutex_.
void Batch::tell_of_end(const BatchItem& item, const Ended& ended) {
  if (ended.is_earlier || !ended.was_begun) {
    world_.progress.update(count_);
    return;
  }
  const std::string id = item.id.empty() ? "" : fmt::format(" ({})", agent::one_line(item.id));
  world_.progress.ended(fmt::format("input {}{}", item.index, id), ended.result, count_);
}

// ---- one input ----

Batch::Ended Batch::run_item(Task task) {
  const auto began = std::chrono::steady_clock::now();
  const auto failed = [&](Error error) {
    Ended ended{.result = result_of({.error = std::move(error)})};
    ended.result.duration_ms =
        std::chrono::duration_cast<agent::Milliseconds>(std::chrono::steady_clock::now() - began)
            .count();
    return ended;
  };
  try {
    if (const auto why = reason_to_stop(); why && task.source) {
      return left_out(task, *why);
    }
    const agent::Where place = world_.input.place_of(task.item);
    auto ended = perform(std::move(task));
    if (ended) {
      return *std::move(ended);
    }
    Error error = std::move(ended).error();
    if (!error.where) {
      error.where = place;
    }
    return failed(std::move(error));
  } catch (const std::exception& exception) {
    return failed(agent::error_of(exception));
  }
}

// Nothing: it was not begun, or was cut off. What it has cost until then counts in any case.
std::optional<Batch::Ended> Batch::ended_earlier(const RunSource& source) {
  if (!source.earlier) {
    return std::nullopt;
  }
  const agent::State& state = source.earlier->past.state;
  add_cost(state.cost);
  if (!state.finished || was_cut_short(*state.finished)) {
    add_cost(unheard_of_members(*source.earlier, world_.context.environment).spent().cost);
  }
  return state.finished && !was_cut_short(*state.finished)
             ? std::optional(Ended{.result = *state.finished, .is_earlier = true})
             : std::nullopt;
}

// Whatever keeps new ones from it, what has ended has its result.
Batch::Ended Batch::left_out(const Task& task, const Ending& why) {
  if (task.source) {
    if (auto ended = ended_earlier(*task.source)) {
      return *std::move(ended);
    }
  }
  return {.result = result_of(why), .was_begun = false};
}

Result<Batch::Ended> Batch::perform(Task task) {
  const BatchItem& item = task.item;
  if (item.mistake) {
    return agent::fail(*item.mistake);
  }
  TRY_ASSIGN(RunSource source, std::move(task.source));
  if (auto ended = ended_earlier(source)) {
    return *std::move(ended);
  }
  Plan plan = plan_;
  TRY_ASSIGN(plan.text, texts_of(item.said, options_.parameters, plan_, reading_));
  if (source.earlier) {
    TRY_ASSIGN(source,
               carried_on_anew(*std::move(source.earlier),
                               std::move(source.agent),
                               false,
                               world_.context.environment));
    if (!source.says_own_prompt) {
      plan.text.prompt.clear();  // it was said
      plan.text.attachments.clear();
    }
  }
  return begin(item, std::move(source), std::move(plan));
}

Result<RunSource> Batch::source_of(const BatchItem& item) {
  RunSource source{
      .agent = {.file = plan_.agent.file},
      .session = options_.name.empty() ? "" : batch_run_name(options_.name, item.index),
      .input_sha256 = agent::sha256_hex(item.text)};
  if (options_.has_earlier) {
    auto earlier = earlier_.of(item.index);
    if (!earlier) {
      return agent::fail(
          std::move(earlier).error().while_("reading the run " + agent::one_line(source.session)));
    }
    source.earlier = *std::move(earlier);
  }
  if (source.earlier) {
    TRY(check_is_own(*source.earlier,
                     "`errand runs rm` takes it out, and the next go begins the input anew"));
  }
  return source;
}

// What was not done goes on with what is said now; a result is that of what was said then.
Result<void> Batch::check_is_same(const BatchItem& item, const RunSource& source) const {
  const RecordedRun& earlier = *source.earlier;
  const std::string name = agent::one_line(source.session);
  if (earlier.begun.made_from.input_sha256 != source.input_sha256) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the run {} is of another input", name),
        "a batch is carried on with the inputs that it was begun with; more may follow them. "
        "Others take another `--session`");
  }
  const auto& finished = earlier.past.state.finished;
  const Parsed said = command_line_of(item.said, options_.parameters, world_.parsed);
  agent::RunStarted now{.model = plan_.model().name(),
                        .made_from = {.agent_text = world_.redactor.apply(plan_.agent.source),
                                      .options = lasting_options(said)}};
  for (std::string& option : now.made_from.options) {
    option = world_.redactor.apply(option);
  }
  if (!finished || was_cut_short(*finished) ||
      std::ranges::find(earlier.set_ups, set_up_of(now)) != earlier.set_ups.end()) {
    return {};
  }
  return agent::fail(
      Code::cli_usage,
      fmt::format("the result of the run {} is that of another agent file, model or parameter",
                  name),
      fmt::format(
          "another `--session` runs all inputs with these; `errand runs rm {}` has this one "
          "run anew",
          agent::shell_word(source.session)));
}

Result<Batch::Ended> Batch::begin(const BatchItem& item, RunSource source, Plan plan) {
  agent::Cancellation cancellation;
  const std::stop_callback stopped(cancellation_.stop(), [&] { stop_run(cancellation); });
  const std::stop_callback killed(cancellation_.kill(), [&] { stop_run(cancellation); });
  BatchRunSink sink(
      world_.progress,
      [this](const auto& cost) { add_cost(cost); },
      [this](int more) { add_waiting(more); });
  const std::string run_id = source.earlier ? source.earlier->run_id : agent::new_run_id();
  const auto began = std::chrono::steady_clock::now();
  const auto timeout = plan.agent.limits.timeout;
  auto session =
      RunSession::open({.context = world_.context,
                        .supervisor = world_.supervisor,
                        .redactor = world_.redactor,
                        .http = world_.http,
                        .models = world_.models,
                        .parsed = command_line_of(item.said, options_.parameters, world_.parsed),
                        .sinks = {&sink},
                        .outputs = world_.outputs,
                        .cancellation = cancellation,
                        .killed = [&]() -> std::optional<Error> {
                          if (!is_cost_reached()) {
                            return std::nullopt;
                          }
                          cancellation.end(cost_ending());
                          return cost_ending().error;
                        },
                        .budget = this,
                        .is_patient = true},
                       run_id,
                       std::move(source),
                       std::move(plan));
  if (session) {
    return Ended{.result = (*session)->run()};
  }
  if (session.error().code == Code::run_cancelled) {
    return Ended{.result =
                     result_before_run(std::move(session).error(), cancellation, timeout, began)};
  }
  return agent::fail(std::move(session).error());
}

// The second time: at once.
void Batch::stop_run(agent::Cancellation& run) const {
  if (const int signal = cancellation_.signal_number(); signal != 0) {
    run.signal(signal);
  } else {
    run.end(timeout_ending());
  }
}

void Batch::add_cost(const std::optional<agent::Money>& cost) {
  const std::lock_guard lock(mutex_);
  count_.cost = agent::sum_of(count_.cost, cost);
}

void Batch::add_waiting(int more) {
  const std::lock_guard lock(mutex_);
  count_.waiting += more;
  world_.progress.update(count_);
}

// ---- the whole ----

// Why nothing more is to be begun, as an ending of what is not.
std::optional<Ending> Batch::reason_to_stop() const {
  const auto cancelled = [](std::string message, int signal, std::string help = {}) {
    return Ending{.error = Error{.code = Code::run_cancelled,
                                 .message = std::move(message),
                                 .help = std::move(help)},
                  .signal = signal};
  };
  if (const int signal = cancellation_.signal_number(); signal != 0) {
    return cancelled("a signal ended the batch before this input was begun", signal);
  }
  if (world_.results.is_broken()) {
    return cancelled("not begun: the results of the batch could not be written",
                     SIGTERM,
                     "make room for them; then the same with `--session` begins this input");
  }
  if (cancellation_.is_expired()) {
    return timeout_ending();
  }
  if (is_cost_reached()) {
    return cost_ending();
  }
  const std::lock_guard lock(mutex_);
  if (trouble_) {
    return trouble_;
  }
  if (options_.max_failures &&
      count_.failures() - count_.failed_earlier >= *options_.max_failures) {
    return cancelled(
        fmt::format("not begun: {} inputs had failed (`--max-failures`)", *options_.max_failures),
        SIGTERM,
        "see why they failed; the same with `--session` begins this input");
  }
  return std::nullopt;
}

// A cost that nobody knows may be any.
bool Batch::is_cost_reached() const {
  const std::lock_guard lock(mutex_);
  return options_.max_cost && (is_too_dear_ || !count_.cost || *count_.cost >= *options_.max_cost);
}

// The answers that are under way at the same time are not counted.
std::expected<std::optional<std::int64_t>, Ending> Batch::room_for(
    const agent::Asking& asking) const {
  std::unique_lock lock(mutex_);
  auto room =
      agent::room_within({.max_cost_usd = options_.max_cost}, {.cost = count_.cost}, asking, {});
  is_too_dear_ = is_too_dear_ || !room;
  lock.unlock();
  return room ? std::move(room) : std::unexpected(cost_ending());
}

Ending Batch::cost_ending() const {
  const std::lock_guard lock(mutex_);
  const agent::Money max = options_.max_cost.value_or(agent::Money());
  return at_limit_of_the_whole(
      Code::run_cost_budget,
      k_total_cost,
      count_.cost.value_or(max).dollars(),
      max.dollars(),
      count_.cost ? fmt::format("the batch has spent {} of {}",
                                agent::format_money(count_.cost),
                                agent::format_money(max))
                  : "what the last answer cost is unknown, so that the batch's limit cannot be "
                    "enforced");
}

Ending Batch::timeout_ending() const {
  const auto timeout = options_.timeout.value_or(std::chrono::milliseconds(0));
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  return at_limit_of_the_whole(Code::run_timeout,
                               k_total_timeout,
                               seconds,
                               seconds,
                               "the batch took longer than " + agent::format_duration(timeout));
}

std::string Batch::why_incomplete() const {
  const std::lock_guard lock(mutex_);
  if (cancellation_.signal_number() != 0) {
    return "";
  }
  if (cancellation_.is_expired()) {
    return fmt::format("--total-timeout {}: nothing more was begun",
                       agent::format_duration(options_.timeout.value_or(agent::Milliseconds{0})));
  }
  return count_.not_begun > 0 && options_.max_failures && !stopped_with_
             ? fmt::format("--max-failures {}: nothing more was begun", *options_.max_failures)
             : "";
}

bool Batch::is_refused() const {
  const std::lock_guard lock(mutex_);
  return is_refused_;
}

int Batch::exit_code() const {
  if (const int signal = cancellation_.signal_number(); signal != 0) {
    return 128 + signal;
  }
  if (cancellation_.is_expired()) {
    return agent::row(Code::run_timeout).exit_code;
  }
  return stopped_with_.value_or(count_.failures() + count_.not_begun > 0 ? 1 : 0);
}

}  // namespace cli

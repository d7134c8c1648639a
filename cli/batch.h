// Many runs of one agent in one process, one an input, several at a time. They share what costs to
// make and what has to be known together: connections, rate gates, circuit breakers. What belongs
// to a run (its folder, sandbox, budget, record) is each one's own.
#pragma once
#include "agent/budget.h"
#include "agent/cancellation.h"
#include "agent/http.h"
#include "agent/money.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/batch_earlier.h"
#include "cli/batch_input.h"
#include "cli/batch_results.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"
#include "cli/terminal/batch_progress.h"
#include "config/named_files.h"
#include "providers/resilience/model_states.h"
#include "tools/process/supervisor.h"
#include "tools/sandbox/policy.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace cli {

struct BatchOptions {
  std::size_t parallel = 4;
  std::string name;             // what its runs are called: NAME#1, NAME#2, …; empty: none is kept
  std::filesystem::path store;  // the journal that has them
  std::string greeting;         // said with the first input
  bool has_earlier = false;     // there are runs of that name already
  std::map<std::string, std::string> parameters;     // of all inputs that do not say otherwise
  std::optional<std::chrono::milliseconds> timeout;  // of the whole, as its watcher has it
  std::optional<agent::Money> max_cost;              // of the whole
  std::optional<std::int64_t> max_failures;
};

// Whether a run that ended so says that all would: the key, the model or the account is wrong.
bool is_alike_for_all(int exit_code);

class Batch final : private agent::Budget {
 public:
  // What is there before and outlives it. Borrowed, but for the names.
  struct World {
    const Parsed& parsed;
    const Context& context;
    tools::Supervisor& supervisor;
    const agent::Redactor& redactor;
    agent::Http& http;
    providers::ModelStates& models;
    tools::sandbox::Outputs outputs;
    BatchInput& input;
    BatchResults& results;
    BatchProgress& progress;
  };

  // `plan` has no texts yet.
  Batch(World world, BatchOptions options, const Plan& plan);

  // Once. Returns when all inputs have ended: how the whole did. An error ended it early: of the
  // input. Of the outputs, the caller knows.
  agent::Result<int> run();

  // After it, where failures alone have kept inputs from being begun: that. Else empty.
  std::string why_incomplete() const;
  // Whether what has ended in it was run by something else, or is of other inputs: the exit code is
  // that of a refusal, and what has failed is not known.
  bool is_refused() const;

 private:
  // An input, and the run that works on it.
  struct Task {
    BatchItem item;
    agent::Result<RunSource> source;
  };
  struct Ended {
    agent::RunResult result;
    bool is_earlier = false;  // in an earlier process
    bool was_begun = true;
  };

  void work();
  void start_workers();
  std::optional<Task> next_task();
  Task task_of(BatchItem item);
  void leave_out_the_rest();
  void note_running(int more);
  void settle(const BatchItem& item, const Ended& ended);
  void tell_of_end(const BatchItem& item, const Ended& ended);

  Ended run_item(Task task);
  std::optional<Ended> ended_earlier(const RunSource& source);
  Ended left_out(const Task& task, const agent::Ending& why);
  agent::Result<Ended> perform(Task task);
  agent::Result<RunSource> source_of(const BatchItem& item);
  agent::Result<void> check_is_same(const BatchItem& item, const RunSource& source) const;
  void warn_of_same_id(const BatchItem& item);
  agent::Result<Ended> begin(const BatchItem& item, RunSource source, Plan plan);
  void stop_run(agent::Cancellation& run) const;
  void add_cost(const std::optional<agent::Money>& cost);
  void add_waiting(int more);

  std::optional<agent::Ending> reason_to_stop() const;
  std::expected<std::optional<std::int64_t>, agent::Ending> room_for(
      const agent::Asking& asking) const override;
  bool is_cost_reached() const;
  agent::Ending cost_ending() const;
  agent::Ending timeout_ending() const;
  int exit_code() const;

  World world_;
  const BatchOptions options_;
  const Plan& plan_;
  const config::ReadingPolicy reading_;
  agent::Cancellation& cancellation_;  // of the whole
  std::stop_source no_more_;           // inputs are to be begun

  std::mutex input_mutex_;  // of the input and the next five
  EarlierRuns earlier_;
  bool is_over_ = false;
  bool has_greeted_ = false;
  std::set<std::size_t> ids_;  // of inputs, by their hashes
  std::optional<agent::Error> input_error_;

  mutable std::mutex mutex_;          // of the rest
  BatchCount count_;                  // its cost: of runs that go on, too
  std::size_t bytes_ = 0;             // of inputs that have ended
  std::size_t new_bytes_ = 0;         // in this process
  mutable bool is_too_dear_ = false;  // a request that was not made
  bool is_refused_ = false;
  std::optional<int> stopped_with_;       // of a run that ended by what holds for the whole
  std::optional<agent::Ending> trouble_;  // that every other run would have, too
};

}  // namespace cli

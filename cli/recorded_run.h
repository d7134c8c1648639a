// A run out of the journal, to be carried on.
#pragma once
#include "agent/error.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/state.h"
#include "agent/store/runs.h"
#include "cli/parse.h"
#include "cli/run_folder.h"
#include "config/load.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

// What a process did in a run, from its first event to its last one.
struct ProcessTime {
  std::chrono::system_clock::time_point begin;
  std::chrono::system_clock::time_point end;
  agent::Milliseconds worked{0};  // without what it waited for people, and for a provider
};

struct RecordedRun {
  std::filesystem::path store;
  std::string run_id;
  std::string parent = {};  // the run that it worked for; empty: none
  agent::Past past;
  agent::RunStarted begun;                  // as the last process began it
  std::int64_t worked_ms = 0;               // by all of them, as far as this record knows
  std::vector<ProcessTime> processes = {};  // one at least, as they came
  std::chrono::system_clock::time_point updated;
  bool is_own = false;  // begun by this user's errand, and unchanged since (run_seal.h)
  std::optional<agent::Error> no_key = {};  // why that cannot be known of any run
  std::vector<std::string> set_ups = {};    // as set_up_of(): of each of its processes
  // Of a fork, which is not in the journal yet: whose beginning it has, and that.
  std::optional<agent::ForkedFrom> forked_from = {};
  std::vector<agent::Event> beginning = {};
};

// The id that the journal has: of a fork that is not in it yet, that of the other run.
const std::string& recorded_id(const RecordedRun& run);

// What its tools, and those of its members, have left where a process of it was killed has other
// names then, whoever made it; says what. Nothing for a fork. sandbox.violation where something
// keeps its name, or where one of them is a file that this process has `read` before and goes by,
// or settings of the project that were there. cli.usage as sweep_after_kill(), by `pictures`.
agent::Result<std::vector<std::string>> tidy_after_kill(
    const RecordedRun& run,
    const IsWritten& is_written,
    const std::vector<std::filesystem::path>& read,
    const agent::Environment& environment,
    const std::filesystem::path& pictures = {});

// Of a run that cannot begin, and what tidy_after_kill() has said, which no warning tells then.
agent::Error telling_what_was_left(agent::Error error, const std::vector<std::string>& said);

// Where its agent file was: its name may be relative to a folder that --cwd has left.
std::filesystem::path agent_file_of(const agent::RunStarted& begun);
// Whether that is the name of an agent that is written out in another one's file, as
// `agent.yaml#helper`: no file can be named in its place.
bool is_written_out(const std::filesystem::path& agent_file);

// The agent that the run was begun with, as its record has it.
config::Report recorded_agent(const agent::RunStarted& begun,
                              const agent::Environment& environment,
                              config::KnownNames known);

// storage.not_found where there is no such run, and what else can be wrong with a journal.
agent::Result<RecordedRun> recall(const std::filesystem::path& store,
                                  const std::string& run_id,
                                  const agent::Environment& environment);

// The same of one that was read, with events.
agent::Result<RecordedRun> recalled(const std::filesystem::path& store,
                                    const agent::store::NamedRun& read,
                                    const agent::Environment& environment);

// Recorded runs of one journal, each read once however many others lead to it.
class RecordedRuns {
 public:
  RecordedRuns(std::filesystem::path store, const agent::Environment& environment)
      : store_(std::move(store)), environment_(environment) {}

  // As recall(); stays where it is.
  const agent::Result<RecordedRun>& of(const std::string& run_id);
  const std::filesystem::path& store() const { return store_; }
  const agent::Environment& environment() const { return environment_; }

 private:
  std::filesystem::path store_;
  const agent::Environment& environment_;
  std::map<std::string, agent::Result<RecordedRun>> runs_;
};

// What has become of the agent file that a run was begun with; empty: it is as it was, there or,
// where the folder was moved, under the same name in the one that the run works in now.
std::string_view change_of_file(const agent::RunStarted& begun, const std::filesystem::path& cwd);
// The same for people.
std::optional<agent::Warning> warning_of_change(const agent::RunStarted& begun,
                                                const std::filesystem::path& cwd);

// A new run, of the beginning of that one: all until the turn, 0 for what comes before the first.
// cli.usage where the run has no such turn. Else as recall().
agent::Result<RecordedRun> fork(const std::filesystem::path& store,
                                const std::string& run_id,
                                std::int64_t turn,
                                const agent::Environment& environment);

// cli.usage where the run cannot be carried on: because of how it ended, because it has its answer
// and nothing new is said, or because it is older than what that takes.
agent::Result<void> check_resumable(const RecordedRun& run, bool has_message);

// Whether it goes on by a new message alone. So does one whose answer is recorded and could not be
// written to its reader.
bool needs_message(const RecordedRun& run);

// How a run has ended by itself, well or not, as who has begun it is to hear: only a new message,
// or another try, goes on with it. nullopt: there is something left to do of it.
std::optional<agent::RunResult> answer_of(const RecordedRun& run);

// cli.usage where nobody knows that the run is the user's: what was said and done in it is a
// stranger's word. `help` says what may be done.
agent::Result<void> check_is_own(const RecordedRun& run, std::string help);

// By what a process of a run worked: its agent file, model and parameters, as one sum.
std::string set_up_of(const agent::RunStarted& started);

// cli.usage where another process has carried the run on since it was read.
agent::Result<void> check_is_unchanged(const RecordedRun& run);

// Whether the journal holds less than what was said: a secret was in it.
bool has_gaps(const RecordedRun& run);

// The recorded options that had a secret in them: they do not count.
std::vector<std::string> lost_options(const RecordedRun& run);

// The options that say what a run is, for MadeFrom; and those of a recorded run, where the command
// line does not say otherwise.
std::vector<std::string> lasting_options(const Parsed& parsed);
agent::Result<Parsed> recorded_options(const RecordedRun& run);
agent::Result<void> take_over_options(const RecordedRun& run, Parsed& parsed);

}  // namespace cli

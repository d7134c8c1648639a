// The pure part of a flow: what of it can begin, what its steps have brought, and how it ends.
// Nothing here runs anything: it is told what became of each member.
#pragma once
#include "agent/event.h"
#include "agent/flow/expression.h"
#include "agent/outcome.h"
#include "agent/spec.h"

#include <nlohmann/json.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent::flow {

// A step, or one of its items.
struct Member {
  std::size_t step = 0;
  std::optional<std::size_t> item = {};
  std::int64_t round = 1;

  auto operator<=>(const Member&) const = default;
};

// How a member ended; of a command, with its status and what it said on stderr.
struct MemberEnd {
  RunResult result;
  std::optional<int> exit_status = {};
  std::string errors = {};
  std::string taken_from = {};  // as MemberResult's
  // As MemberFinished's: the flow ends with it, whatever the step says. One that waits for a person
  // keeps its place, and what needs it does not begin; all else goes on.
  bool is_suspended = false;
  bool is_final = false;  // it would end the same way again: a flow of which nothing is left to do
};

// What an agent is to do, with all that it names filled in. A command is as it is written: a shell
// would read what stood in it.
struct Task {
  std::string prompt;  // empty: the agent's own
  std::vector<std::pair<std::string, std::string>> parameters;
};

class FlowState {
 public:
  static constexpr std::size_t k_most_items = 10'000;

  // `inputs`: what `prompt` and `parameters` stand for, an object. The steps are borrowed.
  FlowState(std::span<const StepSpec> steps, Json inputs);

  // Those that can begin now, each once. None where the flow has its ending.
  std::vector<Member> begin();
  // What one of these is to do. team.invalid where what it names is not there.
  Result<Task> task_of(const Member& member) const;
  void end(const Member& member, MemberEnd end);

  std::string name_of(const Member& member) const;  // "fix[2]"

  // Of a member that ended it; nullopt: it goes on.
  const std::optional<Ending>& ending() const { return ending_; }
  // Whether that member is final.
  bool ends_the_same_way() const { return ends_the_same_way_; }
  // Those that wait for a person, in the order of the steps. They may end() once more.
  std::vector<Member> waiting() const;
  // Of the first one of these: how it ends when
  // nothing of it runs any more and nothing has ended it before.
  std::optional<Ending> ending_of_waiting() const;
  // How it ends when none waits, either: that of the last agent that ran.
  Ending last_ending() const;

  // The answer, of the last step of an agent that ran; a list has that of each item.
  std::string text() const;
  std::string output() const;  // JSON text; empty: there is none
  // All members, in the order of the steps; of a step that is repeated, those of each round.
  std::vector<MemberResult> members() const;

 private:
  enum class Phase : std::uint8_t { waiting, running, done, skipped };

  struct Progress {
    Phase phase = Phase::waiting;
    std::int64_t round = 1;
    std::vector<Json> items;  // of a list; else one, which is null
    std::size_t begun = 0;    // of them
    std::size_t running = 0;
    std::size_t ended = 0;
    std::vector<std::optional<MemberEnd>> ends;
    std::int64_t round_of_ends = 1;     // the last one that was begun
    std::vector<MemberResult> earlier;  // of the rounds before that
    Json output;                        // what the step's name stands for; null: nothing yet
  };

  bool is_ready(std::size_t step) const;
  Result<void> open(std::size_t step);
  void close(std::size_t step);
  bool has_failed(const Progress& progress) const;
  bool repeats(std::size_t step);
  void begin_round(std::size_t step, std::int64_t round);
  Json output_of(std::size_t step, const MemberEnd& end) const;
  Ending ending_of(const Member& member, const MemberEnd& end) const;
  std::string done_again(std::size_t step) const;
  std::optional<std::size_t> answering_step() const;
  std::vector<MemberResult> members_of(std::size_t step) const;
  Lookup lookup(const Json* item) const;
  Result<std::string> rendered(std::string_view text, const Lookup& lookup) const;

  std::span<const StepSpec> steps_;
  Json inputs_;
  std::vector<Progress> progress_;                           // one a step
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of the steps, by their names
  std::optional<Ending> ending_;
  bool ends_the_same_way_ = false;
};

}  // namespace agent::flow

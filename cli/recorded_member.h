// A member of a run that an earlier process of it has begun: what has become of it since, by what
// the whole has heard and by its own record.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/state.h"
#include "cli/recorded_run.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cli {

// What the whole has heard of a member, and paid for, and its record does not have.
struct Lost {
  std::vector<agent::ModelUse> uses;
  std::int64_t turns = 0;
  std::int64_t tool_calls = 0;
  std::int64_t denials = 0;
};
void add_lost(agent::RunResult& bill, const Lost& lost);

class RecordedMember {
 public:
  // Reads its record in the journal of the whole, once.
  RecordedMember(agent::MemberRecord known,
                 const std::filesystem::path& journal,
                 const agent::Environment& environment);

  // As answer_of(); nullopt: no record, too.
  std::optional<agent::RunResult> answer() const;
  // How it has ended the last time; nullopt: it has not, or there is no record.
  std::optional<agent::RunResult> ending() const;
  // Whether a call of it waits for a person yet, and it has no members, of which others could go
  // on.
  bool waits_alone() const;
  bool has_waiting_calls() const { return own_ && agent::has_waiting_calls(own_->past.state); }
  const RecordedRun* record() const { return own_ ? &*own_ : nullptr; }  // null: there is none
  // Before it goes on: afterwards its record has more, and what was lost could not be told.
  Lost lost() const;

  // Of one that has ended and is not run again: what is heard, with all that it has used until now,
  // where it was given more to do by itself. nullopt: what is heard of it is all.
  std::optional<agent::MemberFinished> heard_anew() const;
  // Of one that does not go on now: `why`, with its bill until now. nullopt: nothing is known of
  // it. `before`: what was lost before it was tried, where it was; else as of now.
  std::optional<agent::RunResult> left_off(const agent::Ending& why,
                                           const std::optional<Lost>& before = std::nullopt) const;

 private:
  // With what its members have used that it has not heard of: reads their records.
  agent::RunResult recorded_bill() const;
  // The same with what was lost.
  agent::RunResult whole_bill(const std::optional<Lost>& before) const;
  Lost lost_of(const agent::RunResult& recorded) const;

  agent::MemberRecord known_;
  const agent::Environment& environment_;
  agent::Result<RecordedRun> own_;
};

// Its bill is that one's.
void take_bill(agent::RunResult& result, const agent::RunResult& bill);

// Of the sub-agents of an agent that is carried on.
struct SubAgentsSince {
  // Those that were at work when the last process ended, with what they had spent, those that had
  // been stopped or waited, and those that had ended and have spent more by themselves since.
  // Where the person says something new now, nobody goes on with any of them; else not before
  // their turn comes.
  std::vector<agent::MemberFinished> left_off;
  // Calls that waited for somebody, and whose sub-agents have their answers: a new message does not
  // leave these out. The answer of one who has taken over would be the run's, in place of the
  // message.
  std::set<std::string> answered;
};
SubAgentsSince sub_agents_since(const RecordedRun& run,
                                bool has_news,
                                const agent::Environment& environment);

}  // namespace cli

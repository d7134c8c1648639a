// A run's state as the fold of its events, and what follows from it. Nothing here waits, calls or
// prints: a run can be carried on from its log alone.
#pragma once
#include "agent/approvals.h"
#include "agent/context_view.h"
#include "agent/event.h"
#include "agent/message.h"
#include "agent/outcome.h"
#include "agent/schema/json_schema.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agent {

// A member, as its last events tell of it.
struct MemberRecord {
  std::string run_id;                      // empty: it is a command
  std::optional<MemberFinished> finished;  // nullopt: the log does not say how it ended
};
// By step, item (-1: none) and round.
using MemberKey = std::tuple<std::string, std::int64_t, std::int64_t>;

// A sub-agent, the same. Its name and number stay whichever process carries it on.
struct SubAgentRecord {
  std::string member;
  std::int64_t number = 0;  // of its call in the run
  MemberRecord record = {};
};
// By the turn and the id of the call, which may be that of a call of another turn, too.
using SubAgentKey = std::pair<std::int64_t, std::string>;

struct State {
  RunPlan plan;
  std::shared_ptr<const JsonSchema> output;  // the plan's, compiled; null: any text is an answer
  Conversation conversation;                 // the whole of it
  ContextView view;                          // what of it the model sees
  Conversation shown;                        // the same, where that is not the whole
  std::vector<std::size_t> results_at;       // where in the conversation the results of calls are
  Usage usage;
  std::optional<Money> cost = Money{};  // nullopt: unknown, in whole or in part
  std::optional<std::size_t> prompt;    // of the messages: what the last run.started said
  std::string first_model;              // that each request asks first
  std::string model;                    // that is being asked, or will be asked next
  std::vector<ModelUse> models;         // in the order in which they first cost something
  std::int64_t turns = 0;               // model responses
  std::int64_t tool_calls = 0;          // calls that were tried
  std::int64_t calls_made = 0;          // by the model, in all replies
  std::int64_t denials = 0;

  SharedReply last_reply;
  std::span<const ToolCall> open_calls;              // of it, results outstanding
  std::map<std::string, std::string> started_calls;  // of open_calls: the tool's name, by call id
  std::map<std::string, ToolResult> results;         // the same
  std::size_t settled_calls = 0;            // of open_calls: have a result, as all before them
  std::optional<UserMessage> next_message;  // the user's, that comes behind open_calls' results
  std::optional<ToolResult> ending_result;  // a fatal tool's, task_failed's, or of a hand-over
  std::string handed_over;                  // the call by which the conversation went to another
                                            // agent, whose ending is the run's; empty: it did not

  // Text of the last reply, continuations joined, or the reason of task_failed; null: there is
  // none.
  std::shared_ptr<const std::string> answer;
  std::string streaming;    // text of the reply that is coming in
  bool has_broken = false;  // `streaming` is of an attempt that broke off: there is no later one
  bool reply_is_unjudged = false;
  bool answer_goes_on = false;                   // the next text continues the answer
  StopReason stop_reason = StopReason::unknown;  // of the last reply
  // Replies that brought neither calls nor a whole answer, since the last one that did.
  struct Unfinished {
    int cut = 0;
    int empty = 0;
    int malformed = 0;
    int paused = 0;

    bool operator==(const Unfinished&) const = default;
  };
  Unfinished unfinished;

  int repairs = 0;           // answers sent back since the prompt, as they did not fit the schema
  bool asks_repair = false;  // the next reply has to be the answer that fits
  bool is_repair = false;    // the last reply had to be
  std::vector<CheckRan> checks;         // of the last answer, in the order of the plan
  std::vector<CheckRan> failed_before;  // of the answer before it, that failed
  int failed_rounds = 0;                // answers sent back since the prompt, as checks failed
  std::optional<Code> wrap_up;          // the limit of which only the kept share is left
  bool is_wrapped_up = false;           // the model has had its last turn
  bool goes_on_after_wrap_up = false;   // it was told that it had, and has more now

  Usage last_usage;
  std::int64_t new_bytes = 0;    // said to the model since last_usage was measured
  std::int64_t fixed_bytes = 0;  // of each request: instructions and tools

  std::map<std::string, std::int64_t> least_refused;  // tokens that were too many, by model
  int overflows = 0;         // since the last reply: requests that were too large
  int failed_summaries = 0;  // in a row, or too long to be of use

  // How often a call gave the same result since the last progress: a result never seen before.
  struct Repeat {
    std::int64_t progress = 0;
    int count = 0;
  };
  std::unordered_map<std::size_t, Repeat> repeats;  // by the hash of call and result
  std::int64_t progress = 0;
  std::int64_t most_repeats = 0;
  std::string most_repeated;  // the tool's name

  std::string answered_by;                   // the model that gave the last reply
  std::vector<Fallback> fallbacks;           // one entry for equal ones
  std::vector<std::string> missing_servers;  // that the last process goes without

  std::vector<AddedTool> added_tools;              // behind those of the last run.started
  std::set<std::string, std::less<>> added_names;  // of them: each is there once

  std::string cwd;
  std::map<std::string, SeenFile> seen_files;       // by path, as each was seen last
  std::set<std::string> changed_files;              // of them: that tools have written
  std::map<std::string, std::string> kept_results;  // what ContextPlan::kept_tools said last
  std::set<std::string> warned_limits;
  bool has_estimates = false;                    // of the tokens of a reply; it was said
  std::map<std::string, int, std::less<>> said;  // by UserSaid::reason: how often
  Approvals approvals;
  std::optional<RunResult> finished;
  std::map<MemberKey, MemberRecord> members;  // of a flow
  std::map<SubAgentKey, SubAgentRecord> sub_agents;
  std::vector<std::string> ancestors;  // ids of the runs whose beginning this is, the oldest first
};

void advance(State& state, const EventBody& event);

// The answer was cut, and what it lacks has not come.
bool lacks_its_rest(const State& state);

// What a log holds of a run.
struct Past {
  State state;
  std::int64_t seq = 0;  // of its last event; 0: there is none
};

// What the next request has of the conversation.
inline const Conversation& seen_by_model(const State& state) {
  return state.view.is_whole() ? state.conversation : state.shown;
}

// Tokens of the next request, from what the last one measured.
std::int64_t estimated_input(const State& state);
// The same number, if the model saw no more than `view`.
std::int64_t estimated_input(const State& state, const ContextView& view);

// What the view is after the event; that of the state where the event says nothing to go by.
ContextView view_after(const State& state, const ContextCompacted& event);

// What frees less than a fifth has failed.
bool frees_enough(const ContextCompacted& event);

// Of the sub-agent that a call of the last reply has begun; null: there is none.
const SubAgentRecord* sub_agent_of_call(const State& state, std::string_view call_id);
const MemberRecord* member_of_call(const State& state, std::string_view call_id);

// Of the agent that the conversation was handed over to, where that has ended; null: it was not, or
// nobody knows how it went.
const MemberFinished* ended_after_handoff(const State& state);

// The same, where that is how the run ended, whose exit code this is: the conversation goes on
// there. Null also where something else came first, a signal or the end of the time: the ending of
// the other is still to be judged.
const MemberFinished* goes_on_with_other(const State& state, int exit_code);

// The number of an open call among all of the run, from 1: the same in each process. 0: there is no
// such call.
std::int64_t number_of_call(const State& state, std::string_view call_id);

// Whether a run that ends so goes on from there: as is_resumable() says, and where another process
// has a member of it, or the record of one could not be written.
bool can_be_carried_on(const State& state, int exit_code);
// Whether calls that have waited for a person have not run yet.
bool has_waiting_calls(const State& state);

// The result object of `state` under `ending`; exit code, partial text and Stop included.
RunResult make_result(const State& state, const Ending& ending);

}  // namespace agent

// The one loop: decides the next step from the state, performs it, records what happened. It
// prints nothing and knows no provider, no tool, no terminal.
#pragma once
#include "agent/cancellation.h"
#include "agent/checker.h"
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/interceptor.h"
#include "agent/provider.h"
#include "agent/resume_command.h"
#include "agent/state.h"
#include "agent/toolbox.h"
#include "agent/work_time.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

// The world of a run. All borrowed; they outlive it.
struct Ports {
  Provider& provider;
  Toolbox& toolbox;
  std::span<EventSink* const> sinks;  // the first one is what the run is for: stdout
  Journal* journal = nullptr;         // null: nothing is kept
  Clock& clock;
  Approver* approver = nullptr;        // null: there is nobody to ask
  Interceptor* interceptor = nullptr;  // null: no hooks, no guardrails
  Checker* checker = nullptr;          // null: the plan has no checks
  Provider* summarizer = nullptr;      // null: the model itself sums up
  // The files that stay with the model word for word, as they are now; may be empty.
  std::function<std::vector<PinnedFile>()> pinned = nullptr;
  // What is to be said before the end of a run that came to its answer; may be empty.
  std::function<std::vector<Warning>()> last_words = nullptr;
  // Of a text, what nobody but this user's errand can make of it; null: what people answer counts
  // for this process alone.
  std::function<std::string(std::string_view text)> seal = nullptr;
  // Whether the journal will have such a text, a call's id or its arguments, as it is, without a
  // secret taken out; null: yes.
  std::function<bool(std::string_view text)> keeps_whole = nullptr;
  // What the runs leave that this one works for, beside its own limits; null: there are none.
  const Budget* above = nullptr;
};

// An answer to a parked call that was given before the run is carried on: once or no.
struct GivenAnswer {
  Answer answer = Answer::no;
  std::string reason;  // of a no, for the model; may be empty
};

struct RunRequest {
  std::string run_id;
  std::string parent = {};             // Event's
  RunStarted started;                  // prompt, instructions and plan are taken from here
  std::vector<Warning> warnings = {};  // what came up before the start; told right after it
  Past past = {};                      // of a run that is carried on: `started.resumes` names it
  ResumeCommand resume = {};           // carries this one on
  std::map<std::string, GivenAnswer> answers = {};  // to parked calls of `past`, by call id
  std::optional<TimeAbove> time_above = {};         // nullopt: it has its own alone
  // Sub-agents that were at work when the last process ended: what they had come to.
  std::vector<MemberFinished> left_off = {};
  // Calls whose sub-agents have ended by themselves since: they are what these said.
  std::set<std::string> answered = {};
};

// Runs to one of the endings and returns its result object; never throws for a failure of the
// run. The first event that the sinks see is run.started, the last one run.finished with that
// result; where the first sink cannot take that in, the others hear of the ending that this makes.
RunResult run(const RunRequest& request, const Ports& ports, Cancellation& cancellation);

}  // namespace agent

// The command line that carries a run on from the ending that it came to.
#pragma once
#include "agent/outcome.h"
#include "agent/spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace agent {

struct ResumeCommand {
  std::string words = {};                 // "errand resume ID"; empty: nobody keeps the run
  std::string agent_file = {};            // empty: there is none, or `words` name it
  std::vector<std::string> options = {};  // that have to be said again: "--max-turns=10"
  bool is_by_record = false;              // the agent file counts as it was recorded
  std::string changed_file = {};          // as it is now, where that is another one
};

// "errand resume ID"; `store` is the file that the run is in, or `auto` for the user's journal.
std::string resume_words(std::string_view run_id, std::string_view store);

// Where only a new message carries a run on, this stands for it at the end of the command.
constexpr std::string_view k_place_of_message = " \"and now …\"";

// At a limit that an option raises, with twice of it; at another one, by the agent file as it is
// then, and so where the provider failed and the file has changed. Empty where nobody keeps the
// run. Of a stop that is another run's, what lets that one go on; where nothing is known to, the
// agent file, which may name that one's.
std::string resume_command(const ResumeCommand& resume,
                           const RunResult& result,
                           const Limits& limits);

// For those that the run is a member of: that the stop is its own, and what lets it go on, where an
// option or an answer does. `resume_cmd` is known.
void tell_whose_stop(RunResult& result, const Limits& limits);

// The help of a run that its member has stopped: what carries on that one, and then this one.
void tell_of_member(RunResult& result, const ResumeCommand& resume);

// The help of a failed run that went on by the recorded agent file: what is corrected in the file
// does not count by itself.
void tell_of_record(RunResult& result, const ResumeCommand& resume);

// Of a result that has become another one: without what stands for a message, where it needs none.
void settle_message(RunResult& result);

}  // namespace agent

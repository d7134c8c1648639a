// What people were asked about the calls of the last reply, and what they have said: a fold of the
// log, so that whoever carries the run on asks for nothing twice.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

// What decides what a call does, beside the call: a yes is given in it.
struct ApprovalSetting {
  std::string cwd;
  std::string agent;    // digest of the agent file and the folder that its paths start in
  std::string sandbox;  // digest of what is enforced

  bool operator==(const ApprovalSetting&) const = default;
};
ApprovalSetting setting_of(const RunStarted& started);

// What is another one now: "the agent file"; empty: nothing.
std::string_view changed(const ApprovalSetting& before, const ApprovalSetting& now);

struct Approvals {
  // What was said to a call that has not run yet.
  struct Said {
    Answer answer = Answer::nobody;
    std::string by;
    std::string reason;  // of a no
    std::string seal;    // empty: nothing shows later that it was said
    ApprovalSetting setting;
  };
  // A yes to all calls that a rule names, for the run.
  struct Grant {
    std::string rule;
    std::string tool_sha256;  // as of ApprovalRequest
    std::string seal = {};
    ApprovalSetting setting = {};  // in which it was said
  };

  ApprovalSetting setting;                                    // of the last process
  ApprovalSetting parked_in;                                  // that of the parked calls
  std::vector<ParkedCall> parked;                             // by the last run.parked
  std::map<std::string, std::size_t, std::less<>> positions;  // of parked, by call id
  std::set<std::string> settled;                              // ids of those that wait no more
  std::set<std::string, std::less<>> has_waited;  // ids of all that ever did, in the run
  std::map<std::string, Said> said;               // by call id
  std::map<std::string, Grant> asked;  // what a yes to all like it would grant, by call id
  std::vector<Grant> grants;           // of the whole run

  // Those that still wait, in the order of the calls.
  std::vector<const ParkedCall*> pending() const;
  bool are_pending() const { return settled.size() < positions.size(); }
  const ParkedCall* find(std::string_view call_id) const;  // null: it was not parked
};

void advance(Approvals& approvals, const EventBody& event);

// Of the changes that a person is shown: a yes is to these lines, whatever stands around them.
std::string changed_lines(std::string_view difference);

// What the user's errand seals when a yes is recorded: the whole of what it is a yes to. A later
// request has it where nothing of the call, nor of what it needs approval for, has changed.
std::string sealed_yes(std::string_view run_id,
                       const ApprovalSetting& setting,
                       const ApprovalRequest& request);
// The same of a yes to all calls like it, and of a no: whatever the call becomes, it does not run.
std::string sealed_grant(std::string_view run_id,
                         const ApprovalSetting& setting,
                         std::string_view rule,
                         std::string_view tool_sha256);
std::string sealed_no(std::string_view run_id, std::int64_t turn, std::string_view call_id);

// Whether it has waited for as long as it may. One that does not say since when has.
bool is_overdue(const ParkedCall& call, Milliseconds allowed, Clock::Wall now);

// Not where a secret was taken out of it: then the model has to make it again.
bool can_be_approved(const ParkedCall& call);

// Of these: what no list of calls shows.
constexpr std::string_view k_said_by_server = "what its server says of the tool";

// What keeps a yes to the call as it was parked from being one to `request`, in the words of
// changed(); empty: it is one.
std::string_view changed_since_shown(const Approvals& approvals, const ApprovalRequest& request);

}  // namespace agent

// Where the answer to a request comes from: the log, the command line, or whoever is there. What
// nobody answers is parked.
#pragma once
#include "agent/loop.h"
#include "agent/outcome.h"
#include "agent/recorder.h"
#include "agent/work_time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace agent {

class ApprovalDesk {
 public:
  // All borrowed. `notify` is told before a person is asked; while they think, `time` stands still.
  ApprovalDesk(const RunRequest& request,
               const Ports& ports,
               Recorder& recorder,
               std::function<void(std::string_view text)> notify,
               WorkTime& time)
      : request_(request),
        ports_(ports),
        recorder_(recorder),
        notify_(std::move(notify)),
        time_(time),
        turn_(recorder.state().turns) {}

  // Why a call does not run whatever rules say: somebody has denied it before.
  std::optional<std::string> denial(const std::string& call_id);

  // Waits for a person, where there is one.
  Answer ask(const ApprovalRequest& request, const std::stop_token& stop);

  // Records that calls wait for the next process, and returns the ending that this is.
  Ending park(std::span<const ApprovalRequest> requests,
              std::span<const WaitingCall> others,
              const Error& why);

  // At the end of the run: of the answers of the command line that nobody came to, a no is kept.
  // That a yes is not, is said.
  void settle_unused_answers();

  // Where a parked call has waited too long: what the run ends with. Its calls have results then.
  std::optional<Ending> overdue();

 private:
  const GivenAnswer* given(const std::string& call_id) const;
  const Approvals::Said* recorded(const std::string& call_id, const std::string& sealed) const;
  bool is_approved(const ApprovalRequest& request);
  void tell_of_lost_yes(const ApprovalRequest& request);
  void warn_of(std::string_view approval,
               const std::string& call_id,
               std::string_view why,
               std::string_view help);
  void record(ApprovalAnswered answered, const std::string& sealed);
  std::string sealed(const ApprovalRequest& request, Answer answer) const;
  std::string seal(const std::string& sealed) const;
  ParkedCall parked_call(const ApprovalRequest& request) const;

  const RunRequest& request_;
  const Ports& ports_;
  Recorder& recorder_;
  std::function<void(std::string_view text)> notify_;
  WorkTime& time_;
  std::set<std::string> looked_at_;  // calls whose given yes has counted, or was said not to
  std::int64_t turn_;                // that the given answers are about
};

// What carries a parked run on, with a yes to each of its calls that can have one.
std::string approving_command(std::string command,
                              std::string_view run_id,
                              const Approvals& approvals);

}  // namespace agent

// Who says yes to a call that needs it: a person at a terminal, or --yes.
#pragma once
#include "agent/environment.h"
#include "agent/toolbox.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cli {

class Progress;

struct ApproverOptions {
  bool says_yes = false;    // --yes: nobody is asked
  bool is_attended = true;  // where a person is there, they may be asked
  bool color = false;
  std::filesystem::path user_config;  // where `always` is written; empty: nowhere
  // The rule for every run of one that was offered here.
  std::function<std::string(const std::string& rule)> lasting = {};
  Progress* progress = nullptr;  // of who is asked, borrowed; null: nothing is shown of the run
  std::string who = {};          // asks; empty: the run itself
};

// Null where there is nobody to ask: stdin or stderr is no terminal, or it belongs to another job.
// The person is shown every byte of a call, secrets included.
std::unique_ptr<agent::Approver> open_approver(ApproverOptions options);

}  // namespace cli

// A model that judges the answer of a test case: a run of errand of its own, so that what it costs
// and how it ended is told as of every run. A judge that breaks says nothing of the agent.
#pragma once
#include "agent/money.h"
#include "cli/test_world.h"
#include "config/test_expectations.h"
#include "tools/process/program_runner.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cli {

struct Judgement {
  enum class Verdict : std::uint8_t { holds, does_not_hold, none };
  Verdict verdict = Verdict::none;
  std::string says;                      // what was to be judged
  std::string model;                     // who was asked
  std::string reason;                    // the judge's own; none: why there is no verdict
  std::optional<agent::Money> cost_usd;  // of all its votes; unknown: none
  bool is_stopped = false;               // none: the call was stopped, it was not the judge
};

// What it is asked about.
struct Judged {
  std::string_view prompt;
  std::string_view answer;
};

// Asks until all votes are in, or one that is no use. `number` tells the questions of one call
// apart; paths start at `folder`. Thread-safe.
Judgement ask_judge(const config::JudgeExpectation& judge,
                    const Judged& judged,
                    const std::filesystem::path& folder,
                    const std::string& number,
                    const TestWorld& world);

// One vote, as the run's result (json) on its stdout tells it.
Judgement vote_of(const tools::ProgramResult& process);

// Of one vote at least: theirs where they agree, else none. The cost of all.
Judgement verdict_of(std::span<const Judgement> votes);

// What the model reads: the sentence, the task, and the answer, fenced off as data.
std::string judge_prompt(std::string_view says, const Judged& judged);

}  // namespace cli

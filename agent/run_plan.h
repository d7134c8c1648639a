// What decides the steps of a run beside what happens in it. It is in the run's first event, so
// that the log alone says what comes next.
#pragma once
#include "agent/price.h"
#include "agent/spec.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agent {

// When the conversation is made shorter, and what of it stays. Shares are in percent of the
// model's window.
struct ContextPlan {
  std::map<std::string, std::int64_t> windows;  // tokens, by model; empty: nothing is made shorter
  std::int64_t clear_at = 60;                   // old tool results go; 0: never
  std::int64_t keep_results = 5;                // the newest, that stay
  std::int64_t summarize_at = 85;               // old turns become a summary; 0: never
  std::int64_t keep_recent = 20'000;            // tokens of the newest turns, that stay
  Milliseconds summarize_timeout{120'000};
  std::string summarizer;                          // who is asked; empty: the agent's own model
  std::map<std::string, Price> summarizer_prices;  // as RunPlan::prices
  std::string reader;                              // the tool that shows a cleared result again
  std::set<std::string> kept_tools;                // see ToolInfo::is_kept
  std::set<std::string> writing_tools;             // see ToolInfo::writes

  static void fields(auto& self, auto& field) {
    field("windows", self.windows);
    field("clear_at", self.clear_at);
    field("keep_results", self.keep_results);
    field("summarize_at", self.summarize_at);
    field("keep_recent", self.keep_recent);
    field("summarize_timeout_ms", self.summarize_timeout);
    field("summarizer", self.summarizer);
    field("summarizer_prices", self.summarizer_prices);
    field("reader", self.reader);
    field("kept_tools", self.kept_tools);
    field("writing_tools", self.writing_tools);
  }
};

// As CheckSpec, as far as the loop has to know it.
struct PlannedCheck {
  std::string name;
  std::string run;

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("run", self.run);
  }
};

struct RunPlan {
  Limits limits;
  std::set<std::string> repeatable_tools;
  std::map<std::string, Price> prices;  // by model, for estimates; unknown ones are left out
  std::int64_t tool_bytes = 0;  // of the tools' names, descriptions and schemas, for estimates
  std::string tool_choice;      // as ModelSpec::tool_choice
  std::string output_schema;    // as OutputSpec::schema
  int repair_attempts = 0;      // as OutputSpec's
  std::vector<PlannedCheck> checks;
  int check_attempts = 1;                  // as ChecksSpec::attempts
  std::vector<std::string> check_protect;  // as ChecksSpec::protect
  // The files that checks go by, as they were when the run began: SHA-256 by path; `-> TARGET` of a
  // link; empty: there was none.
  std::map<std::string, std::string> checked_files;
  ContextPlan context;
  std::optional<Milliseconds> approval_deadline;  // how long a call may wait for a yes
  bool is_flow = false;                           // its members are what it is made of

  static void fields(auto& self, auto& field) {
    field("limits", self.limits);
    field("repeatable_tools", self.repeatable_tools);
    field("prices", self.prices);
    field("tool_bytes", self.tool_bytes);
    field("tool_choice", self.tool_choice);
    field("output_schema", self.output_schema);
    field("repair_attempts", self.repair_attempts);
    field("checks", self.checks);
    field("check_attempts", self.check_attempts);
    field("check_protect", self.check_protect);
    field("checked_files", self.checked_files);
    field("context", self.context);
    field("approval_deadline_ms", self.approval_deadline);
    field("flow", self.is_flow);
  }
};

}  // namespace agent

// `errand runs pending`: the calls that wait for somebody's yes.
#include "agent/approval_desk.h"
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/agents_above.h"
#include "cli/commands/commands.h"
#include "cli/flow_claims.h"
#include "cli/recorded_run.h"
#include "cli/run_choice.h"
#include "cli/terminal/call_sheet.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/run_account.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::ParkedCall;
using agent::store::WaitingRun;

constexpr std::size_t k_narrow = 80;

// Of a time in the log; as it is where it is none.
std::string shown_time(const std::string& time) {
  const auto parsed = agent::parse_time(time);
  return parsed ? local_time(*parsed) : agent::one_line(time, 60);
}

// A run whose calls wait; of one of which none waits any more, what carries it on.
struct PendingRun {
  WaitingRun run;
  std::string resume_cmd;
  std::string whole;             // of which it is a part, where that goes on with it; else empty
  std::string whole_resume_cmd;  // what carries that one on, when nothing of it waits any more
  bool waits_for_whole = false;  // before that has ended, no answer is taken

  bool has_calls() const { return run.approvals.are_pending(); }
};

class PendingRuns {
 public:
  PendingRuns(const Parsed& parsed, const Context& context, const fs::path& journal)
      : parsed_(parsed), recorded_(journal, context.environment) {}

  // Nothing: nobody waits for its calls any more; or it has none, and its members wait or the whole
  // has it to carry on.
  std::optional<PendingRun> of(const WaitingRun& run, bool is_named) {
    const std::string& run_id = run.row.run_id;
    PendingRun pending{.run = run,
                       .resume_cmd = agent::approving_command(
                           resuming(parsed_, recorded_, run_id), run_id, run.approvals)};
    const auto& recorded = recorded_.of(run_id);
    if (!recorded) {
      return pending;
    }
    if (is_left(*recorded, recorded_)) {
      return is_named ? std::optional(std::move(pending)) : std::nullopt;
    }
    const RecordedRun* whole = whole_of(*recorded, recorded_);
    if (whole == nullptr) {
      const bool is_told =
          pending.has_calls() ||
          (goes_on(*recorded) && !waits_for_a_person(*recorded, recorded_.environment()));
      return is_told ? std::optional(std::move(pending)) : std::nullopt;
    }
    if (!pending.has_calls()) {
      return std::nullopt;
    }
    if (goes_on(*whole)) {
      pending.whole = whole->run_id;
      pending.whole_resume_cmd = resuming(parsed_, recorded_, whole->run_id);
      pending.waits_for_whole = are_commands_claimed(recorded_.store(), whole->run_id);
    }
    return pending;
  }

 private:
  // A stranger's flow is begun anew.
  static bool goes_on(const RecordedRun& whole) {
    return whole.is_own || !whole.begun.plan.is_flow;
  }

  const Parsed& parsed_;
  RecordedRuns recorded_;
};

class PendingText {
 public:
  explicit PendingText(const Context& context) : context_(context) {
    const std::size_t columns = Terminal::columns(STDOUT_FILENO);
    columns_ = columns == 0 ? k_narrow : columns;
  }

  void write(const PendingRun& pending) const {
    const WaitingRun& run = pending.run;
    const agent::store::RunRow& row = run.row;
    const std::string head =
        fmt::format("{}: {}{}",
                    row.run_id,
                    agent::one_line(row.agent, 60),
                    row.session.empty() ? "" : ", " + agent::one_line(row.session, 60));
    context_.out << paint("1", head, context_.color_out) << "\n"
                 << "in "
                 << agent::one_line(pending.has_calls() ? run.approvals.parked_in.cwd : row.cwd)
                 << "\n";
    for (const ParkedCall* call : run.approvals.pending()) {
      write(*call);
    }
    if (!pending.has_calls()) {
      context_.out << "nothing of it waits for approval any more\n";
    }
    context_.out << (pending.waits_for_whole ? "when the run that it is a part of has ended: " : "")
                 << agent::printable(pending.resume_cmd) << "\n";
    if (!pending.whole.empty()) {
      context_.out << fmt::format("when nothing of the run {} waits any more: {}\n",
                                  agent::one_line(pending.whole, 100),
                                  agent::printable(pending.whole_resume_cmd));
    }
  }

 private:
  void write(const ParkedCall& call) const {
    agent::ApprovalRequest request = call.request;
    request.call.arguments = context_.redactor.apply(request.call.arguments);
    CallSheet sheet(columns_);
    sheet.add_line(fmt::format(
        "{}: {} asks to be run: {}", request.call.id, request.call.name, request.reason));
    sheet.add_arguments(request.call);
    if (!request.rule.empty()) {
      sheet.add_line(fmt::format("  rule: {}", context_.redactor.apply(request.rule)));
    }
    sheet.add_line(fmt::format(
        "  since {}{}",
        shown_time(call.since),
        call.deadline.empty() ? "" : fmt::format(", until {}", shown_time(call.deadline))));
    if (const auto deadline = agent::parse_time(call.deadline);
        deadline && *deadline <= std::chrono::system_clock::now()) {
      sheet.add_line("  that time is over: when the run is carried on, it ends with 97");
    }
    if (!agent::can_be_approved(call)) {
      sheet.add_line(
          "  a secret in its arguments is not in the journal: nobody can approve it here");
      sheet.add_line("  when the run is carried on, the model has to make it again");
    }
    sheet.explain_characters();
    context_.out << sheet.lines(0, sheet.size());
  }

  const Context& context_;
  std::size_t columns_;
};

agent::Json or_null(const std::string& text) {
  return text.empty() ? agent::Json() : agent::Json(text);
}

agent::Json json_of(const PendingRun& pending, const ParkedCall& call) {
  const WaitingRun& run = pending.run;
  const agent::store::RunRow& row = run.row;
  const agent::ToolCall& asked = call.request.call;
  const auto arguments = agent::parse_json(asked.arguments);
  return {{"run_id", row.run_id},
          {"agent", or_null(row.agent)},
          {"session", or_null(row.session)},
          {"call_id", asked.id},
          {"name", asked.name},
          {"arguments",
           arguments && arguments->is_object() ? *arguments : agent::Json(asked.arguments)},
          {"arguments_sha256", asked.arguments_sha256},
          {"cwd", run.approvals.parked_in.cwd},
          {"reason", call.request.reason},
          {"rule", or_null(call.request.rule)},
          {"since", call.since},
          {"deadline", or_null(call.deadline)},
          {"can_be_approved", agent::can_be_approved(call)},
          {"part_of", or_null(pending.whole)},
          {"whole_resume_cmd", or_null(pending.whole_resume_cmd)},
          {"waits_for_whole", pending.waits_for_whole}};
}

agent::Json json_of(const PendingRun& answered) {
  const agent::store::RunRow& row = answered.run.row;
  return {{"run_id", row.run_id},
          {"agent", or_null(row.agent)},
          {"session", or_null(row.session)},
          {"resume_cmd", answered.resume_cmd}};
}

void tell_of_nothing(const std::optional<std::string>& run_id,
                     const Parsed& parsed,
                     Context& context) {
  if (run_id) {
    context.err << fmt::format("nothing waits for approval in the run {}\n", *run_id);
  } else if (parsed.has("--all")) {
    context.err << "nothing waits for approval\n";
  } else {
    context.err << "nothing waits for approval in this folder; --all looks in all folders\n";
  }
}

}  // namespace

agent::Result<int> command_runs_pending(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  std::optional<std::string> run_id;
  if (parsed.has("--last") || !parsed.positionals.empty()) {
    TRY_ASSIGN(run_id, chosen_run(parsed, context, journal));
  }
  std::string folder;  // empty: all
  if (!run_id && !parsed.has("--all")) {
    TRY_ASSIGN(folder, folder_of(context));
  }
  auto runs = agent::store::waiting_runs(journal, run_id.value_or(""), folder);
  if (!runs && runs.error().code == agent::Code::storage_not_found && !parsed.has("--store")) {
    runs = std::vector<WaitingRun>();  // there was no run yet
  }
  if (!runs) {
    return agent::fail(std::move(runs).error());
  }
  std::vector<PendingRun> all;
  PendingRuns pending(parsed, context, journal);
  for (const WaitingRun& run : *runs) {
    if (auto one = pending.of(run, run.row.run_id == run_id)) {
      all.push_back(*std::move(one));
    }
  }
  // Of a whole a part of which is listed, something waits, be it for too long.
  std::set<std::string> waiting;
  std::ranges::transform(all, std::inserter(waiting, waiting.end()), &PendingRun::whole);
  std::erase_if(all, [&](const PendingRun& one) {
    return !one.has_calls() && waiting.contains(one.run.row.run_id);
  });
  if (parsed.value("--output") == "json") {
    agent::Json json = {{"schema", "errand.pending/1"}, {"store", journal.string()}};
    json["calls"] = agent::Json::array();
    json["answered"] = agent::Json::array();
    for (const PendingRun& run : all) {
      for (const ParkedCall* call : run.run.approvals.pending()) {
        json["calls"].push_back(json_of(run, *call));
      }
      if (!run.has_calls()) {
        json["answered"].push_back(json_of(run));
      }
    }
    context.out << context.redactor.dump(json) << "\n";
    return 0;
  }
  if (all.empty()) {
    tell_of_nothing(run_id, parsed, context);
  }
  context.has_styles = context.color_out;
  const PendingText text(context);
  for (const PendingRun& run : all) {
    context.out << (&run == &all.front() ? "" : "\n");
    text.write(run);
  }
  return 0;
}

}  // namespace cli

// `errand runs pending`: the calls that wait for somebody's yes.
#include "agent/approval_desk.h"
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/run_choice.h"
#include "cli/terminal/call_sheet.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/run_account.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
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

class PendingText {
 public:
  PendingText(const Parsed& parsed, const Context& context, const fs::path& journal)
      : parsed_(parsed), context_(context), journal_(journal) {
    const std::size_t columns = Terminal::columns(STDOUT_FILENO);
    columns_ = columns == 0 ? k_narrow : columns;
  }

  void write(const WaitingRun& run) const {
    const agent::store::RunRow& row = run.row;
    CallSheet head(columns_);
    head.add_line(fmt::format("{}: {}{}",
                              row.run_id,
                              agent::one_line(row.agent, 60),
                              row.session.empty() ? "" : ", " + agent::one_line(row.session, 60)));
    context_.out << paint("1", head.lines(0, head.size()), context_.color_out) << "in "
                 << agent::one_line(run.approvals.parked_in.cwd) << "\n";
    for (const ParkedCall* call : run.approvals.pending()) {
      write(*call);
    }
    context_.out << agent::printable(
                        agent::approving_command(resuming(parsed_, context_, journal_, row.run_id),
                                                 row.run_id,
                                                 run.approvals))
                 << "\n";
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

  const Parsed& parsed_;
  const Context& context_;
  const fs::path& journal_;
  std::size_t columns_;
};

agent::Json json_of(const WaitingRun& run, const ParkedCall& call) {
  const agent::store::RunRow& row = run.row;
  const agent::ToolCall& asked = call.request.call;
  const auto arguments = agent::parse_json(asked.arguments);
  const auto or_null = [](const std::string& text) {
    return text.empty() ? agent::Json() : agent::Json(text);
  };
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
          {"can_be_approved", agent::can_be_approved(call)}};
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
  if (parsed.value("--output") == "json") {
    agent::Json json = {{"schema", "errand.pending/1"}, {"store", journal.string()}};
    json["calls"] = agent::Json::array();
    for (const WaitingRun& run : *runs) {
      for (const ParkedCall* call : run.approvals.pending()) {
        json["calls"].push_back(json_of(run, *call));
      }
    }
    context.out << context.redactor.dump(json) << "\n";
    return 0;
  }
  if (runs->empty()) {
    tell_of_nothing(run_id, parsed, context);
  }
  context.has_styles = context.color_out;
  const PendingText text(parsed, context, journal);
  for (const WaitingRun& run : *runs) {
    context.out << (&run == &runs->front() ? "" : "\n");
    text.write(run);
  }
  return 0;
}

}  // namespace cli

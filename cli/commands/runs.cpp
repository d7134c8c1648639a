// `errand runs list` and `show`: what the journal holds.
#include "agent/store/runs.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/run_choice.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"
#include "cli/terminal/run_account.h"
#include "cli/terminal/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::store::RunInfo;
using agent::store::RunRow;
using agent::store::RunStatus;
using Wall = std::chrono::system_clock::time_point;

constexpr std::size_t k_default_limit = 50;
constexpr std::size_t k_default_columns = 80;

Wall wall(std::int64_t milliseconds) {
  return Wall{std::chrono::milliseconds(milliseconds)};
}

std::unexpected<agent::Error> not_taken(std::string message, std::string help) {
  return agent::fail(agent::Code::cli_usage, std::move(message), std::move(help));
}

// A time, a day, or how long ago that was.
agent::Result<std::optional<Wall>> since_of(const Parsed& parsed) {
  const auto text = parsed.value("--since");
  if (!text) {
    return std::nullopt;
  }
  if (const auto ago = agent::parse_duration(*text)) {
    return std::chrono::system_clock::now() - *ago;
  }
  if (const auto day = agent::parse_day(*text)) {
    return Wall(*day);
  }
  if (const auto time = agent::parse_time(*text)) {
    return time;
  }
  return not_taken(fmt::format("`{}` is not a time for --since", agent::one_line(*text, 60)),
                   "how long ago (2h, 7d), a day (2026-11-21), or a time (2026-11-21T09:30:00Z)");
}

agent::Result<std::size_t> limit_of(const Parsed& parsed) {
  const auto text = parsed.value("--limit");
  if (!text) {
    return k_default_limit;
  }
  const auto count = agent::parse_count(*text);
  if (*text == "all") {
    return 0;
  }
  if (!count || *count < 1) {
    return not_taken(fmt::format("`{}` is not a count for --limit", agent::one_line(*text, 60)),
                     "a whole number from 1, or `all`");
  }
  return static_cast<std::size_t>(*count);
}

agent::Result<agent::store::RunFilter> filter_of(const Parsed& parsed, const Context& context) {
  agent::store::RunFilter filter;
  if (!parsed.has("--all")) {
    TRY_ASSIGN(filter.folder, folder_of(context));
  }
  filter.agent = parsed.value("--agent").value_or("");
  filter.session = parsed.value("--name").value_or("");
  filter.batch = parsed.value("--batch").value_or("");
  if (const auto status = parsed.value("--status")) {
    filter.status = agent::store::run_status(*status);
  }
  TRY_ASSIGN(filter.since, since_of(parsed));
  TRY_ASSIGN(filter.limit, limit_of(parsed));
  return filter;
}

agent::Json json_of(const agent::store::Owner& owner) {
  return {{"pid", owner.pid}, {"host", owner.host}, {"since", agent::format_time(owner.since)}};
}

agent::Json json_of(const RunInfo& run) {
  const RunRow& row = run.row;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? agent::Json() : agent::Json(text);
  };
  return {{"run_id", row.run_id},
          {"status", to_string(run.status)},
          {"exit_code", row.exit_code ? agent::Json(*row.exit_code) : agent::Json()},
          {"exit_name",
           row.exit_code ? agent::Json(agent::exit_row(*row.exit_code).name) : agent::Json()},
          {"agent", or_null(row.agent)},
          {"model", or_null(row.model)},
          {"session", or_null(row.session)},
          {"cwd", or_null(row.cwd)},
          {"prompt", row.prompt},
          {"started", agent::format_time(wall(row.started))},
          {"begun", agent::format_time(wall(row.begun))},
          {"updated", agent::format_time(wall(row.updated))},
          {"finished",
           row.finished ? agent::Json(agent::format_time(wall(*row.finished))) : agent::Json()},
          {"turns", row.turns},
          {"cost_usd", agent::to_json(row.cost)},
          {"owner", run.owner ? json_of(*run.owner) : agent::Json()}};
}

// ---- list ----

std::string ago(Wall time, Wall now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now - time).count();
  struct Unit {
    std::int64_t seconds;
    char name;
  };
  constexpr auto k_units = std::to_array<Unit>({{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}});
  if (seconds >= 7 * k_units.front().seconds || seconds < 0) {
    return local_time(time).substr(0, std::string_view("2026-11-23").size());
  }
  for (const Unit& unit : k_units) {
    if (seconds >= unit.seconds) {
      return fmt::format("{}{} ago", seconds / unit.seconds, unit.name);
    }
  }
  return "now";
}

// How a list calls the end: the exit code's name, and of what has none the status.
std::string ending_name(const RunInfo& run) {
  if (run.status == RunStatus::parked) {
    return "parked";
  }
  return std::string(run.row.exit_code ? agent::exit_row(*run.row.exit_code).name
                                       : to_string(run.status));
}

// What no other id begins with, of those that are shown; the time in it is long enough for most.
std::size_t short_id_length(const std::vector<RunInfo>& runs) {
  std::set<std::string_view> ids;
  std::size_t longest = 0;
  for (const RunInfo& run : runs) {
    ids.insert(run.row.run_id);
    longest = std::max(longest, run.row.run_id.size());
  }
  std::size_t length = std::string_view("01a206b7-b5f3").size();
  const auto is_ambiguous = [&] {
    return std::adjacent_find(ids.begin(), ids.end(), [&](auto a, auto b) {
             return a.substr(0, length) == b.substr(0, length);
           }) != ids.end();
  };
  while (length < longest && is_ambiguous()) {
    ++length;
  }
  return length;
}

// Cut to the column, and filled up.
std::string in_column(std::string_view text, std::size_t width, bool is_number = false) {
  const std::string cut = cut_to_columns(agent::one_line(text, 400), width);
  const std::string fill(width - std::min(width, columns_of(cut)), ' ');
  return is_number ? fill + cut : cut + fill;
}

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string_view style_of(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "32";
    case RunStatus::running:
      return "36";
    case RunStatus::stopped:
    case RunStatus::cancelled:
    case RunStatus::interrupted:
    case RunStatus::parked:
      return "33";
    case RunStatus::failed:
    case RunStatus::error:
      return "31";
  }
  return "";
}

class RunTable {
 public:
  RunTable(const std::vector<RunInfo>& runs, bool color) : runs_(runs), color_(color) {
    const std::size_t terminal = Terminal::columns(STDOUT_FILENO);
    is_terminal_ = terminal != 0;
    columns_ = is_terminal_ ? terminal : k_default_columns;
    id_ = short_id_length(runs);
    for (const RunInfo& run : runs) {
      when_ = std::max(when_, ago(wall(run.row.begun), now_).size());
      agent_ = std::max(agent_, std::min<std::size_t>(14, columns_of(agent_of(run))));
      end_ = std::max(end_, ending_name(run).size());
      cost_ = std::max(cost_, cost_of(run).size());
    }
  }

  void write(std::ostream& out) const {
    out << line("RUN", "WHEN", "AGENT", "ENDING", "TURNS", "COST", "PROMPT", "");
    for (const RunInfo& run : runs_) {
      const std::string prompt = run.row.session.empty()
                                     ? run.row.prompt
                                     : fmt::format("[{}] {}", run.row.session, run.row.prompt);
      out << line(run.row.run_id.substr(0, id_),
                  ago(wall(run.row.begun), now_),
                  agent_of(run),
                  ending_name(run),
                  std::to_string(run.row.turns),
                  cost_of(run),
                  prompt,
                  style_of(run.status));
    }
  }

 private:
  static std::string agent_of(const RunInfo& run) { return agent::one_line(run.row.agent, 60); }
  static std::string cost_of(const RunInfo& run) {
    return run.row.cost ? agent::format_money(run.row.cost) : "-";
  }

  std::string line(std::string_view id,
                   std::string_view when,
                   std::string_view agent,
                   std::string_view end,
                   std::string_view turns,
                   std::string_view cost,
                   std::string_view prompt,
                   std::string_view style) const {
    const std::string head = fmt::format(
        "{}  {}  {}  ", in_column(id, id_), in_column(when, when_), in_column(agent, agent_));
    const std::string tail =
        fmt::format("  {}  {}  ", in_column(turns, k_turns, true), in_column(cost, cost_, true));
    const std::size_t used = columns_of(head) + end_ + columns_of(tail);
    const std::size_t room = std::max<std::size_t>(10, columns_ - std::min(columns_, used));
    std::size_t left = is_terminal_ ? columns_ : used + room;
    const auto take = [&left](std::string_view text) {
      std::string cut = left == 0 ? std::string() : cut_to_columns(text, left);
      left -= std::min(left, columns_of(cut));
      return cut;
    };
    std::string line = take(head);
    line += paint(style, take(in_column(end, end_)), color_);
    line += take(tail);
    line += take(cut_to_columns(agent::one_line(prompt, 400), room));
    return without_end_blanks(line) + "\n";
  }

  static constexpr std::size_t k_turns = 5;

  const std::vector<RunInfo>& runs_;
  bool color_;
  bool is_terminal_;
  std::size_t columns_;
  const Wall now_ = std::chrono::system_clock::now();
  std::size_t id_;
  std::size_t when_ = 4;
  std::size_t agent_ = 5;
  std::size_t end_ = 6;
  std::size_t cost_ = 4;
};

void write_list(const std::vector<RunInfo>& runs, const Parsed& parsed, Context& context) {
  if (!runs.empty()) {
    context.has_styles = context.color_out;
    RunTable(runs, context.color_out).write(context.out);
  } else if (parsed.has("--all")) {
    context.err << "no such run is kept\n";
  } else {
    context.err << "no such run has begun in this folder; --all lists those of all folders\n";
  }
}

// ---- show ----

agent::Result<std::optional<std::int64_t>> turn_of(const Parsed& parsed) {
  const auto text = parsed.value("--turn");
  return text ? agent::parse_count(*text) : std::nullopt;
}

// What the log does not say: that it goes on, or should have.
std::string state_line(const RunInfo& run,
                       const Parsed& parsed,
                       const Context& context,
                       const std::filesystem::path& journal) {
  if (run.status == RunStatus::running) {
    return run.owner ? fmt::format("running: process {} on {} has it, since {}\n",
                                   run.owner->pid,
                                   agent::one_line(run.owner->host, 100),
                                   agent::format_time(run.owner->since))
                     : "running\n";
  }
  if (run.status == RunStatus::interrupted) {
    RecordedRuns recorded(journal, context.environment);
    return fmt::format(
        "interrupted: its last event is of {}, and no process has it; "
        "`{}` carries it on\n",
        local_time(wall(run.row.updated)),
        agent::one_line(resuming(parsed, recorded, run.row.run_id)));
  }
  if (run.status == RunStatus::parked) {
    return fmt::format("parked: `errand runs pending {}` shows the calls that wait for approval\n",
                       agent::one_line(run.row.run_id, 100));
  }
  return {};
}

void show_as_json(const RunInfo& run,
                  std::span<const agent::Event> events,
                  const Context& context) {
  agent::Json json = {{"schema", "errand.run/1"}, {"run", json_of(run)}};
  json["events"] = agent::Json::array();
  for (const agent::Event& event : events) {
    json["events"].push_back(agent::to_json(event));
  }
  context.out << context.redactor.dump(json) << "\n";
}

}  // namespace

agent::Result<int> command_runs_list(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  TRY_ASSIGN(auto filter, filter_of(parsed, context));
  const std::size_t limit = filter.limit;
  filter.limit += limit == 0 ? 0 : 1;  // whether there are more
  auto runs = agent::store::list_runs(journal, filter);
  if (!runs && runs.error().code == agent::Code::storage_not_found && !parsed.has("--store")) {
    runs = std::vector<RunInfo>();  // there was no run yet
  }
  if (!runs) {
    return agent::fail(std::move(runs).error());
  }
  const bool has_more = limit != 0 && runs->size() > limit;
  if (has_more) {
    runs->pop_back();
  }
  if (parsed.value("--output") != "json") {
    write_list(*runs, parsed, context);
    if (has_more && !parsed.has("--limit")) {
      context.err << fmt::format("these are the newest {}: `--limit all` lists the others, too\n",
                                 limit);
    }
    return 0;
  }
  agent::Json json = {{"schema", "errand.runs/1"}, {"store", journal.string()}, {"more", has_more}};
  json["runs"] = agent::Json::array();
  for (const RunInfo& run : *runs) {
    json["runs"].push_back(json_of(run));
  }
  context.out << context.redactor.dump(json) << "\n";
  return 0;
}

agent::Result<int> command_runs_show(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const fs::path journal, journal_of(parsed, context));
  TRY_ASSIGN(const std::string run_id, chosen_run(parsed, context, journal));
  TRY_ASSIGN(const auto turn, turn_of(parsed));
  TRY_ASSIGN(const RunInfo run, agent::store::run_info(journal, run_id));
  TRY_ASSIGN(const std::vector<agent::Event> events, agent::store::read_run(journal, run_id));
  const auto shown = turn ? events_of_turn(events, *turn) : std::span(events);
  if (shown.empty()) {
    return not_taken(fmt::format("the run {} has no turn {}", run_id, *turn),
                     run.row.model.empty()
                         ? "a flow's turns are its members': `errand runs show` names their runs"
                         : fmt::format("its turns are 1 to {}", run.row.turns));
  }
  if (parsed.value("--output") == "json") {
    show_as_json(run, shown, context);
    return 0;
  }
  const std::size_t columns = Terminal::columns(STDOUT_FILENO);
  context.has_styles = context.color_out;
  context.out << account_of(events,
                            {.columns = columns == 0 ? k_default_columns : columns,
                             .color = context.color_out,
                             .turn = turn},
                            context.redactor);
  if (!turn) {
    context.out << state_line(run, parsed, context, journal);
  }
  return 0;
}

}  // namespace cli

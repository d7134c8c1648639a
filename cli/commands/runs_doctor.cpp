// `errand runs doctor`: whether the journal is whole, and what can be mended.
#include "agent/json.h"
#include "agent/store/check.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/run_choice.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cli {
namespace {

using agent::store::CheckReport;
using agent::store::Finding;
using agent::store::Loss;
using agent::store::Mending;

std::string text_of(const Finding& finding) {
  return fmt::format("{}{}{}\n",
                     finding.run_id.empty() ? "" : agent::one_line(finding.run_id, 60) + ": ",
                     agent::one_line(finding.what, 300),
                     finding.can_be_mended ? " (can be mended)" : "");
}

agent::Json json_of(const Loss& loss) {
  return {{"run_id", loss.run_id.empty() ? agent::Json() : agent::Json(loss.run_id)},
          {"events_lost", loss.events_lost ? agent::Json(*loss.events_lost) : agent::Json()},
          {"events_kept", loss.events_kept}};
}

agent::Json json_of(const Mending& mending, const std::filesystem::path& journal) {
  const CheckReport& report = mending.after;
  const std::filesystem::path& copy = mending.copy;
  agent::Json json = {{"schema", "errand.journal_check/1"},
                      {"store", journal.string()},
                      {"runs", report.runs},
                      {"events", report.events},
                      {"copy", copy.empty() ? agent::Json() : agent::Json(copy.string())}};
  json["findings"] = agent::Json::array();
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(
        {{"run_id", finding.run_id.empty() ? agent::Json() : agent::Json(finding.run_id)},
         {"what", finding.what},
         {"can_be_mended", finding.can_be_mended}});
  }
  json["lost"] = agent::Json::array();
  for (const Loss& loss : mending.lost) {
    json["lost"].push_back(json_of(loss));
  }
  return json;
}

// What to do about what stays wrong.
std::string help_for(const Mending& mending) {
  if (!mending.lost.empty()) {
    return fmt::format("{} is the file as it was; a backup may have what is lost",
                       mending.copy.string());
  }
  if (std::ranges::any_of(mending.after.findings, &Finding::can_be_mended)) {
    return "`errand runs doctor --fix` keeps a copy and mends what can be";
  }
  return mending.after.is_sound
             ? "`errand runs export` or `rm` those runs; the others are whole"
             : "put a backup in its place, or move it away: the next run creates a new one";
}

}  // namespace

agent::Result<int> command_runs_doctor(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const std::filesystem::path journal, journal_of(parsed, context));
  Mending mending;
  if (parsed.has("--fix")) {
    TRY_ASSIGN(mending, agent::store::mend_journal(journal));
  } else {
    TRY_ASSIGN(mending.after, agent::store::check_journal(journal));
  }
  const CheckReport& report = mending.after;
  if (parsed.value("--output") == "json") {
    context.out << agent::dump(json_of(mending, journal)) << "\n";
  } else {
    for (const Finding& finding : report.findings) {
      context.out << text_of(finding);
    }
    if (!mending.copy.empty()) {
      context.out << fmt::format("mended; as it was, it is kept in {}\n", mending.copy.string());
    }
    if (report.findings.empty()) {
      context.out << fmt::format(
          "{}: runs: {}, events: {}; all whole\n", journal.string(), report.runs, report.events);
    }
  }
  if (report.findings.empty()) {
    return 0;
  }
  return agent::fail(agent::Code::storage_corrupt,
                     mending.lost.empty() ? fmt::format("{} is not whole", journal.string())
                                          : fmt::format("{} is mended, and not all of it is saved",
                                                        journal.string()),
                     help_for(mending));
}

}  // namespace cli

#include "agent/store/keeping.h"

#include "agent/id.h"
#include "agent/json.h"
#include "agent/log_fold.h"
#include "agent/money.h"
#include "agent/outcome.h"
#include "agent/state.h"
#include "agent/store/journal_file.h"
#include "agent/store/owner.h"
#include "agent/store/runs.h"
#include "agent/store/wal_file.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace agent::store {
namespace {

namespace fs = std::filesystem;

// Written anew while runs are at work, these are still there within the patience of their writers.
constexpr std::uintmax_t k_soon_written = 256u << 20;
// Removed at once: others write in between.
constexpr std::size_t k_runs_at_once = 100;

Result<SQLite::Database> open_to_remove(const fs::path& file) {
  TRY(check_is_there(file));
  TRY_ASSIGN(SQLite::Database database, open_to_write(file, SessionSpec::Durability::full));
  database.exec("PRAGMA secure_delete = ON");
  // The -wal file stays where it is: a run at work may have lost its locks.
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return database;
}

void remove_from(SQLite::Database& database, const char* table, const std::string& run_id) {
  SQLite::Statement statement(database, fmt::format("DELETE FROM {} WHERE run_id = ?", table));
  statement.bind(1, run_id);
  statement.exec();
}

std::optional<std::int64_t> updated_at(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database, "SELECT updated FROM runs WHERE run_id = ?");
  query.bind(1, run_id);
  return query.executeStep() ? std::optional(query.getColumn(0).getInt64()) : std::nullopt;
}

bool is_there(SQLite::Database& database, const std::string& run_id) {
  return updated_at(database, run_id).has_value();
}

// The run that it worked for, in the file or not; empty: none.
std::string whole_of(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database,
                          "SELECT json_extract(json, '$.parent') FROM events WHERE run_id = ? AND "
                          "seq = 1 AND json_valid(json)");
  query.bind(1, run_id);
  return query.executeStep() ? query.getColumn(0).getString() : std::string();
}

struct Placed {
  std::string run_id;
  std::string whole;  // as whole_of()
};

// Each whole stands before what worked for it. Of runs that say that they worked for each other (a
// record may lie), one counts as whole.
std::vector<Placed> wholes_first(SQLite::Database& database, std::span<const std::string> run_ids) {
  std::map<std::string, std::string> wholes;
  for (const std::string& run_id : run_ids) {
    wholes.emplace(run_id, whole_of(database, run_id));
  }
  std::set<std::string> seen;
  std::vector<Placed> placed;
  for (const std::string& run_id : run_ids) {
    std::vector<Placed> way;  // up
    std::string at = run_id;
    while (wholes.contains(at) && seen.insert(at).second) {
      way.push_back({.run_id = at, .whole = wholes.at(at)});
      at = wholes.at(at);
    }
    if (std::ranges::find(way, at, &Placed::run_id) != way.end()) {
      way.back().whole.clear();
    }
    std::ranges::move(std::views::reverse(way), std::back_inserter(placed));
  }
  return placed;
}

// Without a new message. A flow of which all has ended says so by having no way on.
bool has_work_left(const State& state) {
  const auto& finished = state.finished;
  if (!finished) {
    return true;
  }
  return state.plan.is_flow
             ? finished->exit_code != 0 && !finished->resume_cmd.empty()
             : can_be_carried_on(state, finished->exit_code) && !needs_message(finished->exit_code);
}

// What runs still need of those that worked for them, as the journal is now.
class Needs {
 public:
  Needs(SQLite::Database& database, const fs::path& file) : database_(database), claims_(file) {}

  bool is_held(const std::string& run_id) const { return claims_.is_claimed(run_id); }

  // What it has done, paid and answered is known by the records of those that worked for it alone.
  // One whose record is not whole is carried on by nobody.
  bool has_to_be_carried_on(const std::string& run_id) {
    const auto known = known_.find(run_id);
    return known != known_.end()
               ? known->second
               : known_.emplace(run_id, is_held(run_id) || is_open(run_id)).first->second;
  }

 private:
  bool is_open(const std::string& run_id) {
    SQLite::Statement query(database_, "SELECT json FROM events WHERE run_id = ? ORDER BY seq");
    query.bind(1, run_id);
    LogFold log;
    bool has_any = false;
    while (query.executeStep()) {
      const auto event = event_of(query.getColumn(0).getString());
      if (!event || !log.add(*event).empty()) {
        return false;
      }
      has_any = true;
    }
    return has_any && has_work_left(log.state());
  }

  SQLite::Database& database_;
  const RunClaims claims_;
  std::map<std::string, bool> known_;
};

// Those that the run worked for, the next one first, as far as they have still to be carried on.
std::vector<std::string> open_wholes(SQLite::Database& database,
                                     Needs& needs,
                                     const std::string& run_id) {
  std::vector<std::string> wholes;
  std::set<std::string> seen = {run_id};
  std::string whole = whole_of(database, run_id);
  while (seen.insert(whole).second && is_there(database, whole) &&
         needs.has_to_be_carried_on(whole)) {
    wholes.push_back(whole);
    whole = whole_of(database, whole);
  }
  return wholes;
}

// Who would have to be removed, too, outermost first; then the runs themselves.
std::vector<std::string> with_wholes(SQLite::Database& database,
                                     Needs& needs,
                                     std::span<const std::string> run_ids) {
  std::set<std::string> known(run_ids.begin(), run_ids.end());
  std::vector<std::string> all;
  for (const std::string& run_id : run_ids) {
    for (const std::string& whole : std::views::reverse(open_wholes(database, needs, run_id))) {
      if (known.insert(whole).second) {
        all.push_back(whole);
      }
    }
  }
  all.insert(all.end(), run_ids.begin(), run_ids.end());
  return all;
}

std::string help_for_needed(Needs& needs, const std::vector<std::string>& all) {
  const auto held =
      std::ranges::find_if(all, [&](const std::string& run_id) { return needs.is_held(run_id); });
  return held != all.end()
             ? fmt::format("wait for the end of the run {}, which a living process has", *held)
             : fmt::format(
                   "carry the run {} on first, or remove them together: `errand runs rm {}`",
                   all.front(),
                   fmt::join(all, " "));
}

Result<void> check_is_not_needed(SQLite::Database& database,
                                 const fs::path& file,
                                 std::span<const std::string> run_ids) {
  const Transaction snapshot(database, Transaction::Kind::read);
  const std::set<std::string_view> named(run_ids.begin(), run_ids.end());
  Needs needs(database, file);
  for (const std::string& run_id : run_ids) {
    const std::string whole = whole_of(database, run_id);
    if (is_there(database, whole) && !named.contains(whole) && needs.has_to_be_carried_on(whole)) {
      return fail(Code::cli_usage,
                  fmt::format("the run {} worked for {}, which has still to be carried on, and "
                              "would be done and paid for again",
                              run_id,
                              whole),
                  help_for_needed(needs, with_wholes(database, needs, run_ids)));
    }
  }
  return {};
}

// Which runs go. Those that nobody has, that are still as old as that, and for whose whole the
// same holds: it goes before what worked for it, and what is gone nobody carries on.
class Remover {
 public:
  enum class Members : std::uint8_t { of_open_wholes_stay, of_all_wholes_stay };

  Remover(SQLite::Database& database, const fs::path& file, std::int64_t before, Members members)
      : database_(database), file_(file), before_(before), members_(members) {}

  // Wholes first, also from call to call.
  Result<void> remove(std::span<const Placed> runs) {
    std::vector<RunClaim> claims;  // until it is committed
    Transaction transaction(database_, Transaction::Kind::write);
    Needs needs(database_, file_);
    std::vector<std::string> gone;
    for (const Placed& run : runs) {
      TRY_ASSIGN(auto claim, RunClaim::take(file_, run.run_id));
      if (!claim) {
        leave(run, true);
        continue;
      }
      claims.push_back(*std::move(claim));
      const auto updated = updated_at(database_, run.run_id);
      if (!updated) {
        continue;  // another process was faster
      }
      if (*updated >= before_ || is_needed(run, needs)) {
        leave(run, members_ == Members::of_open_wholes_stay);
        continue;
      }
      remove_from(database_, "events", run.run_id);
      remove_from(database_, "runs", run.run_id);
      gone.push_back(run.run_id);
    }
    transaction.commit();
    removal_.run_ids.insert(removal_.run_ids.end(), gone.begin(), gone.end());
    return {};
  }
  Removal& removal() { return removal_; }

 private:
  void leave(const Placed& run, bool is_in_use) {
    staying_.insert(run.run_id);
    if (is_in_use) {
      removal_.in_use.push_back(run.run_id);
    }
  }

  bool is_needed(const Placed& run, Needs& needs) const {
    if (staying_.contains(run.whole)) {
      return true;  // its claim may be this process's own
    }
    return is_there(database_, run.whole) &&
           (members_ == Members::of_all_wholes_stay || needs.has_to_be_carried_on(run.whole));
  }

  SQLite::Database& database_;
  const fs::path& file_;
  const std::int64_t before_;
  const Members members_;
  std::set<std::string> staying_;
  Removal removal_;
};

// Takes what was there before out of the -wal file. Empty where that is done; else why not.
std::string empty_wal(SQLite::Database& database) {
  SQLite::Statement checkpoint(database, "PRAGMA wal_checkpoint(TRUNCATE)");
  const bool is_busy = !checkpoint.executeStep() || checkpoint.getColumn(0).getInt() != 0;
  return is_busy ? "another process is at work in the journal" : "";
}

// Without waiting for anybody: nobody has asked for it just now.
std::string empty_wal_at_once(SQLite::Database& database) {
  try {
    database.setBusyTimeout(0);
    return empty_wal(database);
  } catch (const SQLite::Exception& exception) {
    return exception.what();
  }
}

// Empty where no trace is left; else why.
std::string erase_traces(SQLite::Database& database, const fs::path& file) {
  std::error_code error;
  if (RunClaims(file).is_any_claimed() && fs::file_size(file, error) > k_soon_written) {
    return "runs are at work, and the file is too large to write anew beside them";
  }
  try {
    database.exec("VACUUM");
    return empty_wal(database);
  } catch (const SQLite::Exception& exception) {
    return exception.what();
  }
}

// Whoever is killed while removing leaves bytes of what is gone. The file is whole then: where this
// cannot be done now, the next removal does it.
void clear_after_kill(const fs::path& file) {
  const auto wal = look_into_wal(file);
  const bool has_waiting = wal && !wal->is_damaged() && wal->readable > 0;
  if (!has_waiting || RunClaims(file).is_any_claimed()) {
    return;
  }
  try {
    auto database = open_to_remove(file);
    if (database && database->execAndGet("PRAGMA freelist_count").getInt() > 0) {
      erase_traces(*database, file);
    } else if (database) {
      empty_wal_at_once(*database);
    }
  } catch (const SQLite::Exception&) {
    return;  // whoever reads the journal next says why
  }
}

Result<Removal> remove_all(SQLite::Database& database,
                           const fs::path& file,
                           std::span<const std::string> run_ids,
                           Remover remover,
                           Traces traces) {
  const std::vector<Placed> runs = wholes_first(database, run_ids);
  for (std::size_t at = 0; at < runs.size(); at += k_runs_at_once) {
    const std::size_t count = std::min(k_runs_at_once, runs.size() - at);
    TRY(remover.remove(std::span(runs).subspan(at, count)));
  }
  Removal removal = std::move(remover.removal());
  if (traces == Traces::leave) {
    removal.remains = removal.run_ids.empty() ? "" : empty_wal_at_once(database);
    return removal;
  }
  const bool has_freed = database.execAndGet("PRAGMA freelist_count").getInt() > 0;
  if (has_freed || !removal.run_ids.empty()) {
    removal.remains = erase_traces(database, file);
  } else {
    empty_wal_at_once(database);  // of a removal that was killed
  }
  return removal;
}

std::unexpected<Error> not_a_run(const std::string& name, int line, std::string message) {
  return fail({.code = Code::config_invalid,
               .message = std::move(message),
               .help = "`errand runs export RUN --raw` writes what can be imported",
               .where = Where{.file = name, .line = line}});
}

struct ImportedRun {
  std::vector<Event> events;
  std::vector<std::string> texts;
};

// Of an event or a result: no cost, or one that can be.
bool has_possible_cost(const Json& json) {
  const Json* const cost = find(json, "cost_usd");
  return cost == nullptr || cost->is_null() || Money::from_json(*cost).has_value();
}

// Of an event by itself; what errand writes is always so. Empty: nothing.
std::string what_cannot_be(const Event& event, const Json& json) {
  if (integer_at(json, "v") != 1) {
    return "this event is not of version 1, which is all that this errand knows";
  }
  if (!is_run_id(event.run_id)) {
    return fmt::format("`{}` is not an id that errand gives to a run", one_line(event.run_id, 60));
  }
  const Json* const result = find(json, "result");
  if (!has_possible_cost(json) || (result != nullptr && !has_possible_cost(*result))) {
    return "`cost_usd` is not an amount of money";
  }
  const auto* finished = std::get_if<RunFinished>(&event.body);
  if (finished != nullptr &&
      exit_row(finished->result.exit_code).exit_code != finished->result.exit_code) {
    return fmt::format("no run ends with the exit code {}", finished->result.exit_code);
  }
  return "";
}

// Of a line of it, behind those before.
std::string what_is_wrong(LogFold& log, const Event& event, const Json& json) {
  if (event.seq == 1 && find(json, "plan") == nullptr) {
    return "this was exported for people, and a run cannot be carried on from it";
  }
  if (std::string wrong = what_cannot_be(event, json); !wrong.empty()) {
    return wrong;
  }
  return is_journaled(event.body) ? log.add(event) : "this event is not one that is kept";
}

// Nobody here has begun it, nor approved anything in it: what it says of its agent, options and
// approvals counts no more. Whether it said so.
bool break_seal(Event& event, Json& json) {
  if (auto* started = std::get_if<RunStarted>(&event.body);
      started != nullptr && !started->made_from.seal.empty()) {
    started->made_from.seal.clear();
    json["made_from"]["seal"] = "";
    return true;
  }
  if (auto* answered = std::get_if<ApprovalAnswered>(&event.body);
      answered != nullptr && !answered->seal.empty()) {
    answered->seal.clear();
    json["seal"] = "";
    return true;
  }
  return false;
}

Result<ImportedRun> read_lines(std::string_view text,
                               const std::string& name,
                               const Redactor& redactor) {
  ImportedRun run;
  LogFold log;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (trimmed(line).empty()) {
      continue;
    }
    auto json = parse_json(line);
    auto event = json ? event_from_json(*json) : Result<Event>(fail(Code::storage_corrupt, ""));
    if (!event) {
      return not_a_run(name, number, "this line is not an event");
    }
    if (auto wrong = what_is_wrong(log, *event, *json); !wrong.empty()) {
      return not_a_run(name, number, std::move(wrong));
    }
    std::string kept = break_seal(*event, *json) ? dump(*json) : std::string(line);
    run.texts.push_back(redactor.dump(std::move(kept), [&] { return *json; }));
    run.events.push_back(*std::move(event));
  }
  if (run.events.empty()) {
    return not_a_run(name, 0, "there is no event in it");
  }
  return run;
}

void put_events(SQLite::Database& database, const ImportedRun& run) {
  SQLite::Statement insert(
      database, "INSERT INTO events(run_id, seq, time, type, json) VALUES(?, ?, ?, ?, ?)");
  for (std::size_t at = 0; at < run.events.size(); ++at) {
    const Event& event = run.events[at];
    insert.tryReset();
    insert.bind(1, event.run_id);
    insert.bind(2, event.seq);
    insert.bind(3, to_milliseconds(event.time));
    insert.bind(4, std::string(type_name(event.body)));
    insert.bind(5, run.texts[at]);
    insert.exec();
  }
}

}  // namespace

void finish_removals(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    clear_after_kill(file);
  }
}

Result<Removal> remove_runs(const fs::path& file,
                            std::span<const std::string> run_ids,
                            Traces traces) {
  for (const std::string& run_id : run_ids) {
    TRY(run_info(file, run_id));
  }
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_remove(file));
    TRY(check_is_not_needed(database, file, run_ids));
    return remove_all(database,
                      file,
                      run_ids,
                      {database, file, INT64_MAX, Remover::Members::of_open_wholes_stay},
                      traces);
  } catch (const SQLite::Exception& exception) {
    return failed("cannot remove runs from", file, exception);
  }
}

Result<std::vector<std::string>> find_old_runs(const fs::path& file, const OldRuns& which) {
  if (which.folder.contains(k_redacted)) {
    return std::vector<std::string>();  // whose they are, nobody knows
  }
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    // No run was heard of before it was begun, and there is an index of that. Their members go
    // with them, whatever agent these had.
    SQLite::Statement query(
        database,
        "WITH RECURSIVE whole(id) AS (SELECT run_id FROM runs WHERE begun < ?1 AND updated < ?1 "
        "AND "
        "(?2 = '' OR agent = ?2) AND (?3 = '' OR cwd = ?3) UNION "
        "SELECT json_extract(json, '$.run_id') FROM events JOIN whole ON events.run_id = id "
        "WHERE type = 'member.started') "
        "SELECT run_id FROM runs WHERE run_id IN whole AND updated < ?1 AND run_id != ?4 "
        "ORDER BY begun");
    query.bind(1, to_milliseconds(which.before));
    query.bind(2, which.agent);
    query.bind(3, which.folder);
    query.bind(4, which.stays);
    const RunClaims claims(file);
    std::vector<std::string> run_ids;
    while (query.executeStep()) {
      if (std::string run_id = query.getColumn(0).getString(); !claims.is_claimed(run_id)) {
        run_ids.push_back(std::move(run_id));
      }
    }
    std::set<std::string> going;
    for (const auto& [run_id, whole] : wholes_first(database, run_ids)) {
      if (going.contains(whole) || !is_there(database, whole)) {
        going.insert(run_id);
      }
    }
    std::erase_if(run_ids, [&](const std::string& run_id) { return !going.contains(run_id); });
    return run_ids;
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", file, exception);
  }
}

Result<std::vector<std::string>> parked_of(const fs::path& file,
                                           std::span<const std::string> run_ids) {
  std::vector<std::string> parked;
  if (run_ids.empty()) {
    return parked;
  }
  TRY_ASSIGN(const std::vector<RunInfo> all, list_runs(file, {.status = RunStatus::parked}));
  const std::set<std::string_view> chosen(run_ids.begin(), run_ids.end());
  for (const RunInfo& run : all) {
    if (chosen.contains(run.row.run_id)) {
      parked.push_back(run.row.run_id);
    }
  }
  return parked;
}

Result<Removal> prune(const fs::path& file, const OldRuns& which, Traces traces) {
  TRY_ASSIGN(const std::vector<std::string> run_ids, find_old_runs(file, which));
  if (run_ids.empty() && traces == Traces::leave) {
    return Removal{};
  }
  TRY_ASSIGN(const std::vector<std::string> parked, parked_of(file, run_ids));
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_remove(file));
    TRY_ASSIGN(
        Removal removal,
        remove_all(
            database,
            file,
            run_ids,
            {database, file, to_milliseconds(which.before), Remover::Members::of_all_wholes_stay},
            traces));
    const std::set<std::string_view> gone(removal.run_ids.begin(), removal.run_ids.end());
    std::ranges::copy_if(parked, std::back_inserter(removal.parked), [&](const std::string& id) {
      return gone.contains(id);
    });
    return removal;
  } catch (const SQLite::Exception& exception) {
    return failed("cannot remove runs from", file, exception);
  }
}

Result<std::string> import_run(const fs::path& file,
                               std::string_view text,
                               const std::string& name,
                               const Redactor& redactor) {
  TRY_ASSIGN(const ImportedRun run, read_lines(text, name, redactor));
  const std::string& run_id = run.events.front().run_id;
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_write(file, SessionSpec::Durability::full));
    Transaction transaction(database, Transaction::Kind::write);
    if (updated_at(database, run_id)) {
      return fail(Code::cli_usage,
                  fmt::format("the run {} is in {} already", run_id, file.string()),
                  fmt::format("`errand runs rm {}` takes it out first", run_id));
    }
    put_events(database, run);
    for_each_row(
        database, run_id, [&](const RunRow& row) { put_row(database, row, std::nullopt); });
    transaction.commit();
    return run_id;
  } catch (const SQLite::Exception& exception) {
    return failed("cannot write to", file, exception);
  }
}

}  // namespace agent::store

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
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <optional>
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

// The run that it worked for, where that one is in the file; else empty.
std::string whole_of(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database,
                          "SELECT runs.run_id FROM events JOIN runs ON "
                          "runs.run_id = json_extract(events.json, '$.parent') "
                          "WHERE events.run_id = ? AND events.seq = 1");
  query.bind(1, run_id);
  return query.executeStep() ? query.getColumn(0).getString() : std::string();
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

// What it has done, paid and answered is known by the records of those that worked for it alone.
// One whose record is not whole is carried on by nobody.
bool has_to_be_carried_on(const fs::path& file, const std::string& run_id) {
  LogFold log;
  const auto events = read_run(file, run_id);
  const bool is_whole = events && std::ranges::all_of(*events, [&](const Event& event) {
                          return log.add(event).empty();
                        });
  return is_whole && has_work_left(log.state());
}

Result<void> check_is_not_needed(SQLite::Database& database,
                                 const fs::path& file,
                                 std::span<const std::string> run_ids) {
  for (const std::string& run_id : run_ids) {
    const std::string whole = whole_of(database, run_id);
    if (!whole.empty() && std::ranges::find(run_ids, whole) == run_ids.end() &&
        has_to_be_carried_on(file, whole)) {
      return fail(
          Code::cli_usage,
          fmt::format("the run {} worked for {}, which has still to be carried on, and "
                      "would be done and paid for again",
                      run_id,
                      whole),
          fmt::format(
              "carry that one on first, or remove both: `errand runs rm {} {}`", whole, run_id));
    }
  }
  return {};
}

// Those that nobody has, and that are still as old as that.
Result<void> remove_some(SQLite::Database& database,
                         const fs::path& file,
                         std::span<const std::string> run_ids,
                         std::int64_t before,
                         Removal& removal) {
  std::vector<RunClaim> claims;  // until it is committed
  Transaction transaction(database, Transaction::Kind::write);
  std::vector<std::string> gone;
  for (const std::string& run_id : run_ids) {
    TRY_ASSIGN(auto claim, RunClaim::take(file, run_id));
    if (!claim) {
      removal.in_use.push_back(run_id);
      continue;
    }
    claims.push_back(*std::move(claim));
    if (updated_at(database, run_id).value_or(before) >= before) {
      continue;  // another process was faster, or has carried it on meanwhile
    }
    remove_from(database, "events", run_id);
    remove_from(database, "runs", run_id);
    gone.push_back(run_id);
  }
  transaction.commit();
  removal.run_ids.insert(removal.run_ids.end(), gone.begin(), gone.end());
  return {};
}

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
                           std::int64_t before,
                           Traces traces) {
  Removal removal;
  for (std::size_t at = 0; at < run_ids.size(); at += k_runs_at_once) {
    const std::size_t count = std::min(k_runs_at_once, run_ids.size() - at);
    TRY(remove_some(database, file, run_ids.subspan(at, count), before, removal));
  }
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
    return remove_all(database, file, run_ids, INT64_MAX, traces);
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
    std::set<std::string, std::less<>> old(run_ids.begin(), run_ids.end());
    std::erase_if(run_ids,
                  [&](const std::string& run_id) {  // the whole is begun before its members
                    const std::string whole = whole_of(database, run_id);
                    const bool stays = !whole.empty() && !old.contains(whole);
                    if (stays) {
                      old.erase(run_id);
                    }
                    return stays;
                  });
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
    TRY_ASSIGN(Removal removal,
               remove_all(database, file, run_ids, to_milliseconds(which.before), traces));
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

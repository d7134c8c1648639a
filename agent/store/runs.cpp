#include "agent/store/runs.h"

#include "agent/duration.h"
#include "agent/outcome.h"
#include "agent/store/journal_file.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace agent::store {
namespace {

namespace fs = std::filesystem;

// With what the index of names is limited to: else it is not used.
constexpr const char* k_has_name = "session != '' AND session = ?";
// Members of a flow are called FLOW/MEMBER, and no other run has a slash in its name.
constexpr const char* k_is_no_member = "cwd = ? AND instr(session, '/') = 0";
constexpr std::size_t k_shortest_prefix = 4;
constexpr std::size_t k_candidates = 5;  // that a message names

// What `work` makes of the journal, within one snapshot of it.
template <typename Work>
auto reading(const fs::path& file, const Work& work)
    -> decltype(work(std::declval<SQLite::Database&>())) {
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    const Transaction snapshot(database, Transaction::Kind::read);
    return work(database);
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", file, exception);
  }
}

std::unexpected<Error> no_run(const fs::path& file, std::string_view which) {
  return fail(Code::storage_not_found,
              fmt::format("there is no run {} in {}", which, file.string()),
              "`errand runs list --all` lists them");
}

// What is asked of people since the run was parked last; nothing where it never was.
Approvals approvals_of(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database,
                          "SELECT json FROM events WHERE run_id = ?1 AND seq >= (SELECT seq FROM "
                          "events WHERE run_id = ?1 AND type = ?2 ORDER BY seq DESC LIMIT 1) ORDER "
                          "BY seq");
  query.bind(1, run_id);
  query.bind(2, std::string(RunParked::k_type));
  Approvals approvals;
  while (query.executeStep()) {
    const SQLite::Column text = query.getColumn(0);
    const auto event = event_of({text.getText(), static_cast<std::size_t>(text.getBytes())});
    if (!event) {
      return {};  // `errand runs doctor` tells of it
    }
    advance(approvals, event->body);
  }
  return approvals;
}

// For calls of its own, or of a member: the same exit code has a run that a denial has ended.
bool is_parked(SQLite::Database& database, const RunRow& row) {
  if (row.exit_code != agent::row(Code::tool_confirmation_required).exit_code) {
    return false;
  }
  SQLite::Statement query(
      database, "SELECT json FROM events WHERE run_id = ? AND type = ? ORDER BY seq DESC LIMIT 1");
  query.bind(1, row.run_id);
  query.bind(2, std::string(RunFinished::k_type));
  if (!query.executeStep()) {
    return true;
  }
  const SQLite::Column text = query.getColumn(0);
  const auto event = event_of({text.getText(), static_cast<std::size_t>(text.getBytes())});
  const auto* const finished = event ? std::get_if<RunFinished>(&event->body) : nullptr;
  return finished == nullptr || !finished->result.error || agent::is_parked(finished->result);
}

RunStatus status_of_row(SQLite::Database& database, const RunRow& row, const RunClaims& claims) {
  // One that was stopped when it was carried on waits as before.
  const bool was_stopped = row.exit_code && agent::status_of(*row.exit_code) == Status::cancelled;
  if (is_parked(database, row) ||
      (was_stopped && approvals_of(database, row.run_id).are_pending())) {
    return RunStatus::parked;
  }
  if (row.exit_code) {
    return *run_status(to_string(agent::status_of(*row.exit_code)));
  }
  return claims.is_claimed(row.run_id) ? RunStatus::running : RunStatus::interrupted;
}

// Of a query for k_row_columns and the owner.
RunInfo info_at(SQLite::Database& database, SQLite::Statement& query, const RunClaims& claims) {
  RunInfo info{.row = row_at(query)};
  info.status = status_of_row(database, info.row, claims);
  if (info.status == RunStatus::running) {
    info.owner = living(owner_from_text(query.getColumn("owner").getString()), info.row.run_id);
  }
  return info;
}

// SQL with its values, put together piece by piece.
class Query {
 public:
  explicit Query(std::string_view columns) : text_(fmt::format("SELECT {} FROM runs", columns)) {}

  // A text that a secret was taken out of may be anything's: nothing is chosen by it.
  void require(std::string_view condition, std::string value) {
    text_ += (texts_.empty() ? " WHERE " : " AND ") + std::string(condition);
    text_ += value.contains(k_redacted) ? " AND 0" : "";
    texts_.push_back(std::move(value));
  }
  void add(std::string_view rest) { text_ += rest; }

  SQLite::Statement prepare(SQLite::Database& database) const {
    SQLite::Statement statement(database, text_);
    for (std::size_t at = 0; at < texts_.size(); ++at) {
      statement.bind(static_cast<int>(at) + 1, texts_[at]);
    }
    return statement;
  }

 private:
  std::string text_;
  std::vector<std::string> texts_;
};

Query query_for(const RunFilter& filter) {
  Query query(fmt::format("{}, owner", k_row_columns));
  if (!filter.folder.empty()) {
    query.require("cwd = ?", filter.folder);
  }
  if (!filter.session.empty()) {
    query.require(k_has_name, filter.session);
  }
  if (!filter.batch.empty()) {
    query.require("session != '' AND session >= ?", filter.batch + '#');
    query.require("session < ?", filter.batch + static_cast<char>('#' + 1));
  }
  if (!filter.agent.empty()) {
    query.require("agent = ?", filter.agent);
  }
  if (filter.since) {
    query.require("begun >= CAST(? AS INTEGER)", std::to_string(to_milliseconds(*filter.since)));
  }
  query.add(" ORDER BY begun DESC, run_id DESC");
  return query;
}

// The ids that a query finds.
std::vector<std::string> ids_of(SQLite::Statement query) {
  std::vector<std::string> ids;
  while (query.executeStep()) {
    ids.push_back(query.getColumn(0).getString());
  }
  return ids;
}

std::vector<std::string> ids_where(SQLite::Database& database,
                                   const std::vector<std::pair<std::string, std::string>>& all,
                                   std::string_view rest) {
  Query query("run_id");
  for (const auto& [condition, value] : all) {
    query.require(condition, value);
  }
  query.add(rest);
  return ids_of(query.prepare(database));
}

// A run, its members, and theirs.
constexpr std::string_view k_is_in_whole =
    "run_id IN (WITH RECURSIVE whole(id) AS (VALUES(?) UNION "
    "SELECT json_extract(json, '$.run_id') FROM events JOIN whole ON events.run_id = id "
    "WHERE type = 'member.started') SELECT id FROM whole)";

constexpr std::string_view k_newest = " ORDER BY begun DESC, run_id DESC LIMIT 1";

// Ids that begin so, a few at most.
std::vector<std::string> ids_with_prefix(SQLite::Database& database, const std::string& prefix) {
  std::string end = prefix;
  ++end.back();  // ids are ASCII, and so is what they begin with
  return ids_where(database,
                   {{"run_id >= ?", prefix}, {"run_id < ?", end}},
                   fmt::format(" ORDER BY run_id LIMIT {}", k_candidates + 1));
}

bool can_begin_an_id(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == '-'; });
}

std::unexpected<Error> ambiguous(SQLite::Database& database,
                                 std::string why,
                                 const std::vector<std::string>& ids) {
  std::string help = "name one of them: ";
  for (std::size_t at = 0; at < std::min(ids.size(), k_candidates); ++at) {
    SQLite::Statement query(database, "SELECT agent, begun FROM runs WHERE run_id = ?");
    query.bind(1, ids[at]);
    if (query.executeStep()) {
      const std::chrono::system_clock::time_point begun{
          std::chrono::milliseconds(query.getColumn(1).getInt64())};
      help += fmt::format("{}{} ({}, {})",
                          at == 0 ? "" : ", ",
                          ids[at],
                          one_line(query.getColumn(0).getString(), 60),
                          format_time(begun));
    }
  }
  if (ids.size() > k_candidates) {
    help += ", …";
  }
  return fail(Code::cli_usage, std::move(why), help);
}

// One of the folder before those of others; of no name, the last one of the folder.
std::optional<std::string> newest_of_name(SQLite::Database& database,
                                          const std::string& name,
                                          const std::string& folder) {
  using Conditions = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Conditions> choices =
      name.empty() ? std::vector<Conditions>{{{k_is_no_member, folder}}}
                   : std::vector<Conditions>{{{k_has_name, name}, {"cwd = ?", folder}},
                                             {{k_has_name, name}}};
  for (const Conditions& conditions : choices) {
    if (auto ids = ids_where(database, conditions, k_newest); !ids.empty()) {
      return std::move(ids.front());
    }
  }
  return std::nullopt;
}

Result<std::string> find_in(SQLite::Database& database,
                            const fs::path& file,
                            const std::string& selector,
                            const std::string& folder) {
  if (auto ids = ids_where(database, {{"run_id = ?", selector}}, k_newest); !ids.empty()) {
    return std::move(ids.front());
  }
  const bool may_begin_an_id = selector.size() >= k_shortest_prefix && can_begin_an_id(selector);
  auto ids = may_begin_an_id ? ids_with_prefix(database, selector) : std::vector<std::string>();
  if (auto named = newest_of_name(database, selector, folder)) {
    std::erase(ids, *named);
    if (ids.empty()) {
      return *std::move(named);
    }
    ids.insert(ids.begin(), *std::move(named));
    return ambiguous(
        database,
        fmt::format("`{}` is the name of a run, and the beginning of another one's id", selector),
        ids);
  }
  if (selector.empty()) {
    return fail(
        Code::storage_not_found,
        fmt::format(
            "no run has begun in the folder {}, as {} has it", one_line(folder), file.string()),
        "`errand runs list --all` lists those of all folders");
  }
  if (selector.size() < k_shortest_prefix) {
    return fail(Code::storage_not_found,
                fmt::format("there is no run `{}` in {}", one_line(selector), file.string()),
                fmt::format("the beginning of an id needs {} characters; `errand runs list --all` "
                            "lists them",
                            k_shortest_prefix));
  }
  if (ids.empty()) {
    return no_run(file, fmt::format("`{}`", one_line(selector, 100)));
  }
  return ids.size() == 1
             ? Result<std::string>(std::move(ids.front()))
             : Result<std::string>(
                   ambiguous(database, fmt::format("several runs begin with `{}`", selector), ids));
}

// Hands over each event's number and text, in order, until one is not taken.
Result<void> for_each_text(
    SQLite::Database& database,
    const std::string& run_id,
    const std::function<Result<void>(std::int64_t, std::string_view)>& take) {
  SQLite::Statement query(database, "SELECT seq, json FROM events WHERE run_id = ? ORDER BY seq");
  query.bind(1, run_id);
  while (query.executeStep()) {
    const SQLite::Column text = query.getColumn(1);
    TRY(take(query.getColumn(0).getInt64(),
             {text.getText(), static_cast<std::size_t>(text.getBytes())}));
  }
  return {};
}

Result<NamedRun> run_in(SQLite::Database& database,
                        const fs::path& file,
                        const std::string& run_id) {
  NamedRun run{.run_id = run_id};
  TRY(for_each_text(database, run_id, [&](std::int64_t seq, std::string_view text) -> Result<void> {
    auto event = event_of(text);
    if (!event) {
      return fail(std::move(event).error().while_(
          fmt::format("reading event {} of run {} in {}", seq, run_id, file.string())));
    }
    run.events.push_back(std::move(*event));
    run.bytes += text.size();
    return {};
  }));
  return run;
}

}  // namespace

std::string_view to_string(RunStatus status) {
  return k_run_statuses[static_cast<std::size_t>(status)];
}

std::optional<RunStatus> run_status(std::string_view name) {
  const auto found = std::ranges::find(k_run_statuses, name);
  return found == k_run_statuses.end()
             ? std::nullopt
             : std::optional(static_cast<RunStatus>(found - k_run_statuses.begin()));
}

Result<std::vector<RunInfo>> list_runs(const fs::path& file, const RunFilter& filter) {
  return reading(file, [&](SQLite::Database& database) -> Result<std::vector<RunInfo>> {
    const RunClaims claims(file);
    SQLite::Statement query = query_for(filter).prepare(database);
    std::vector<RunInfo> runs;
    while ((filter.limit == 0 || runs.size() < filter.limit) && query.executeStep()) {
      RunInfo info = info_at(database, query, claims);
      if (!filter.status || info.status == *filter.status) {
        runs.push_back(std::move(info));
      }
    }
    return runs;
  });
}

Result<std::string> find_run(const fs::path& file,
                             const std::string& selector,
                             const std::string& folder) {
  return reading(
      file, [&](SQLite::Database& database) { return find_in(database, file, selector, folder); });
}

Result<std::vector<WaitingRun>> waiting_runs(const fs::path& file,
                                             const std::string& run_id,
                                             const std::string& folder) {
  return reading(file, [&](SQLite::Database& database) -> Result<std::vector<WaitingRun>> {
    const RunClaims claims(file);
    Query query(k_row_columns);
    if (!run_id.empty()) {
      query.require(k_is_in_whole, run_id);
    }
    if (!folder.empty()) {
      query.require("cwd = ?", folder);
    }
    query.add(" ORDER BY begun DESC, run_id DESC");
    SQLite::Statement statement = query.prepare(database);
    std::vector<WaitingRun> runs;
    while (statement.executeStep()) {
      RunRow row = row_at(statement);
      if (row.exit_code == 0 || (!row.exit_code && claims.is_claimed(row.run_id))) {
        continue;
      }
      Approvals approvals = approvals_of(database, row.run_id);
      if (approvals.are_pending() || is_parked(database, row)) {
        runs.push_back({.row = std::move(row), .approvals = std::move(approvals)});
      }
    }
    return runs;
  });
}

Result<RunInfo> run_info(const fs::path& file, const std::string& run_id) {
  return reading(file, [&](SQLite::Database& database) -> Result<RunInfo> {
    Query query(fmt::format("{}, owner", k_row_columns));
    query.require("run_id = ?", run_id);
    SQLite::Statement statement = query.prepare(database);
    if (!statement.executeStep()) {
      return no_run(file, run_id);
    }
    return info_at(database, statement, RunClaims(file));
  });
}

Result<std::vector<Event>> read_run(const fs::path& file, const std::string& run_id) {
  return reading(file, [&](SQLite::Database& database) -> Result<std::vector<Event>> {
    TRY_ASSIGN(NamedRun run, run_in(database, file, run_id));
    return run.events.empty() ? Result<std::vector<Event>>(no_run(file, run_id))
                              : std::move(run.events);
  });
}

Result<void> read_named(const fs::path& file,
                        const std::string& folder,
                        std::span<const std::string> names,
                        const std::function<bool(Result<NamedRun>)>& take) {
  return reading(file, [&](SQLite::Database& database) -> Result<void> {
    for (const std::string& name : names) {
      const auto ids = ids_where(database, {{k_has_name, name}, {"cwd = ?", folder}}, k_newest);
      if (!take(ids.empty() ? NamedRun{} : run_in(database, file, ids.front()))) {
        break;
      }
    }
    return {};
  });
}

Result<std::vector<std::string>> read_run_texts(const fs::path& file, const std::string& run_id) {
  return reading(file, [&](SQLite::Database& database) -> Result<std::vector<std::string>> {
    std::vector<std::string> texts;
    TRY(for_each_text(database, run_id, [&](std::int64_t, std::string_view text) -> Result<void> {
      texts.emplace_back(text);
      return {};
    }));
    return texts.empty() ? Result<std::vector<std::string>>(no_run(file, run_id))
                         : std::move(texts);
  });
}

}  // namespace agent::store

#include "agent/store/journal_watch.h"

#include "agent/store/journal_file.h"
#include "agent/store/run_row.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace agent::store {
namespace {

// Milliseconds between a run's begin and its commit, and some more.
constexpr std::int64_t k_slack = k_patience.count() + 2'000;
constexpr std::size_t k_deepest = 1'000;

// Those with a use_in().
constexpr auto k_types = std::to_array<std::string_view>(
    {ModelResponded::k_type, ModelBroken::k_type, GuardrailRan::k_type, ContextCompacted::k_type});

std::string text_of(SQLite::Database& database, const char* query_for_run, const std::string& run) {
  SQLite::Statement query(database, query_for_run);
  query.bind(1, run);
  return query.executeStep() ? query.getColumn(0).getString() : "";
}

}  // namespace

struct JournalWatch::Impl {
  Impl(std::filesystem::path path, std::string root, SQLite::Database opened)
      : file(std::move(path)), whole(std::move(root)), database(std::move(opened)) {}

  // A run that is looked at until no process has it any more.
  struct Begun {
    std::string run_id;
    std::int64_t time = 0;
  };

  std::vector<Begun> begun_since(std::int64_t time, bool or_at_work) {
    SQLite::Statement query(
        database,
        or_at_work ? "SELECT run_id, begun FROM runs WHERE begun >= ? OR owner IS NOT NULL"
                   : "SELECT run_id, begun FROM runs WHERE begun >= ?");
    query.bind(1, time);
    std::vector<Begun> runs;
    while (query.executeStep()) {
      runs.push_back({query.getColumn(0).getString(), query.getColumn(1).getInt64()});
    }
    return runs;
  }

  void note(const std::vector<Begun>& runs) {
    for (const Begun& run : runs) {
      std::int64_t& known = begun[run.run_id];
      if (std::exchange(known, run.time) != run.time) {
        new_ones.push_back(run);
      }
    }
  }

  bool is_of_whole(std::string run_id) {
    for (std::size_t depth = 0; depth < k_deepest && !run_id.empty(); ++depth) {
      if (run_id == whole) {
        return true;
      }
      const auto [known, is_new] = parents.try_emplace(run_id);
      if (is_new && !is_fork(run_id)) {  // which nobody works for
        known->second = text_of(database,
                                "SELECT json_extract(json, '$.parent') FROM events WHERE "
                                "run_id = ? AND json_valid(json) ORDER BY seq LIMIT 1",
                                run_id);
      }
      run_id = known->second;
    }
    return false;
  }

  bool is_fork(const std::string& run_id) {
    return !text_of(database,
                    "SELECT 1 FROM events WHERE run_id = ? AND type = 'run.started' AND "
                    "json_valid(json) AND json_extract(json, '$.forked_from') IS NOT NULL LIMIT 1",
                    run_id)
                .empty();
  }

  bool is_at_work(const std::string& run_id) {
    return !text_of(database, "SELECT owner FROM runs WHERE run_id = ?", run_id).empty();
  }

  void hand_over_new_ones(const std::string& run_id, const Take& take) {
    std::int64_t& read = read_until[run_id];
    SQLite::Statement query(
        database, "SELECT seq, type, json FROM events WHERE run_id = ? AND seq > ? ORDER BY seq");
    query.bind(1, run_id);
    query.bind(2, read);
    while (query.executeStep()) {
      read = query.getColumn(0).getInt64();
      if (std::ranges::find(k_types, query.getColumn(1).getString()) != k_types.end()) {
        if (const auto event = event_of(query.getColumn(2).getString())) {
          take(*event);
        }
      }
    }
  }

  const std::filesystem::path file;
  const std::string whole;
  SQLite::Database database;
  std::int64_t looked = 0;                    // when, as `begun` has it
  std::map<std::string, std::int64_t> begun;  // when, of each run that was seen
  std::vector<Begun> new_ones;                // of these, that nobody has looked at
  std::map<std::string, std::string> parents;
  std::set<std::string> followed;
  std::map<std::string, std::int64_t> read_until;  // the number of an event
};

JournalWatch::JournalWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

JournalWatch::~JournalWatch() = default;

Result<std::unique_ptr<JournalWatch>> JournalWatch::open(const std::filesystem::path& file,
                                                         std::string whole) {
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    auto impl = std::make_unique<Impl>(file, std::move(whole), std::move(database));
    impl->database.setBusyTimeout(0);  // there is a next time
    impl->looked = to_milliseconds(std::chrono::system_clock::now());
    impl->note(impl->begun_since(impl->looked - k_slack, true));
    return std::unique_ptr<JournalWatch>(new JournalWatch(std::move(impl)));
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", file, exception);
  }
}

Result<void> JournalWatch::look(const IsOurs& is_ours, const Take& take) {
  Impl& impl = *impl_;
  try {
    const Transaction snapshot(impl.database, Transaction::Kind::read);
    const std::int64_t now = to_milliseconds(std::chrono::system_clock::now());
    impl.note(impl.begun_since(std::min(impl.looked, now) - k_slack, false));
    impl.looked = now;
    for (; !impl.new_ones.empty(); impl.new_ones.pop_back()) {
      const Impl::Begun& run = impl.new_ones.back();
      if (!is_ours(run.run_id, std::chrono::milliseconds(run.time)) &&
          impl.is_of_whole(run.run_id)) {
        impl.followed.insert(run.run_id);
      }
    }
    std::erase_if(impl.followed, [&](const std::string& run_id) {
      impl.hand_over_new_ones(run_id, take);
      return !impl.is_at_work(run_id);
    });
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", impl.file, exception);
  }
  return {};
}

}  // namespace agent::store

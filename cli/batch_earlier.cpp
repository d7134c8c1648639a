#include "cli/batch_earlier.h"

#include "agent/store/runs.h"
#include "cli/run_choice.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace cli {

using agent::Code;
using agent::Result;

std::string batch_run_name(const std::string& batch, std::int64_t index) {
  return fmt::format("{}#{}", batch, index);
}

Result<std::optional<RecordedRun>> EarlierRuns::of(std::int64_t index) {
  if (index >= read_until_) {
    TRY(read_from(index));
  }
  auto found = runs_.extract(index);
  if (found.empty()) {
    return std::nullopt;
  }
  TRY_ASSIGN(RecordedRun run, std::move(found.mapped()));
  return run;
}

// So many, or as many as hold so many bytes.
Result<void> EarlierRuns::read_from(std::int64_t index) {
  constexpr std::int64_t k_most = 100;
  constexpr std::size_t k_most_bytes = 4U << 20;
  TRY_ASSIGN(const std::string folder, folder_of(context_));
  std::vector<std::string> names;
  for (std::int64_t at = index; at < index + k_most; ++at) {
    names.push_back(batch_run_name(batch_, at));
  }
  runs_.clear();
  std::int64_t next = index;
  std::size_t bytes = 0;
  const auto take = [&](Result<agent::store::NamedRun> read) {
    if (!read) {
      runs_.emplace(next, agent::fail(std::move(read).error()));
    } else if (!read->run_id.empty()) {
      bytes += read->bytes;
      runs_.emplace(next, recalled(store_, *read, context_.environment));
    }
    ++next;
    return bytes < k_most_bytes;
  };
  auto done = agent::store::read_named(store_, folder, names, take);
  if (!done && done.error().code != Code::storage_not_found) {
    return done;
  }
  read_until_ = done ? next : index + k_most;
  return {};
}

}  // namespace cli

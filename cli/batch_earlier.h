// What the journal has of the inputs of a batch, read for many of them at once: opening it costs by
// what waits beside it.
#pragma once
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "cli/recorded_run.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace cli {

// How the runs of a batch are called.
std::string batch_run_name(const std::string& batch, std::int64_t index);

class EarlierRuns {
 public:
  // The context is borrowed.
  EarlierRuns(std::filesystem::path store, std::string batch, const Context& context)
      : store_(std::move(store)), batch_(std::move(batch)), context_(context) {}

  // The run of an input, as it was when it or one shortly before it was asked for; nullopt: there
  // is none. Each is asked for once, in their order; some may be left out.
  agent::Result<std::optional<RecordedRun>> of(std::int64_t index);

 private:
  agent::Result<void> read_from(std::int64_t index);

  const std::filesystem::path store_;
  const std::string batch_;
  const Context& context_;
  std::int64_t read_until_ = 0;  // the first index that was not looked for
  std::map<std::int64_t, agent::Result<RecordedRun>> runs_;
};

}  // namespace cli

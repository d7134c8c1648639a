// The checks of a run: commands of the user's own that say whether the work is done, run where
// tools run.
#pragma once
#include "agent/checker.h"
#include "agent/clock.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "tools/checks/checked_files.h"
#include "tools/hooks/user_command.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

namespace tools {

constexpr std::size_t k_most_check_output = 8'000;  // bytes of its end, that are kept

struct CheckWorld {
  UserPrograms programs;  // `folder` is where the commands run
  agent::Redactor redactor;
  agent::Clock* clock = nullptr;  // borrowed
  std::uint64_t seed = 0;         // as RunnerOptions's
};

class Checks final : public agent::Checker {
 public:
  Checks(agent::ChecksSpec spec, CheckWorld world, const CheckedBefore& before);

  agent::CheckRan run(std::size_t index, std::stop_token stop, std::stop_token kill) override;
  std::string told(std::span<const agent::CheckRan> failed) override;

  const FileSums& files() const { return files_; }

 private:
  CheckPlace place() const;
  void judge(const agent::CheckSpec& check,
             agent::CheckRan& ran,
             std::stop_token stop,
             std::stop_token kill) const;
  std::string cleaned(std::string_view text) const;

  agent::ChecksSpec spec_;
  CheckWorld world_;
  agent::Environment environment_;
  FileSums files_;
  std::uint64_t told_ = 0;  // failures so far
};

}  // namespace tools

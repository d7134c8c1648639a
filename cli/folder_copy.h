// A copy of a folder for a test case to work in.
#pragma once
#include "agent/result.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace cli {

struct CopyLimits {
  std::stop_token stop;
  std::chrono::steady_clock::time_point deadline;
};

enum class CopyEnd : std::uint8_t { whole, stopped, timed_out };

// Files, folders and links, with their permissions; holes stay holes. What was copied before the
// stop, the deadline or the error is left. cli.cannot_create, which names what cannot be copied:
// anything else in the folder, too.
agent::Result<CopyEnd> copy_folder(const std::filesystem::path& from,
                                   const std::filesystem::path& to,
                                   const CopyLimits& limits);

}  // namespace cli

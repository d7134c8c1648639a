// The hunks of a patch, put where they belong in a file's content.
#pragma once
#include "agent/result.h"
#include "tools/files/patch.h"

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct PatchedText {
  std::string content;
  std::vector<std::size_t> lines;  // where each hunk's old lines begin in the old content, from 1
};

// The old lines of a hunk must stand in `content` as they are, but for a CR at their end: at the
// line that the hunk names, or else at the only place there is. What is not named stays, byte for
// byte; new lines end as the file's do. tool.failed (the message begins with `shown` and the hunk)
// where the old lines are nowhere, or at several places, or where hunks overlap; tool.cancelled
// after `stop`.
agent::Result<PatchedText> patched_text(std::string_view content,
                                        std::span<const Hunk> hunks,
                                        std::string_view shown,
                                        const std::stop_token& stop);

}  // namespace tools

// The files of `context_management.pin`, as they are when the conversation is made shorter.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "config/named_files.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cli {

// Reads them anew at each call: of each at most 30 kB, and of all at most `most_bytes`. One that is
// not there is left out; of one that may not be read, or cannot be, the reason stands in place of
// its content.
std::function<std::vector<agent::PinnedFile>()> pinned_files(std::vector<std::string> paths,
                                                             std::filesystem::path cwd,
                                                             config::ReadingPolicy policy,
                                                             std::size_t most_bytes,
                                                             agent::Redactor redactor);

// How many bytes of a cleared result a model with that window (tokens) is shown at once.
std::size_t result_page(std::int64_t window);

}  // namespace cli

// Replay scripts: what the `replay` provider answers, one step after the other. They are how
// people test their agents without a key and without a network.
//
//     version: 1
//     replies:
//       - text: Let me look.            # streamed as the model's words
//         reasoning: The user wants…    # optional
//         tool_calls:
//           - read_file: {path: notes.txt}                    # the tool and its arguments
//           - {name: grep, arguments: {pattern: x}, id: c7}   # the long form, with the call's id
//           - {name: shell, arguments: '{"command": '}        # text is sent as it is: a broken
//           call
//         usage: {input: 120, output: 30, cache_read: 100, cache_write: 0, reasoning: 0}
//       - error: rate_limited           # a fault instead of a reply
//         status: 429
//         message: slow down
//         retry_after: 1s
//       - text: The notes say           # a fault after text: the stream is cut
//         error: stream_broken
//       - text: Done.
//         stop_reason: end_turn         # else tool_use where there are calls, end_turn where not
//         delay: 200ms                  # before the first byte
//         chunk_delay: 20ms             # between two streamed pieces
//         expect: [notes, "3 lines"]    # each must occur in the newest message that was sent
//       - Done, in short.               # a text alone is `text`
//       - {text: again, repeat: 3}      # a count, or `forever` in the last reply
//     members:
//       billing: [You paid 12.]         # what a step, a sub-agent, … of this name plays instead
//
// `error` is a provider.* code without its prefix, or context_overflow. Calls without an id are
// numbered through the script: call_1, call_2, … Usage that is not given is 0. x-* keys are free.
// Values are taken as they are: no ${env:…}, no {{ }}.
#pragma once
#include "agent/replay_script.h"
#include "agent/result.h"
#include "config/keys.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace config {

// config.invalid with the place of the first mistake. Files over 16 MiB are refused.
agent::Result<agent::ReplayScript> load_replay_script(const std::filesystem::path& file);
agent::Result<agent::ReplayScript> parse_replay_script(std::string_view text,
                                                       const std::string& shown_file);

// The table of a script's keys, in the form of keys().
std::span<const Key> replay_keys();

}  // namespace config

// What of a conversation the model still sees once it has been made shorter. The whole of it stays
// in the state, as in the log: this is a view of it, made by context.compacted events alone.
#pragma once
#include "agent/event.h"
#include "agent/message.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace agent {

struct ContextView {
  std::set<std::int64_t> cleared;  // results, by their numbers in the run, from 1
  std::size_t summarized = 0;      // of the messages, from the first: the summary has them
  std::size_t left_out = 0;        // the same: nothing has those behind `summarized`
  std::string summary;             // empty: there is none
  std::vector<PinnedFile> pinned;  // as of the last time
  std::size_t pinned_at = 0;       // before that message; with a summary, behind it
  std::string notes = {};          // behind the summary: lists of files, and the like
  std::string reader = {};         // the tool that shows a cleared result again; may be empty

  // Messages of which the model sees but the user's own.
  std::size_t covered() const { return summarized > left_out ? summarized : left_out; }
  bool is_whole() const { return cleared.empty() && covered() == 0 && pinned.empty(); }
};

// `whole` as the model sees it. The calls keep their results: a boundary that would split them is
// moved back.
std::vector<Message> seen(const std::vector<Message>& whole, const ContextView& view);

// In place of a result that is cleared.
std::string placeholder(const ToolMessage& result, std::int64_t number, std::string_view reader);

// Bytes that cost tokens, for estimates.
std::int64_t weight(const Message& message);
std::int64_t weight(const std::vector<Message>& messages);

// The nearest place at or before `at` where no call is cut off from its result.
std::size_t boundary(const std::vector<Message>& messages, std::size_t at);

}  // namespace agent

// The -wal file beside a journal: what was committed and is not yet in the journal's own file. Its
// frames are looked at before SQLite does: SQLite drops a frame that is damaged and all that come
// behind it, and says nothing. The format: https://www.sqlite.org/fileformat2.html#walformat
#pragma once
#include "agent/result.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace agent::store {

struct WalLook {
  std::int64_t readable = 0;         // frames that SQLite takes: to the last commit before a damage
  std::int64_t committed = 0;        // frames of transactions that were committed
  bool has_damaged_header = false;   // then it takes none
  std::uint32_t database_pages = 0;  // of the whole journal, by the last readable commit; 0: none
  std::vector<std::uint32_t> pages;  // in the readable frames, as they come

  // What a cut-off transaction leaves, the work of a process that was killed, is no damage.
  bool is_damaged() const { return has_damaged_header || readable < committed; }
};

// A file that is not there, or cannot be opened, holds nothing. storage.io where it is no regular
// file. Other processes may be writing it.
Result<WalLook> look_into_wal(const std::filesystem::path& journal);

std::filesystem::path wal_of(const std::filesystem::path& journal);

// Where there is no file, or an empty one: to SQLite also one of a single byte, whose -wal it
// removes.
bool holds_nothing(const std::filesystem::path& file);

// Whether what it holds is all that is left: there is no journal beside it, or an empty one, and
// SQLite would throw it away. The look comes before the journal is made, and so before this is
// asked.
bool is_without_journal(const std::filesystem::path& journal, const WalLook& look);

// storage.corrupt where it is damaged or without its journal: whoever opened that would lose what
// it holds.
Result<void> check_wal(const std::filesystem::path& journal);

struct WalMending {
  std::int64_t lost = 0;                // committed frames that are not there any more
  std::int64_t committed = 0;           // as far as that can be known; none: nothing is recognised
  std::vector<std::uint32_t> doubtful;  // pages that may hold something else than was written
};
// Has SQLite take every frame of a damaged one again that is known to be of it, as it is there.
// Nobody may have the journal open. storage.io where it cannot be written, storage.corrupt where
// nothing can be known of it, not even how large its pages are.
Result<WalMending> mend_wal(const std::filesystem::path& journal);

}  // namespace agent::store

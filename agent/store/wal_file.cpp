#include "agent/store/wal_file.h"

#include "agent/absence.h"
#include "agent/descriptor.h"
#include "agent/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace agent::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_header_bytes = 32;
constexpr std::size_t k_frame_header_bytes = 24;
constexpr std::uint32_t k_magic = 0x377f0682;  // the lowest bit: its sums are of big-endian words
constexpr std::uint32_t k_format = 3'007'000;
constexpr std::size_t k_read_at_once = 128u << 10;

std::uint32_t word_at(std::string_view bytes, std::size_t at, bool is_big_endian = true) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  const bool is_native = is_big_endian == (std::endian::native == std::endian::big);
  return is_native ? word : __builtin_bswap32(word);
}

void put_word(std::string& bytes, std::size_t at, std::uint32_t word) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<char>(word >> (24 - 8 * i));
  }
}

// Runs on from frame to frame.
struct Sum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  bool operator==(const Sum&) const = default;
};

Sum stored_sum(std::string_view bytes, std::size_t at) {
  return {.first = word_at(bytes, at), .second = word_at(bytes, at + 4)};
}

Sum sum_of(Sum sum, std::string_view bytes, bool is_big_endian) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word_at(bytes, at, is_big_endian) + sum.second;
    sum.second += word_at(bytes, at + 4, is_big_endian) + sum.first;
  }
  return sum;
}

struct WalHeader {
  std::string bytes;
  bool is_big_endian = false;
  std::size_t page_size = 0;
  std::string salts;  // 8 bytes, which each frame of this round has, too
  Sum sum;
  Sum sum_as_found;  // of one that was mended; what the first frame goes on from

  // Nothing where it is damaged.
  static std::optional<WalHeader> read(std::string_view bytes) {
    WalHeader header{.bytes = std::string(bytes),
                     .is_big_endian = (word_at(bytes, 0) & 1) != 0,
                     .page_size = word_at(bytes, 8),
                     .salts = std::string(bytes.substr(16, 8)),
                     .sum = stored_sum(bytes, 24),
                     .sum_as_found = stored_sum(bytes, 24)};
    const bool is_whole = (word_at(bytes, 0) & ~1U) == k_magic && word_at(bytes, 4) == k_format &&
                          std::has_single_bit(header.page_size) && header.page_size >= 512 &&
                          header.page_size <= 65'536 &&
                          sum_of({}, bytes.substr(0, 24), header.is_big_endian) == header.sum;
    return is_whole ? std::optional(std::move(header)) : std::nullopt;
  }
};

// The bytes of a frame: its header and a page.
struct WalFrame {
  std::string_view bytes;

  std::uint32_t page() const { return word_at(bytes, 0); }
  std::uint32_t database_pages() const { return word_at(bytes, 4); }  // 0: it ends no transaction
  std::string_view salts() const { return bytes.substr(8, 8); }
  Sum sum() const { return stored_sum(bytes, 16); }

  Sum sum_behind(Sum before, bool is_big_endian) const {
    before = sum_of(before, bytes.substr(0, 8), is_big_endian);
    return sum_of(before, bytes.substr(k_frame_header_bytes), is_big_endian);
  }
};

// Whole pieces of a file, from its beginning.
class Pieces {
 public:
  explicit Pieces(const fs::path& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

  bool is_open() const { return static_cast<bool>(file_); }
  bool is_regular() const {
    struct stat status{};
    return fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
  }

  // False where so many bytes are not there.
  bool read_at(std::size_t at, std::string& bytes) const {
    return read_up_to(at, bytes) == bytes.size();
  }
  // How many bytes are there, of so many at most.
  std::size_t read_up_to(std::size_t at, std::string& bytes) const {
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t count =
          pread(file_.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(at + got));
      if (count == 0 || (count < 0 && errno != EINTR)) {
        break;
      }
      got += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return got;
  }
  std::string begin(std::size_t size) const {
    std::string bytes(size, '\0');
    return read_at(0, bytes) ? bytes : std::string();
  }

  bool is_empty() const {
    struct stat status{};
    return fstat(file_.get(), &status) == 0 && status.st_size == 0;
  }

 private:
  Descriptor file_;
};

// SQLite has them beside the file itself, whichever name it is opened by.
fs::path beside(const fs::path& journal, std::string_view ending) {
  std::error_code error;
  fs::path real = fs::canonical(journal, error);
  return (error ? fs::path(journal) : std::move(real)).concat(ending);
}

fs::path shared_of(const fs::path& journal) {
  return beside(journal, "-shm");
}

// Goes through the frames of a -wal file once.
class WalScan {
 public:
  WalScan(const Pieces& file, const WalHeader& header) : file_(file), header_(header) {}

  // A transaction's last frame has a mark. One transaction may be cut off, or be there as a whole
  // and not be known to others, which overwrite its beginning: of two that end behind what is
  // whole, one was committed. So was one whose last frame is whole and that nothing has
  // overwritten.
  WalLook run() {
    const std::size_t size = k_frame_header_bytes + header_.page_size;
    std::string bytes(std::max(k_read_at_once / size, std::size_t{1}) * size, '\0');
    for (std::size_t at = k_header_bytes, got = bytes.size(); got == bytes.size(); at += got) {
      got = file_.read_up_to(at, bytes);
      for (std::size_t begin = 0; begin + size <= got; begin += size) {
        ++count_;
        take({std::string_view(bytes).substr(begin, size)});
      }
    }
    const bool is_known = marks_behind_ > 1 || (has_whole_mark_ && !may_be_overwritten_);
    look_.committed = is_known ? last_marked_ : look_.readable;
    look_.pages.resize(static_cast<std::size_t>(look_.readable));
    return std::move(look_);
  }
  std::int64_t run_to_last_mark() {
    const std::int64_t readable = run().readable;
    return std::max(readable, last_marked_);
  }
  // How long the journal was at most, by frames that are whole; 0: none says that.
  std::uint32_t most_pages() const { return most_pages_; }

 private:
  void take(const WalFrame& frame) {
    const bool is_of_round = frame.salts() == header_.salts && frame.page() != 0;
    const bool follows =
        is_of_round && frame.sum() == frame.sum_behind(sum_, header_.is_big_endian);
    sum_ = frame.sum();
    if (is_whole_ && !follows) {
      may_be_overwritten_ = is_of_round && look_.readable > 0 && look_.readable == count_ - 1;
    }
    is_whole_ = is_whole_ && follows;
    if (follows) {
      most_pages_ = std::max(most_pages_, frame.database_pages());
    }
    if (!is_whole_) {
      if (is_of_round && frame.database_pages() != 0) {
        last_marked_ = count_;
        ++marks_behind_;
        has_whole_mark_ = has_whole_mark_ || follows;
      }
      return;
    }
    look_.pages.push_back(frame.page());
    if (frame.database_pages() != 0) {
      look_.readable = count_;
      look_.database_pages = frame.database_pages();
    }
  }

  const Pieces& file_;
  const WalHeader& header_;
  Sum sum_ = header_.sum;  // of the frame before, as it says
  bool is_whole_ = true;   // all until now
  std::int64_t count_ = 0;
  std::int64_t last_marked_ = 0;
  int marks_behind_ = 0;             // of transactions that end behind what is whole
  bool has_whole_mark_ = false;      // one of these
  bool may_be_overwritten_ = false;  // what begins right behind a transaction that is whole
  std::uint32_t most_pages_ = 0;
  WalLook look_;
};

// Nothing where it was begun anew meanwhile.
std::optional<WalLook> look_once(const Pieces& file) {
  const std::string bytes = file.begin(k_header_bytes);
  if (file.is_empty()) {
    return WalLook{};
  }
  const auto header = bytes.empty() ? std::nullopt : WalHeader::read(bytes);
  if (!header) {
    return WalLook{.has_damaged_header = true};
  }
  WalLook look = WalScan(file, *header).run();
  return file.begin(k_header_bytes) == bytes ? std::optional(std::move(look)) : std::nullopt;
}

std::unexpected<Error> failed_at(std::string_view doing, const fs::path& path) {
  const int number = errno;
  return fail(agent::error_of(
      number,
      {.code = Code::storage_io,
       .message = fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(number)),
       .help = "make room, or make the file and its folder writable"}));
}

std::unexpected<Error> nothing_to_save(const fs::path& journal) {
  return fail(Code::storage_corrupt,
              fmt::format("nothing of {} can be saved", wal_of(journal).string()),
              "take it away: the journal is then as it was before");
}

// That the journal's own file says it has; 0: it does not say that.
std::uint32_t pages_in(const fs::path& journal) {
  const std::string beginning = Pieces(journal).begin(32);
  return beginning.empty() ? 0 : word_at(beginning, 28);
}

// By which the frames of this round are known, where the file's beginning may not be believed:
// those of the first frame that follows the one before it, by its sum. Else those of the first one
// at all.
std::string salts_of_frames(const Pieces& file, std::size_t page_size) {
  std::string bytes(k_frame_header_bytes + page_size, '\0');
  std::string first;
  std::optional<Sum> before;
  for (std::size_t at = k_header_bytes; file.read_at(at, bytes); at += bytes.size()) {
    const WalFrame frame{bytes};
    if (before && frame.sum_behind(*before, false) == frame.sum() && frame.page() != 0) {
      return std::string(frame.salts());
    }
    before = frame.sum();
    first = first.empty() ? std::string(frame.salts()) : first;
  }
  return first;
}

// One that may be damaged in its own words, too: what is known of it otherwise takes their place.
Result<WalHeader> header_to_mend(const fs::path& journal, const Pieces& file) {
  std::string bytes = file.begin(k_header_bytes);
  if (const auto whole = bytes.empty() ? std::nullopt : WalHeader::read(bytes)) {
    return *whole;
  }
  bytes.resize(k_header_bytes);
  const std::string beginning = Pieces(journal).begin(18);
  const std::uint32_t size = beginning.empty() ? 0 : word_at(beginning, 14) & 0xFFFFU;
  const std::uint32_t page_size = size == 1 ? 65'536 : size;
  if (!std::has_single_bit(page_size) || page_size < 512) {
    return nothing_to_save(journal);
  }
  put_word(bytes, 0, k_magic);
  put_word(bytes, 4, k_format);
  put_word(bytes, 8, page_size);
  if (const std::string salts = salts_of_frames(file, page_size); !salts.empty()) {
    bytes.replace(16, 8, salts);
  }
  const Sum found = stored_sum(bytes, 24);
  const Sum sum = sum_of({}, std::string_view(bytes).substr(0, 24), false);
  put_word(bytes, 24, sum.first);
  put_word(bytes, 28, sum.second);
  auto made = WalHeader::read(bytes);
  if (!made) {
    return nothing_to_save(journal);
  }
  made->sum_as_found = found;
  return *std::move(made);
}

// A new file of the frames of an old one, with new sums.
class WalRewrite {
 public:
  // Of `most_pages`, the journal had no more.
  WalRewrite(const Pieces& from, const WalHeader& header, std::uint32_t most_pages, int to)
      : from_(from), header_(header), most_pages_(most_pages), to_(to) {}

  // False where they cannot be written.
  bool run(std::int64_t count) {
    std::string bytes(k_frame_header_bytes + header_.page_size, '\0');
    bool is_written = write(header_.bytes);
    for (std::int64_t at = 0; at < count && is_written; ++at) {
      if (!from_.read_at(k_header_bytes + static_cast<std::size_t>(at) * bytes.size(), bytes)) {
        break;  // it was cut off
      }
      is_written = take(bytes);
    }
    committed_ = count;
    return is_written && fsync(to_) == 0;
  }

  // The pages of frames that did not have their sum, and that no later frame wrote anew.
  WalMending result() const {
    return {.lost = committed_ - kept_,
            .committed = committed_,
            .doubtful = {doubtful_.begin(), doubtful_.end()}};
  }

 private:
  // One of an earlier round, where one of this was lost, is left out, and so is one whose page no
  // journal of that length has. No sum counts the salts in: one that follows is of this round.
  bool take(std::string& bytes) {
    const WalFrame frame{bytes};
    const bool is_whole =
        frame.sum_behind(before_, header_.is_big_endian) == frame.sum() ||
        (kept_ == 0 && frame.sum_behind(header_.sum, header_.is_big_endian) == frame.sum());
    before_ = frame.sum();
    const bool is_of_round = frame.salts() == header_.salts || (is_whole && is_behind_kept_);
    const bool can_be = is_whole || frame.page() <= most_pages_;
    is_behind_kept_ = is_of_round && frame.page() != 0 && can_be;
    if (!is_behind_kept_) {
      return true;
    }
    bytes.replace(8, 8, header_.salts);
    if (!is_whole) {
      put_word(bytes, 4, std::min(frame.database_pages(), most_pages_));
    }
    ++kept_;
    if (is_whole) {
      doubtful_.erase(frame.page());
    } else {
      doubtful_.insert(frame.page());
    }
    sum_ = frame.sum_behind(sum_, header_.is_big_endian);
    put_word(bytes, 16, sum_.first);
    put_word(bytes, 20, sum_.second);
    return write(bytes);
  }

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(to_, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) {
        return false;
      }
      bytes.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return true;
  }

  const Pieces& from_;
  const WalHeader& header_;
  std::uint32_t most_pages_;
  int to_;
  Sum before_ = header_.sum_as_found;
  bool is_behind_kept_ = true;  // or the first one
  Sum sum_ = header_.sum;
  std::int64_t kept_ = 0;
  std::int64_t committed_ = 0;
  std::set<std::uint32_t> doubtful_;
};

}  // namespace

Result<WalLook> look_into_wal(const fs::path& journal) {
  const fs::path path = wal_of(journal);
  const Pieces file(path);
  if (!file.is_open()) {
    return WalLook{};  // where it is there, SQLite says why
  }
  if (!file.is_regular()) {
    return fail(Code::storage_io,
                fmt::format("{} is no regular file", path.string()),
                "name another journal, or take that away");
  }
  // What a process is writing just now is looked at once more when it has.
  constexpr int k_looks = 5;
  std::optional<WalLook> look;
  for (int number = 0; number < k_looks && (!look || look->is_damaged()); ++number) {
    if (number > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    look = look_once(file);
  }
  return look ? *std::move(look) : WalLook{};
}

fs::path wal_of(const fs::path& journal) {
  return beside(journal, "-wal");
}

bool holds_nothing(const fs::path& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) != 0 ? is_absent(file)
                                            : S_ISREG(status.st_mode) && status.st_size <= 1;
}

bool is_without_journal(const fs::path& journal, const WalLook& look) {
  return (look.is_damaged() || look.committed > 0) && holds_nothing(journal);
}

Result<void> check_wal(const fs::path& journal) {
  TRY_ASSIGN(const WalLook look, look_into_wal(journal));
  if (is_without_journal(journal, look)) {
    return fail(
        Code::storage_corrupt,
        fmt::format("the journal {} is gone or empty, and {} is left of it: whoever went on "
                    "would lose what runs have done",
                    journal.string(),
                    wal_of(journal).string()),
        "`errand runs doctor --fix` restores what can be; or take that away, too");
  }
  if (!look.is_damaged()) {
    return {};
  }
  return fail(Code::storage_corrupt,
              fmt::format("{} is damaged, and whoever went on with this journal would lose what is "
                          "in it: the last that runs have done",
                          wal_of(journal).string()),
              "`errand runs doctor --fix` keeps a copy and saves what can be");
}

Result<WalMending> mend_wal(const fs::path& journal) {
  TRY_ASSIGN(const WalLook look, look_into_wal(journal));
  const fs::path path = wal_of(journal);
  const Pieces file(path);
  TRY_ASSIGN(const WalHeader header, header_to_mend(journal, file));
  WalScan scan(file, header);
  const std::int64_t last_marked = scan.run_to_last_mark();
  const std::int64_t committed = look.has_damaged_header ? last_marked : look.committed;
  const fs::path fresh = fs::path(path) += ".mended";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  const Descriptor to(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  WalRewrite rewrite(file, header, std::max(scan.most_pages(), pages_in(journal)), to.get());
  if (!to || !rewrite.run(committed)) {
    auto failure = failed_at("write", fresh);
    fs::remove(fresh, ignored);
    return failure;
  }
  fs::remove(shared_of(journal), ignored);  // what it says is of the old one
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return failed_at("put in its place", fresh);
  }
  return rewrite.result();
}

}  // namespace agent::store
